// The filter pprint: Python's pprint.pformat at its 80 columns. What fits on the line stands there as repr() writes it,
// with the keys of objects sorted; what does not is broken up, one item a line.
#include <algorithm>

#include "text/template_filters.h"
#include "text/template_operators.h"
#include "text/template_unicode.h"

namespace ingle::jinja {

namespace {

constexpr Int kWidth = 80;

// Keys that have no order are sorted by the names of their types.
bool before(Heap& heap, const Value& a, const Value& b) {
  const bool comparable = (a.is_number() && b.is_number()) || (a.is_string() && b.is_string()) ||
                          (a.is(Kind::kTuple) && b.is(Kind::kTuple)) || a.is_undefined() || b.is_undefined();
  if (comparable) return less(heap, a, b);
  const auto full_name = [](const Value& v) {
    return v.is_string() && v.string().marked ? std::string("markupsafe.Markup") : std::string(type_name(v));
  };
  return full_name(a) < full_name(b);
}

std::vector<std::pair<Value, Value>> sorted_entries(Heap& heap, const Dict& dict) {
  auto entries = dict.entries;
  heap.charge(entries.size() * sizeof(entries[0]));
  std::stable_sort(entries.begin(), entries.end(),
                   [&](const auto& a, const auto& b) { return before(heap, a.first, b.first); });
  return entries;
}

// repr() with sorted keys, as far down as lists, tuples and objects go.
void represent_sorted(Text& out, const Value& value) {
  const bool group = value.is_sequence() && value.sequence().grouped;  // prints itself, as any other object
  if (group || (!value.is_sequence() && !value.is(Kind::kDict))) return represent(out, value);
  const Heap::Level level(out.heap());
  out.heap().spend(1);
  const bool list = value.is(Kind::kList);
  if (value.is(Kind::kDict)) {
    out.append("{");
    const auto entries = sorted_entries(out.heap(), value.dict());
    for (size_t i = 0; i < entries.size(); ++i) {
      if (i > 0) out.append(", ");
      represent_sorted(out, entries[i].first);
      out.append(": ");
      represent_sorted(out, entries[i].second);
    }
    return out.append("}");
  }
  const auto& items = value.sequence().items;
  out.append(list ? "[" : "(");
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out.append(", ");
    represent_sorted(out, items[i]);
  }
  out.append(list ? "]" : items.size() == 1 ? ",)" : ")");
}

class PrettyPrinter {
 public:
  explicit PrettyPrinter(Heap& heap) : heap_(heap), out_(heap) {}

  Value print(const Value& value) {
    write(value, 0, 0, true);
    // Brackets and quotes go with the text inside them, as in repr().
    Text done(heap_);
    done.append(out_.text(), out_.trusted());
    return done.finish();
  }

 private:
  // `indent`: the column the value starts in; `allowance`: what has to fit behind it, closing brackets say.
  void write(const Value& value, Int indent, Int allowance, bool top = false) {
    const Heap::Level level(heap_);
    Text flat(heap_);
    represent_sorted(flat, value);
    if (count_code_points(flat.text()) <= kWidth - indent - allowance) return out_.append(flat);
    if (value.is(Kind::kDict)) return write_dict(value.dict(), indent, allowance);
    if (value.is_sequence() && !value.sequence().grouped) return write_sequence(value, indent, allowance);
    if (value.is_string() && !value.string().marked && !value.string().text.empty())
      return write_string(value.string(), indent, allowance, top);
    out_.append(flat);
  }

  void new_line(Int indent) {
    out_.append("\n");
    out_.fill(indent, " ");
  }

  void write_dict(const Dict& dict, Int indent, Int allowance) {
    out_.append("{");
    const auto entries = sorted_entries(heap_, dict);
    for (size_t i = 0; i < entries.size(); ++i) {
      Text key(heap_);
      represent_sorted(key, entries[i].first);
      out_.append(key);
      out_.append(": ");
      const bool last = i + 1 == entries.size();
      write(entries[i].second, indent + 1 + count_code_points(key.text()) + 2, last ? allowance + 1 : 1);
      if (last) break;
      out_.append(",");
      new_line(indent + 1);
    }
    out_.append("}");
  }

  void write_sequence(const Value& value, Int indent, Int allowance) {
    const auto& items = value.sequence().items;
    const std::string_view close = value.is(Kind::kList) ? "]" : items.size() == 1 ? ",)" : ")";
    out_.append(value.is(Kind::kList) ? "[" : "(");
    for (size_t i = 0; i < items.size(); ++i) {
      const bool last = i + 1 == items.size();
      write(items[i], indent + 1, last ? allowance + static_cast<Int>(close.size()) : 1);
      if (last) break;
      out_.append(",");
      new_line(indent + 1);
    }
    out_.append(close);
  }

  static Int quoted_length(std::string_view text) { return count_code_points(quoted(text)); }

  // A long string becomes adjacent literals: one a line of it, and lines cut between words. On its own it stands in
  // parentheses.
  void write_string(const String& s, Int indent, Int allowance, bool top) {
    if (top) ++indent, ++allowance;
    std::vector<std::string> literals;
    size_t begin = 0;
    while (begin < s.text.size()) {
      const size_t end = line_end(s.text, begin);
      const bool last = end == s.text.size();
      cut_line(std::string_view(s.text).substr(begin, end - begin), kWidth - indent, last ? allowance : 0, literals);
      begin = end;
    }
    const bool parenthesised = top && literals.size() > 1;
    if (parenthesised) out_.append("(");
    for (size_t i = 0; i < literals.size(); ++i) {
      if (i > 0) new_line(indent);
      out_.append(literals[i], s.trusted());
    }
    if (parenthesised) out_.append(")");
  }

  // Behind the line break, which belongs to the line.
  static size_t line_end(std::string_view text, size_t at) {
    while (at < text.size()) {
      const uint32_t c = next_code_point(text, at);
      if (!is_line_break(c)) continue;
      if (c == '\r' && at < text.size() && text[at] == '\n') ++at;
      break;
    }
    return at;
  }

  // A line as literals of at most `width`; `allowance` has to fit behind the last of them.
  void cut_line(std::string_view line, Int width, Int allowance, std::vector<std::string>& literals) {
    heap_.spend_bytes(line.size() * 16);
    if (quoted_length(line) <= width - allowance) return literals.push_back(quoted(line));
    std::string current;
    for (size_t at = 0; at < line.size();) {
      const size_t word = at;
      at = word_end(line, at);
      const std::string_view part = line.substr(word, at - word);
      heap_.spend_bytes((current.size() + part.size()) * 8);
      const Int room = at == line.size() ? width - allowance : width;
      if (quoted_length(current + std::string(part)) > room) {
        if (!current.empty()) literals.push_back(quoted(current));
        current = part;
      } else {
        current += part;
      }
    }
    if (!current.empty()) literals.push_back(quoted(current));
  }

  // Behind a word and the white space that follows it.
  static size_t word_end(std::string_view line, size_t at) {
    bool space = false;
    for (size_t next = at; next < line.size(); at = next) {
      const bool is = is_space(next_code_point(line, next));
      if (space && !is) break;
      space = is;
    }
    return at;
  }

  Heap& heap_;
  Text out_;
};

}  // namespace

Value pretty(Heap& heap, const Value& value) { return PrettyPrinter(heap).print(value); }

}  // namespace ingle::jinja
