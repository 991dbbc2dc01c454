// Filters of text. Where the origin of single characters would be hard to follow, all of the result counts as untrusted
// as soon as any of the input is.
#include <algorithm>

#include "text/template_filters.h"
#include "text/template_methods.h"
#include "text/template_operators.h"
#include "text/template_tests.h"
#include "text/template_unicode.h"

namespace ingle::jinja {

namespace {

Value trim(Heap& heap, const Value& v, const Arguments& a) {
  const auto b = bind("trim", a, {"chars"});
  return strip(heap, as_text(heap, v).string(), b[0], true, true);
}

using Mapping = std::string (*)(std::string_view);
template <Mapping kMap>
Value letter_case(Heap& heap, const Value& v, const Arguments& a) {
  bind("lower", a, {});
  const Value text = as_text(heap, v);
  heap.spend_bytes(text.string().text.size() * 8);
  return cased(heap, text.string(), kMap(text.string().text));
}

// Unlike the method: a capital only after white space or - ( { [ <, so it's stays It's.
std::string title_words(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const auto separates = [](uint32_t c) {
      return is_space(c) || c == '-' || c == '(' || c == '{' || c == '[' || c == '<';
    };
    const uint32_t c = next_code_point(text, at);
    if (separates(c)) {
      append_code_point(out, c);
      continue;
    }
    append_cased(out, c, CaseForm::kUpper);
    const size_t rest = at;
    for (size_t next = at; next < text.size(); at = next)
      if (separates(next_code_point(text, next))) break;
    out += to_lower(text.substr(rest, at - rest));
  }
  return out;
}

Value title_filter(Heap& heap, const Value& v, const Arguments& a) {
  bind("title", a, {});
  const Value text = as_text(heap, v);
  heap.spend_bytes(text.string().text.size() * 8);
  return heap.text(title_words(text.string().text), text.string().trusted());  // plain, whatever came in
}

Value replace_filter(Heap& heap, const Value& v, const Arguments& a) {
  const auto b = bind("replace", a, {"old", "new", "count"}, 2);
  const Int count = given(b[2]) ? int_argument("replace", *b[2]) : Int(-1);
  Value text = as_text(heap, v), old = as_text(heap, *b[0]), fresh = as_text(heap, *b[1]);
  if (heap.autoescape) {
    const bool marked = text.string().marked || old.string().marked || fresh.string().marked;
    if (marked) text = escape(heap, text), old = escape(heap, old), fresh = escape(heap, fresh);
    return replace(heap, text.string(), old.string(), fresh.string(), count);
  }
  const Value done = replace(heap, text.string(), old.string(), fresh.string(), count);
  if (!done.string().marked) return done;
  Text plain(heap);
  plain.append(done.string());
  return plain.finish();
}

Value indent(Heap& heap, const Value& v, const Arguments& a) {
  const auto b = bind("indent", a, {"width", "first", "blank"});
  if (v.is_undefined()) fail_undefined(v);
  const String& s = text_argument("indent", v);
  Text unit(heap);
  if (b[0] != nullptr && b[0]->is_string())
    unit.append(b[0]->string());
  else
    unit.fill(b[0] == nullptr ? Int(4) : int_argument("indent", *b[0]), " ");
  Text closed(heap);
  closed.append(s);
  closed.append("\n");
  const std::vector<Value> lines = split_lines(heap, closed.finish().string(), false);
  Text out(heap);
  for (size_t i = 0; i < lines.size(); ++i) {
    const String& line = lines[i].string();
    if (i > 0) out.append("\n", s.trusted());
    if (i == 0 ? flag(b[1]) : flag(b[2]) || !line.text.empty()) out.append(unit);
    out.append(line);
  }
  return out.finish(s.marked);
}

Value format(Heap& heap, const Value& v, const Arguments& a) {
  if (!a.positional.empty() && !a.named.empty()) fail("can't handle positional and keyword arguments at the same time");
  Value arguments;
  if (a.named.empty()) {
    arguments = heap.tuple(a.positional);
  } else {
    auto* dict = heap.make<Dict>();
    for (const auto& [key, value] : a.named) dict->set(heap, key, value);
    arguments = Value(Kind::kDict, dict);
  }
  return format_percent(heap, as_text(heap, v).string(), arguments);
}

Value center_filter(Heap& heap, const Value& v, const Arguments& a) {
  const auto b = bind("center", a, {"width"});
  return center(heap, as_text(heap, v).string(), b[0] == nullptr ? Int(80) : int_argument("center", *b[0]));
}

Value wordcount(Heap& heap, const Value& v, const Arguments& a) {
  bind("wordcount", a, {});
  const Value text = as_text(heap, v);
  const std::string& s = text.string().text;
  heap.spend_bytes(s.size() * 8);
  Int words = 0;
  bool inside = false;
  for (size_t at = 0; at < s.size();) {
    const bool word = is_word(next_code_point(s, at));
    words += word && !inside;
    inside = word;
  }
  return Value::of_int(words);
}

Value truncate(Heap& heap, const Value& v, const Arguments& a) {
  const auto b = bind("truncate", a, {"length", "killwords", "end", "leeway"});
  const Int length = b[0] == nullptr ? 255 : int_argument("truncate", *b[0]);
  const Int leeway = given(b[3]) ? int_argument("truncate", *b[3]) : Int(5);
  const Value end = b[2] == nullptr ? heap.text("...") : *b[2];
  const Int end_length = static_cast<Int>(length_of(heap, end));
  if (length < end_length) fail("expected length >= {}, got {}", int_text(end_length), int_text(length));
  if (leeway < 0) fail("expected leeway >= 0, got {}", int_text(leeway));
  if (static_cast<Int>(length_of(heap, v)) <= length + leeway) return v;
  const String& s = text_argument("truncate", v);
  text_argument("truncate", end);  // any value that has a length will do as long as nothing is cut
  size_t cut = byte_of_code_point(s.text, static_cast<int64_t>(length - end_length));
  if (!flag(b[1])) {
    const size_t space = std::string_view(s.text).substr(0, cut).rfind(' ');
    if (space != std::string::npos) cut = space;
  }
  return concatenate(heap, substring(heap, s, 0, cut), end);
}

// Python's textwrap for one line: words and the white space between them are chunks; a line takes chunks while they
// fit, white space at a break goes.
struct Wrapper {
  Heap& heap;
  const String& s;
  int64_t width;
  bool break_long_words, break_on_hyphens;

