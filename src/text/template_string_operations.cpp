// What str methods and the filters of the same name have in common. Pieces of a string keep its origin and its mark.
#include <algorithm>

#include "text/template_methods.h"
#include "text/template_operators.h"
#include "text/template_unicode.h"

namespace ingle::jinja {

Value strip(Heap& heap, const String& s, const Value* characters, bool left, bool right) {
  std::vector<uint32_t> set;
  if (given(characters)) {
    set = code_points(text_argument("strip", *characters).text);
    std::sort(set.begin(), set.end());
  }
  const auto goes = [&](uint32_t c) {
    return given(characters) ? std::binary_search(set.begin(), set.end(), c) : is_space(c);
  };
  size_t begin = 0, end = s.text.size();
  heap.spend_bytes(end + set.size() * 8);
  while (left && begin < end) {
    size_t next = begin;
    if (!goes(next_code_point(s.text, next))) break;
    begin = next;
  }
  while (right && end > begin) {
    const size_t last = previous_code_point(s.text, end);
    size_t at = last;
    if (!goes(next_code_point(s.text, at))) break;
    end = last;
  }
  return substring(heap, s, begin, end);
}

Value replace(Heap& heap, const String& s, const String& old, const String& fresh, Int count) {
  Text out(heap);
  size_t begin = 0;
  heap.spend_bytes(s.text.size());
  if (old.text.empty()) {  // between all characters, and at both ends
    for (Int done = 0; count < 0 || done < count; ++done) {
      out.append(fresh);
      if (begin >= s.text.size()) break;
      const size_t from = begin;
      next_code_point(s.text, begin);
      out.append(s, from, begin);
    }
  } else {
    for (Int done = 0; count < 0 || done < count; ++done) {
      const size_t at = find_text(s.text, old.text, begin);
      if (at == std::string::npos) break;
      out.append(s, begin, at);
      out.append(fresh);
      begin = at + old.text.size();
    }
  }
  out.append(s, begin, s.text.size());
  return out.finish(s.marked);
}

Value join(Heap& heap, const Value& separator, const std::vector<Value>& texts) {
  Text out(heap);
  for (size_t i = 0; i < texts.size(); ++i) {
    heap.spend(1);
    if (i > 0) out.append(separator.string());
    print(out, texts[i]);
  }
  return out.finish(separator.string().marked);
}

Value center(Heap& heap, const String& s, Int width, std::string_view fill) {
  const Int pad = width - s.length;
  Text out(heap);
  const Int left = pad > 0 ? pad / 2 + (pad & width & 1) : 0;
  out.fill(left, fill);
  out.append(s);
  out.fill(pad - left, fill);
  return out.finish(s.marked);
}

std::vector<Value> split_lines(Heap& heap, const String& s, bool keep_ends) {
  std::vector<Value> lines;
  size_t begin = 0;
  for (size_t at = 0; at < s.text.size();) {
    const size_t end = at;
    const uint32_t c = next_code_point(s.text, at);
    if (!is_line_break(c)) continue;
    if (c == '\r' && at < s.text.size() && s.text[at] == '\n') ++at;
    heap.push(lines, substring(heap, s, begin, keep_ends ? at : end));
    begin = at;
  }
  if (begin < s.text.size()) heap.push(lines, substring(heap, s, begin, s.text.size()));
  return lines;
}

Value cased(Heap& heap, const String& s, std::string text) {
  Text out(heap);
  out.append(text, s.trusted());
  return out.finish(s.marked);
}

}  // namespace ingle::jinja
