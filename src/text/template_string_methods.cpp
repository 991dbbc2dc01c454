// Python's str methods. Positions count code points; pieces of a string keep their origin and their mark.
#include <algorithm>
#include <iterator>

#include "text/template_methods.h"
#include "text/template_operators.h"
#include "text/template_string_questions.h"
#include "text/template_unicode.h"

namespace ingle::jinja {
namespace {

template <bool kLeft, bool kRight>
Value method_strip(Heap& heap, const Value& self, const Arguments& a) {
  return strip(heap, self.string(), bind("strip", a, {"chars"})[0], kLeft, kRight);
}

Value split_at_space(Heap& heap, const String& s, Int most, bool from_right) {
  // Begins and ends of the words; a limit leaves the rest in one piece at the far end.
  std::vector<std::pair<size_t, size_t>> words;
  for (size_t at = 0; at < s.text.size();) {
    const size_t begin = at;
    const bool space = is_space(next_code_point(s.text, at));
    if (space) continue;
    if (!words.empty() && words.back().second == begin)
      words.back().second = at;
    else
      words.emplace_back(begin, at);
  }
  heap.charge(words.size() * sizeof(words[0]));
  if (most >= 0 && most < static_cast<Int>(words.size())) {
    const size_t n = static_cast<size_t>(most);
    if (from_right) {
      words.erase(words.begin(), words.end() - static_cast<std::ptrdiff_t>(n) - 1);
      words.front().first = 0;
    } else {
      words.resize(n + 1);
      words.back().second = s.text.size();
    }
  }
  std::vector<Value> parts;
  for (const auto& [begin, end] : words) heap.push(parts, substring(heap, s, begin, end));
  return heap.list(std::move(parts));
}

Value split(Heap& heap, const Value& self, const Arguments& a, bool from_right) {
  const auto b = bind(from_right ? "rsplit" : "split", a, {"sep", "maxsplit"});
  const String& s = self.string();
  const Int most = b[1] == nullptr ? -1 : int_argument("split", *b[1]);
  heap.spend_bytes(s.text.size());
  if (!given(b[0])) return split_at_space(heap, s, most, from_right);
  const std::string& sep = text_argument("split", *b[0]).text;
  if (sep.empty()) fail("empty separator");
  std::vector<Value> parts;
  if (from_right) {
    heap.spend_bytes(s.text.size() * (sep.size() / 64));  // rfind may compare all of it at every place
    size_t end = s.text.size();
    while (most < 0 || static_cast<Int>(parts.size()) < most) {
      const size_t at = end < sep.size() ? std::string::npos : s.text.rfind(sep, end - sep.size());
      if (at == std::string::npos) break;
      heap.push(parts, substring(heap, s, at + sep.size(), end));
      end = at;
    }
    heap.push(parts, substring(heap, s, 0, end));
    std::reverse(parts.begin(), parts.end());
  } else {
    size_t begin = 0;
    while (most < 0 || static_cast<Int>(parts.size()) < most) {
      const size_t at = find_text(s.text, sep, begin);
      if (at == std::string::npos) break;
      heap.push(parts, substring(heap, s, begin, at));
      begin = at + sep.size();
    }
    heap.push(parts, substring(heap, s, begin, s.text.size()));
  }
  return heap.list(std::move(parts));
}
Value method_split(Heap& heap, const Value& self, const Arguments& a) { return split(heap, self, a, false); }
Value method_rsplit(Heap& heap, const Value& self, const Arguments& a) { return split(heap, self, a, true); }

Value method_splitlines(Heap& heap, const Value& self, const Arguments& a) {
  const auto b = bind("splitlines", a, {"keepends"});
  return heap.list(split_lines(heap, self.string(), b[0] != nullptr && int_argument("splitlines", *b[0]) != 0));
}

// The bytes of s[start:stop], where start and stop are optional arguments in code points.
struct Window {
  size_t begin, end;
  bool empty_beyond;  // start lies past the end: not even "" is found there
};
Window window(const String& s, const Value* start, const Value* stop) {
  const auto bound = [&](const Value* v, Int otherwise) {
    if (!given(v)) return otherwise;
    const Int n = int_argument("find", *v);
    return std::max<Int>(n < 0 ? n + s.length : n, 0);
  };
  const Int from = bound(start, 0), to = std::min<Int>(bound(stop, s.length), s.length);
  if (from > to) return {0, 0, true};
  const auto byte = [&](Int n) {
    return s.ascii() ? static_cast<size_t>(n) : byte_of_code_point(s.text, static_cast<int64_t>(n));
  };
  return {byte(from), byte(to), false};
}

template <bool kAtEnd>
Value method_starts_or_ends(Heap& heap, const Value& self, const Arguments& a) {
  const auto b = bind(kAtEnd ? "endswith" : "startswith", a, {"prefix", "start", "end"}, 1);
  const String& s = self.string();
  const Window w = window(s, b[1], b[2]);
  const std::string_view text = std::string_view(s.text).substr(w.begin, w.end - w.begin);
  const auto matches = [&](const Value& part) {
    const std::string& p = text_argument(kAtEnd ? "endswith" : "startswith", part).text;
    heap.spend_bytes(p.size());
    return !w.empty_beyond && (kAtEnd ? text.ends_with(p) : text.starts_with(p));
  };
  if (!b[0]->is(Kind::kTuple)) return Value::of(matches(*b[0]));
  const auto& parts = b[0]->sequence().items;
  return Value::of(std::any_of(parts.begin(), parts.end(), matches));
}

template <bool kFromRight, bool kMustBeThere>
Value method_find(Heap& heap, const Value& self, const Arguments& a) {
  const auto b = bind("find", a, {"sub", "start", "end"}, 1);
  const String& s = self.string();
  const std::string& part = text_argument("find", *b[0]).text;
  const Window w = window(s, b[1], b[2]);
  const std::string_view text = std::string_view(s.text).substr(0, w.end);
  heap.spend_bytes(s.text.size() * (kFromRight ? 1 + part.size() / 64 : 1));
  size_t at = w.empty_beyond ? std::string::npos : kFromRight ? text.rfind(part) : find_text(text, part, w.begin);
  if (at != std::string::npos && at < w.begin) at = std::string::npos;
  if (at != std::string::npos)
    return Value::of_int(s.ascii() ? static_cast<Int>(at) : count_code_points(text.substr(0, at)));
  if (kMustBeThere) fail("substring not found");
  return Value::of_int(-1);
}

Value method_count(Heap& heap, const Value& self, const Arguments& a) {
  const auto b = bind("count", a, {"sub", "start", "end"}, 1);
  const String& s = self.string();
  const std::string& part = text_argument("count", *b[0]).text;
  const Window w = window(s, b[1], b[2]);
  if (w.empty_beyond) return Value::of_int(0);
  const std::string_view text = std::string_view(s.text).substr(w.begin, w.end - w.begin);
  heap.spend_bytes(text.size());
  if (part.empty()) return Value::of_int(count_code_points(text) + 1);
  Int count = 0;
  for (size_t at = 0; (at = find_text(text, part, at)) != std::string::npos; at += part.size()) ++count;
  return Value::of_int(count);
}

Value method_replace(Heap& heap, const Value& self, const Arguments& a) {
  const auto b = bind("replace", a, {"old", "new", "count"}, 2);
  return replace(heap, self.string(), text_argument("replace", *b[0]), text_argument("replace", *b[1]),
                 b[2] == nullptr ? Int(-1) : int_argument("replace", *b[2]));
}

Value method_join(Heap& heap, const Value& self, const Arguments& a) {
  std::vector<Value> items = iterate(heap, *bind("join", a, {"iterable"}, 1)[0]);
  for (Value& item : items) {
    if (self.string().marked)
      item = escape(heap, item);
    else
      text_argument("join", item);
  }
  return join(heap, self, items);
}

using Mapping = std::string (*)(std::string_view);
template <Mapping kMap>
Value method_case(Heap& heap, const Value& self, const Arguments& a) {
  bind("upper", a, {});
  heap.spend_bytes(self.string().text.size() * 8);
  return cased(heap, self.string(), kMap(self.string().text));
}

template <bool kSuffix>
Value method_remove(Heap& heap, const Value& self, const Arguments& a) {
  const String& s = self.string();
  const std::string& part = text_argument("removeprefix", *bind("removeprefix", a, {"prefix"}, 1)[0]).text;
  const bool there = kSuffix ? s.text.ends_with(part) : s.text.starts_with(part);
  const size_t cut = there ? part.size() : 0;
  return kSuffix ? substring(heap, s, 0, s.text.size() - cut) : substring(heap, s, cut, s.text.size());
}

template <bool kFromRight>
Value method_partition(Heap& heap, const Value& self, const Arguments& a) {
  const String& s = self.string();
  const std::string& sep = text_argument("partition", *bind("partition", a, {"sep"}, 1)[0]).text;
  if (sep.empty()) fail("empty separator");
  heap.spend_bytes(s.text.size() * (kFromRight ? 1 + sep.size() / 64 : 1));
  const size_t at = kFromRight ? s.text.rfind(sep) : find_text(s.text, sep);
  const Value nothing = substring(heap, s, 0, 0);
  if (at == std::string::npos)
    return kFromRight ? heap.tuple({nothing, nothing, self}) : heap.tuple({self, nothing, nothing});
  const size_t after = at + sep.size();
  return heap.tuple(
      {substring(heap, s, 0, at), substring(heap, s, at, after), substring(heap, s, after, s.text.size())});
}

std::string_view fill_argument(const Value* value) {
  if (value == nullptr) return " ";
  const String& fill = text_argument("center", *value);
  if (fill.length != 1) fail("The fill character must be exactly one character long");
  return fill.text;
}

template <bool kLeft>
Value method_just(Heap& heap, const Value& self, const Arguments& a) {
  const auto b = bind("ljust", a, {"width", "fillchar"}, 1);
  const Int pad = int_argument("ljust", *b[0]) - self.string().length;
  const std::string_view fill = fill_argument(b[1]);
  Text out(heap);
  if (!kLeft) out.fill(pad, fill);
  out.append(self.string());
  if (kLeft) out.fill(pad, fill);
  return out.finish(self.string().marked);
}

Value method_center(Heap& heap, const Value& self, const Arguments& a) {
  const auto b = bind("center", a, {"width", "fillchar"}, 1);
  return center(heap, self.string(), int_argument("center", *b[0]), fill_argument(b[1]));
}

Value method_zfill(Heap& heap, const Value& self, const Arguments& a) {
  const String& s = self.string();
  const Int pad = int_argument("zfill", *bind("zfill", a, {"width"}, 1)[0]) - s.length;
  const size_t sign = s.text.starts_with('-') || s.text.starts_with('+') ? 1 : 0;
  Text out(heap);
  out.append(s, 0, sign);
  out.fill(pad, "0");
  out.append(s, sign, s.text.size());
  return out.finish(s.marked);
}

Value method_expandtabs(Heap& heap, const Value& self, const Arguments& a) {
  const auto b = bind("expandtabs", a, {"tabsize"});
  const Int size = b[0] == nullptr ? 8 : int_argument("expandtabs", *b[0]);
  const String& s = self.string();
  Text out(heap);
  Int column = 0;
  for (size_t at = 0; at < s.text.size();) {
    const size_t begin = at;
    const uint32_t c = next_code_point(s.text, at);
    if (c == '\t') {
      const Int spaces = size > 0 ? size - column % size : 0;
      out.fill(spaces, " ", s.trusted());
      column += spaces;
    } else {
      out.append(s, begin, at);
      column = c == '\n' || c == '\r' ? 0 : column + 1;
    }
  }
  return out.finish(s.marked);
}

template <Question kQuestion>
Value method_is(Heap& heap, const Value& self, const Arguments& a) {
  bind("is...", a, {});
  heap.spend_bytes(self.string().text.size() * 8);
  return Value::of(answer(kQuestion, self.string()));
}

// What str.translate takes, as an object: code points to code points, or to none.
Value method_maketrans(Heap& heap, const Value&, const Arguments& a) {
  const auto b = bind("maketrans", a, {"x", "y", "z"}, 1);
  auto* table = heap.make<Dict>();
  const auto code = [](uint32_t c) { return Value::of_int(c); };
  if (b[1] == nullptr) {
    if (!b[0]->is(Kind::kDict)) fail("if you give only one argument to maketrans it must be a dict");
    for (const auto& [key, value] : b[0]->dict().entries) {
      if (!key.is_integral() && text_argument("maketrans", key).length != 1)
        fail("string keys in translate table must be of length 1");
      size_t at = 0;
      table->set(heap, key.is_string() ? code(next_code_point(key.string().text, at)) : key, value);
    }
    return Value(Kind::kDict, table);
  }
  const auto from = code_points(text_argument("maketrans", *b[0]).text);
  const auto to = code_points(text_argument("maketrans", *b[1]).text);
  if (from.size() != to.size()) fail("the first two maketrans arguments must have equal length");
  for (size_t i = 0; i < from.size(); ++i) table->set(heap, code(from[i]), code(to[i]));
  if (b[2] != nullptr)
    for (uint32_t c : code_points(text_argument("maketrans", *b[2]).text)) table->set(heap, code(c), Value::none());
  return Value(Kind::kDict, table);
}

Value method_translate(Heap& heap, const Value& self, const Arguments& a) {
  const auto b = bind("translate", a, {"table"}, 1);
  if (!b[0]->is(Kind::kDict) && !b[0]->is_sequence() && !b[0]->is_string())
    fail("translate(): '{}' object is not subscriptable", type_name(*b[0]));
  const String& s = self.string();
  Text out(heap);
  for (size_t at = 0; at < s.text.size();) {
    const size_t begin = at;
    const Value code = Value::of_int(next_code_point(s.text, at));
    const Value to = item_of(heap, *b[0], code);
    if (to.is_undefined())
      out.append(s, begin, at);
    else if (to.is_string())
      out.append(to.string());
    else if (!to.is(Kind::kNone))
      out.append(character(int_argument("translate", to)), s.trusted());
  }
  return out.finish(s.marked);
}

Value method_unsupported(Heap&, const Value&, const Arguments&) { fail("bytes are not supported"); }

// A method that puts its second argument into the text: for marked text that is escaped first.
template <NativeFunction kMethod>
Value escaping(Heap& heap, const Value& self, const Arguments& a) {
  if (!self.string().marked || a.positional.size() < 2) return kMethod(heap, self, a);
  Arguments escaped = a;
  escaped.positional[1] = escape(heap, a.positional[1]);
  return kMethod(heap, self, escaped);
}

constexpr MethodEntry kStringMethods[] = {
    {"capitalize", method_case<capitalize>},
    {"casefold", method_case<casefold>},
    {"center", escaping<method_center>},
    {"count", method_count},
    {"encode", method_unsupported},
    {"endswith", method_starts_or_ends<true>},
    {"expandtabs", method_expandtabs},
    {"find", method_find<false, false>},
    {"format", format_fields},
    {"format_map", format_map},
    {"index", method_find<false, true>},
    {"isalnum", method_is<Question::kAlnum>},
    {"isalpha", method_is<Question::kAlpha>},
    {"isascii", method_is<Question::kAscii>},
    {"isdecimal", method_is<Question::kDecimal>},
    {"isdigit", method_is<Question::kDigit>},
    {"isidentifier", method_is<Question::kIdentifier>},
    {"islower", method_is<Question::kLower>},
    {"isnumeric", method_is<Question::kNumeric>},
    {"isprintable", method_is<Question::kPrintable>},
    {"isspace", method_is<Question::kSpace>},
    {"istitle", method_is<Question::kTitle>},
    {"isupper", method_is<Question::kUpper>},
    {"join", method_join},
    {"ljust", escaping<method_just<true>>},
    {"lower", method_case<to_lower>},
    {"lstrip", method_strip<true, false>},
    {"maketrans", method_maketrans},
    {"partition", method_partition<false>},
    {"removeprefix", method_remove<false>},
    {"removesuffix", method_remove<true>},
    {"replace", escaping<method_replace>},
    {"rfind", method_find<true, false>},
    {"rindex", method_find<true, true>},
    {"rjust", escaping<method_just<false>>},
    {"rpartition", method_partition<true>},
    {"rsplit", method_rsplit},
    {"rstrip", method_strip<false, true>},
    {"split", method_split},
    {"splitlines", method_splitlines},
    {"startswith", method_starts_or_ends<false>},
    {"strip", method_strip<true, true>},
    {"swapcase", method_case<swapcase>},
    {"title", method_case<title>},
    {"translate", method_translate},
    {"upper", method_case<to_upper>},
    {"zfill", method_zfill},
};

}  // namespace

const MethodEntry* find_string_method(std::string_view name) {
  const auto it = std::lower_bound(std::begin(kStringMethods), std::end(kStringMethods), name,
                                   [](const MethodEntry& e, std::string_view n) { return e.name < n; });
  return it != std::end(kStringMethods) && it->name == name ? &*it : nullptr;
}

}  // namespace ingle::jinja