  struct Chunk {
    size_t begin, end;
    int64_t length;
    bool space;
  };

  std::vector<Chunk> chunks() const {
    std::vector<Chunk> out;
    const std::string& t = s.text;
    bool fresh = true;
    uint32_t previous = 0;
    for (size_t at = 0; at < t.size();) {
      const size_t begin = at;
      const uint32_t c = next_code_point(t, at);
      // textwrap breaks at ASCII white space only.
      const bool space = c == ' ' || (c >= 9 && c <= 13);
      if (fresh || out.back().space != space) {
        heap.charge(sizeof(Chunk));
        out.push_back({begin, begin, 0, space});
      }
      out.back().end = at;
      ++out.back().length;
      size_t next = at;
      const bool letter_next = at < t.size() && (properties_of(next_code_point(t, next)) & kAlpha) != 0;
      fresh = break_on_hyphens && c == '-' && (properties_of(previous) & kAlpha) != 0 && letter_next;
      previous = c;
    }
    return out;
  }

  std::vector<Value> wrap() const {
    std::vector<Chunk> all = chunks();
    std::reverse(all.begin(), all.end());
    std::vector<Value> lines;
    while (!all.empty()) {
      std::vector<Chunk> line;
      int64_t length = 0;
      if (all.back().space && !lines.empty()) all.pop_back();
      while (!all.empty() && length + all.back().length <= width) {
        length += all.back().length;
        line.push_back(all.back());
        all.pop_back();
      }
      if (!all.empty() && all.back().length > width) take_long(all, line, width - length);
      if (!line.empty() && line.back().space) line.pop_back();
      if (!line.empty()) heap.push(lines, substring(heap, s, line.front().begin, line.back().end));
    }
    return lines;
  }

  void take_long(std::vector<Chunk>& all, std::vector<Chunk>& line, int64_t room) const {
    Chunk& chunk = all.back();
    if (!break_long_words) {
      if (!line.empty()) return;
      line.push_back(chunk);
      all.pop_back();
      return;
    }
    const int64_t take = std::max<int64_t>(room, width < 1 ? 1 : 0);
    if (take <= 0 && !line.empty()) {
      line.push_back({chunk.begin, chunk.begin, 0, true});  // textwrap drops this nothing and keeps a space before it
      return;
    }
    const std::string_view text = std::string_view(s.text).substr(chunk.begin, chunk.end - chunk.begin);
    const size_t bytes = byte_of_code_point(text, std::max<int64_t>(take, 1));
    line.push_back({chunk.begin, chunk.begin + bytes, take, false});
    chunk.begin += bytes;
    chunk.length -= std::max<int64_t>(take, 1);
    if (chunk.length <= 0) all.pop_back();
  }
};

Value wordwrap(Heap& heap, const Value& v, const Arguments& a) {
  const auto b = bind("wordwrap", a, {"width", "break_long_words", "wrapstring", "break_on_hyphens"});
  const Int width = b[0] == nullptr ? 79 : int_argument("wordwrap", *b[0]);
  const Value separator = given(b[2]) ? *b[2] : heap.text("\n");
  if (separator.is_undefined()) fail_undefined(separator);
  text_argument("wordwrap", separator);
  const auto join_text = [&](std::vector<Value> lines) {  // marked text escapes what it joins, as the method does
    if (separator.string().marked)
      for (Value& line : lines) line = escape(heap, line);
    return join(heap, separator, lines);
  };
  std::vector<Value> wrapped;
  if (v.is_undefined()) fail_undefined(v);
  for (const Value& line : split_lines(heap, text_argument("wordwrap", v), false)) {
    if (width <= 0) fail("invalid width {} (must be > 0)", int_text(width));
    const Wrapper wrapper{heap, line.string(), static_cast<int64_t>(std::min<Int>(width, 1 << 30)),
                          b[1] == nullptr || truth(*b[1]), b[3] == nullptr || truth(*b[3])};
    heap.push(wrapped, join_text(wrapper.wrap()));
  }
  return join_text(std::move(wrapped));
}

std::string percent_encoded(std::string_view text, bool for_query) {
  std::string out;
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       std::string_view("_.-~").find(c) != std::string_view::npos || (c == '/' && !for_query);
    if (plain)
      out += c;
    else if (c == ' ' && for_query)
      out += '+';
    else
      out += fmt::format("%{:02X}", byte);
  }
  return out;
}

Value urlencode(Heap& heap, const Value& v, const Arguments& a) {
  bind("urlencode", a, {});
  const auto encoded = [&](Text& out, const Value& value, bool for_query) {
    const Value text = as_text(heap, value);
    heap.spend_bytes(text.string().text.size() * 8);
    out.append(percent_encoded(text.string().text, for_query), text.string().trusted());
  };
  Text out(heap);
  if (!v.is_string() && is_iterable(v)) {
    bool first = true;
    for (const Value& pair : v.is(Kind::kDict)
                                 ? iterate(heap, Value(Kind::kView, heap.make<View>(&v.dict(), ViewOf::kItems)))
                                 : iterate(heap, v)) {
      const std::vector<Value> items = iterate(heap, pair);
      if (items.size() != 2) fail("urlencode takes pairs, got {} values", items.size());
      if (!first) out.append("&");
      first = false;
      encoded(out, items[0], true);
      out.append("=");
      encoded(out, items[1], true);
    }
  } else {
    encoded(out, v, false);
  }
  return out.finish();
}

// &amp; and its kin back to characters.
std::string unescape(std::string_view text) {
  static constexpr std::pair<std::string_view, std::string_view> kEntities[] = {
      {"&amp;", "&"}, {"&lt;", "<"},   {"&gt;", ">"},       {"&quot;", "\""},
      {"&#39;", "'"}, {"&#34;", "\""}, {"&nbsp;", "\u00a0"}};
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const auto it = std::find_if(std::begin(kEntities), std::end(kEntities),
                                 [&](const auto& entity) { return text.substr(at).starts_with(entity.first); });
    if (it == std::end(kEntities)) {
      out += text[at++];
    } else {
      out += it->second;
      at += it->first.size();
    }
  }
  return out;
}

Value striptags(Heap& heap, const Value& v, const Arguments& a) {
  bind("striptags", a, {});
  const Value input = as_text(heap, v);
  const std::string_view s = input.string().text;
  heap.spend_bytes(s.size() * 16);
  std::string bare;
  const auto drop = [](std::string_view text, std::string_view open, std::string_view close) {
    std::string out;
    size_t at = 0;
    for (;;) {
      const size_t begin = find_text(text, open, at);
      const size_t end = begin == std::string_view::npos ? begin : find_text(text, close, begin + open.size());
      if (end == std::string_view::npos) break;
      out += text.substr(at, begin - at);
      at = end + close.size();
    }
    return out += text.substr(at);
  };
  bare = drop(drop(s, "<!--", "-->"), "<", ">");
  std::string words;
  bool gap = false;
  for (size_t at = 0; at < bare.size();) {
    const size_t begin = at;
    if (is_space(next_code_point(bare, at))) {
      gap = true;
      continue;
    }
    if (gap && !words.empty()) words += ' ';
    gap = false;
    words += std::string_view(bare).substr(begin, at - begin);
  }
  Text out(heap);
  out.append(unescape(words), input.string().trusted());
  return out.finish();
}

Value xmlattr(Heap& heap, const Value& v, const Arguments& a) {
  const auto b = bind("xmlattr", a, {"autospace"});
  if (v.is_undefined()) fail_undefined(v);
  if (!v.is(Kind::kDict)) fail("xmlattr: '{}' object has no items", type_name(v));
  const bool space = b[0] == nullptr || truth(*b[0]);
  Text out(heap);
  bool first = true;
  for (const auto& [key, value] : v.dict().entries) {
    if (value.is(Kind::kNone) || value.is_undefined()) continue;
    if (!key.is_string()) fail("xmlattr: a key must be a string");
    for (size_t at = 0; at < key.string().text.size();) {
      const uint32_t c = next_code_point(key.string().text, at);
      if (is_space(c) || c == '/' || c == '>' || c == '=') fail("Invalid character in attribute name");
    }
    if (!first || space) out.append(" ");
    first = false;
    out.append(escape(heap, key).string());
    out.append("=\"");
    out.append(escape(heap, value).string());
    out.append("\"");
  }
  return out.finish(heap.autoescape);
}

constexpr FilterEntry kFilters[] = {
    {"trim", trim},
    {"lower", letter_case<to_lower>},
    {"upper", letter_case<to_upper>},
    {"capitalize", letter_case<capitalize>},
    {"title", title_filter},
    {"replace", replace_filter},
    {"indent", indent},
    {"format", format},
    {"center", center_filter},
    {"wordcount", wordcount},
    {"truncate", truncate},
    {"wordwrap", wordwrap},
    {"urlencode", urlencode},
    {"striptags", striptags},
    {"xmlattr", xmlattr},
    {"urlize", urlize},
};

}  // namespace

std::span<const FilterEntry> text_filters() { return kFilters; }

}  // namespace ingle::jinja
