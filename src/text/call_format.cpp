// An answer with two calls is rendered. What stands between its names, keys and values tells which syntax it is; what
// stands around both calls, and between them, are the marks.
#include "text/call_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <vector>

#include "text/answer_marks.h"
#include "text/call_values.h"

namespace ingle {
namespace {

using namespace probes;
namespace json = boost::json;
using Calls = AnswerFormat::Calls;
constexpr size_t npos = std::string_view::npos;

class CallFinder {
 public:
  CallFinder(const Prober& prober, const Turn& turn, std::string_view source, AnswerFormat& format)
      : prober_(prober), turn_(turn), source_(source), format_(format) {}

  bool find() {
    for (const bool reasoning : {false, true})
      for (const bool two : {true, false})
        for (const bool text_arguments : {false, true})
          for (const bool counted_ids : {true, false})
            for (const bool with_content : {false, true}) {
              Variant v{.with_content = with_content,
                        .text_arguments = text_arguments,
                        .counted_ids = counted_ids,
                        .two = two,
                        .reasoning = reasoning};
              if (try_variant(v)) return true;
              json::object answer = assistant(v);
              if (!with_content) answer["content"] = nullptr;
              if (!with_content && try_variant(v, answer)) return true;
            }
    return false;
  }

 private:
  bool try_variant(const Variant& v) { return try_variant(v, assistant(v)); }
  bool try_variant(const Variant& v, const json::object& answer) {
    const auto text = prober_.answer(answer);
    if (!text || text->find(kValue2) == npos || text->find(kName1) == npos) return false;
    if (v.two && text->find(kValue3, text->find(kValue2)) == npos) return false;
    text_ = *text;
    const AnswerFormat before = format_;
    if (learn_calls(v)) return true;
    format_ = before;
    return false;
  }

  std::string_view between(size_t begin, size_t end) const {
    return std::string_view(text_).substr(begin, end - begin);
  }

  bool learn_calls(const Variant& v) {
    key1_ = text_.find(kKey1);
    if (key1_ == npos) return false;
    name1_ = text_.rfind(kName1, key1_);
    value1_ = text_.find(kValue1, key1_);
    key2_ = text_.find(kKey2, value1_);
    value2_ = text_.find(kValue2, value1_);
    if (name1_ == npos || value1_ == npos || key2_ == npos || key2_ > value2_) return false;
    if (v.two) {
      key3_ = text_.find(kKey1, value2_);
      name2_ = key3_ == npos ? npos : text_.rfind(kName2, key3_);
      value3_ = text_.find(kValue3, value2_);
      if (name2_ == npos || name2_ < value2_ || value3_ == npos) return false;
    }
    two_ = v.two;
    head_ = head_groups();
    const std::string_view name_to_key = between(name1_ + kName1.size(), key1_);
    const std::string_view key_to_value = between(key1_ + kKey1.size(), value1_);
    if (key_to_value.starts_with('"') && trim_answer_space(key_to_value.substr(1)).starts_with(':') &&
        key_to_value.ends_with('"'))
      return text_[name1_ - 1] == '"' ? learn_json() : learn_named();
    if (key_to_value == "='" || key_to_value == "=\"") return learn_python();
    if (trim_answer_space(name_to_key) == "{" && key_to_value.starts_with(':')) return learn_braced(key_to_value);
    const std::string closing = fmt::format("</{}>", kKey1);
    if (between(value1_ + kValue1.size(), key2_).find(closing) != npos) return learn_elements(closing);
    return learn_tagged(v);
  }

  // What stands between the turn's header (or the text) and the first name.
  std::string head_text() const {
    size_t begin = 0;
    for (const std::string_view word : {kContent, kReason}) {
      const size_t at = text_.rfind(word, name1_);
      if (at != npos) begin = std::max(begin, at + word.size());
    }
    if (format_.channels) {
      const size_t at = text_.rfind("<|message|>", name1_);
      if (at != npos) begin = std::max(begin, at + 11);
    }
    return text_.substr(begin, name1_ - begin);
  }
  std::vector<std::string> strip_known(std::vector<std::string> parts) const {
    const auto known = [&](const std::string& part) {
      if (part == format_.thinking_begin || part == format_.thinking_end) return true;
      if (turn_.before.size() <= turn_.header.size()) return false;
      return std::find(turn_.before.begin() + static_cast<ptrdiff_t>(turn_.header.size()), turn_.before.end(), part) !=
                 turn_.before.end() ||
             (!turn_.after.empty() && part == turn_.after[0] && turn_.after.size() > 1);
    };
    while (!parts.empty() && known(parts[0])) parts.erase(parts.begin());
    return parts;
  }
  std::vector<std::string> head_groups() const { return strip_known(turn_.without_header(head_text())); }

  // One call is open - body - close, and they stand one after the other between frames. `head` before the first,
  // `middle` between two, `tail` behind the last up to the end of the text.
  void set_marks(std::vector<std::string> head, std::string_view middle, std::string_view tail) {
    std::vector<std::string> end = groups(tail);
    std::vector<std::string> turn_end = turn_.after;
    if (format_.channels) {  // every message has a header of its own
      middle = middle.substr(0, std::min(middle.find("<|eom|>"), middle.size()));
      for (auto part = end.begin(); part != end.end(); ++part)
        if (part->starts_with("<|")) {
          end.erase(part, end.end());
          break;
        }
      two_ = false;
      if (head.size() > 1) {
        format_.frame_begins = {head.begin(), head.end() - 1};
        format_.call_begin = head.back();
        format_.call_end = end.empty() ? "" : end[0];
        if (end.size() > 1) format_.frame_ends = {end.begin() + 1, end.end()};
        return;
      }
    }
    if (!two_) {
      format_.call_begin = join(head);
      end.resize(end.size() - common_back(end, turn_end));
      format_.call_end = join(end);
      return;
    }
    const std::vector<std::string> both = groups(middle);
    const size_t open = common_back(head, both);
    const std::vector<std::string> opening(head.end() - static_cast<ptrdiff_t>(open), head.end());
    const std::vector<std::string> closing(both.begin(), both.end() - static_cast<ptrdiff_t>(open));
    const auto add = [](std::vector<std::string>& marks, std::string text) {
      if (!text.empty() && std::ranges::count(marks, text) == 0) marks.push_back(std::move(text));
    };
    std::vector<std::string> outer(head.begin(), head.end() - static_cast<ptrdiff_t>(open));
    add(format_.frame_begins, join(outer));
    if (opening.size() > 1 && closing.size() > 1) {
      // <tool_call> <function=...> </function> </tool_call>: the inner pair is the call.
      add(format_.frame_begins, join({opening.data(), opening.size() - 1}));
      format_.call_begin = opening.back();
      format_.call_end = closing[0];
      add(format_.frame_ends, join(std::span(closing).subspan(1)));
    } else {
      format_.call_begin = join(opening);
      format_.call_end = join(closing);
    }
    if (!outer.empty() && common_front(end, closing) == closing.size()) {
      end.erase(end.begin(), end.begin() + static_cast<ptrdiff_t>(closing.size()));
      end.resize(std::min(end.size(), outer.size()));
      add(format_.frame_ends, join(end));
    }
  }

  // Where the JSON (or Python, or braces) that begins at `begin` ends; npos when it is none.
  size_t value_end(size_t begin) const {
    ValueReader reader(std::string_view(text_).substr(begin), ValueSyntax::kJson);
    try {
      reader.value();
      return begin + reader.position();
    } catch (const ValueFailure&) {
      return npos;
    }
  }

  // The value around `inside`, looked for from `from` on.
  std::pair<size_t, size_t> value_around(size_t from, size_t inside) const {
    for (size_t begin = text_.find_first_of("{[", from); begin < inside; begin = text_.find_first_of("{[", begin + 1)) {
      const size_t end = value_end(begin);
      if (end != npos && end > inside) return {begin, end};
    }
    return {npos, npos};
  }

  bool learn_json() {
    const std::string head = head_text();
    const auto [begin, end] = value_around(name1_ - head.size(), name1_);
    if (begin == npos) return false;
    format_.calls = Calls::kJson;
    const std::vector<std::string> opening = strip_known(
        turn_.without_header(std::string_view(text_).substr(name1_ - head.size(), begin - (name1_ - head.size()))));
    size_t last_end = end;
    std::string_view middle;
    if (two_ && name2_ < end) {
      two_ = false;  // a list
    } else if (two_) {
      const auto [begin2, end2] = value_around(end, name2_);
      if (begin2 == npos) return false;
      middle = between(end, begin2);
      last_end = end2;
    }
    set_marks(opening, middle, between(last_end, text_.size()));
    if (format_.call_begin.empty()) {
      format_.bare = true;
      format_.call_end.clear();
      if (source_.find("<|python_tag|>") != npos) format_.frame_begins = {"<|python_tag|>"};
    }
    return true;
  }

  // Between name and arguments there may be an id: what differs between two calls.
  void set_name_end(std::string_view first, std::string_view second) {
    if (!two_ || first == second) {
      format_.name_end = mark(first);
      return;
    }
    const size_t front = static_cast<size_t>(std::ranges::mismatch(first, second).in1 - first.begin());
    size_t back = 0;
    while (back < std::min(first.size(), second.size()) - front &&
           first[first.size() - 1 - back] == second[second.size() - 1 - back])
      ++back;
    format_.name_end = mark(first.substr(0, front));
    format_.id_end = mark(first.substr(first.size() - back));
  }

  bool learn_named() {
    const size_t body1 = text_.rfind('{', key1_), end1 = value_end(body1);
    const size_t body2 = two_ ? text_.rfind('{', key3_) : body1, end2 = value_end(body2);
    if (end1 == npos || end2 == npos) return false;
    format_.calls = Calls::kNamed;
    set_name_end(between(name1_ + kName1.size(), body1), two_ ? between(name2_ + kName2.size(), body2) : "");
    set_marks(head_, two_ ? between(end1, name2_) : "", between(end2, text_.size()));
    return !format_.call_begin.empty();
  }

  bool learn_python() {
    if (head_.empty()) return false;
    std::string& last = head_.back();
    if (last.ends_with('[')) last.pop_back();
    if (last.empty()) head_.pop_back();
    size_t end = (two_ ? value3_ + kValue3.size() : value2_ + kValue2.size());
    while (end < text_.size() && std::string_view("'\")]").find(text_[end]) != npos) ++end;
    two_ = false;
    format_.calls = Calls::kPython;
    set_marks(head_, "", between(end, text_.size()));
    return !format_.call_begin.empty();
  }

  bool learn_braced(std::string_view key_to_value) {
    format_.calls = Calls::kBraced;
    format_.quote = trim_answer_space(key_to_value.substr(1));
    if (format_.quote.empty()) return false;
    const auto behind = [&](size_t value) { return text_.find('}', value) + 1; };
    set_marks(head_, two_ ? between(behind(value2_), name2_) : "",
              between(behind(two_ ? value3_ : value2_), text_.size()));
    return !format_.call_begin.empty();
  }

  bool learn_tagged(const Variant& v) {
    const std::string_view name_to_key = between(name1_ + kName1.size(), key1_);
    const std::string_view value_to_key = between(value1_ + kValue1.size(), key2_);
    const std::string_view key_to_value = between(key1_ + kKey1.size(), value1_);
    const std::vector<std::string> behind_name = groups(name_to_key), behind_value = groups(value_to_key);
    const size_t shared = common_back(behind_name, behind_value);
    if (shared == 0 || shared == behind_value.size() || key_to_value.empty()) return false;
    const std::span<const std::string> closing(behind_value.data(), behind_value.size() - shared);
    format_.calls = Calls::kTagged;
    format_.key_begin = join(std::span(behind_value).subspan(behind_value.size() - shared));
    format_.value_end = join(closing);
    format_.padded_values = key_to_value.ends_with('\n') && value_to_key.starts_with('\n');
    format_.key_end = mark(key_to_value);
    learn_attribute(v, key_to_value);
    const size_t key_begin = name_to_key.rfind(behind_name[behind_name.size() - shared]);
    if (two_) {
      const std::string_view second = between(name2_ + kName2.size(), key3_);
      set_name_end(name_to_key.substr(0, key_begin),
                   second.substr(0, second.rfind(behind_name[behind_name.size() - shared])));
    } else {
      format_.name_end = mark(name_to_key.substr(0, key_begin));
    }
    const auto behind = [&](size_t value) {
      for (const std::string& part : closing) {
        const size_t at = text_.find(part, value);
        if (at != npos) value = at + part.size();
      }
      return value;
    };
    set_marks(head_, two_ ? between(behind(value2_), name2_) : "",
              between(behind(two_ ? value3_ : value2_), text_.size()));
    return !format_.call_begin.empty() && !format_.call_end.empty();
  }

  // <parameter name="key" string="true">: what differs for a number says that this is a text.
  void learn_attribute(Variant v, std::string_view text_key_end) {
    v.number = true;
    const auto other = prober_.answer(assistant(v));
    if (!other) return;
    const size_t key = other->find(kKey1, other->rfind(kName1, other->find(kKey1)));
    const size_t number = key == npos ? npos : other->find(kNumber, key);
    if (number == npos) return;
    const std::string_view number_key_end =
        std::string_view(*other).substr(key + kKey1.size(), number - key - kKey1.size());
    if (number_key_end == text_key_end) return;
    size_t front = static_cast<size_t>(std::ranges::mismatch(text_key_end, number_key_end).in1 - text_key_end.begin());
    front = text_key_end.rfind('"', front) + 1;
    const size_t end = text_key_end.find('"', front);
    if (front == 0 || end == npos) return;
    format_.key_end = text_key_end.substr(0, front);
    format_.string_attribute = text_key_end.substr(front, end - front);
    format_.attribute_end = mark(text_key_end.substr(end));
  }

  // <key>value</key>, where each tag may have a prefix. It is taken away to learn the rest, and put back.
  bool learn_elements(const std::string& closing) {
    const size_t behind = value1_ + kValue1.size();
    const std::string prefix = text_.substr(behind, text_.find(closing, behind) - behind);
    if (!prefix.empty()) {
      for (size_t at = text_.find(prefix + '<'); at != npos; at = text_.find(prefix + '<', at))
        text_.erase(at, prefix.size());
      return learn_calls_without(prefix);
    }
    return learn_plain_elements("");
  }
  bool learn_calls_without(const std::string& prefix) {
    key1_ = text_.find(kKey1), name1_ = text_.rfind(kName1, key1_);
    value1_ = text_.find(kValue1), key2_ = text_.find(kKey2, value1_), value2_ = text_.find(kValue2);
    if (two_) {
      key3_ = text_.find(kKey1, value2_), name2_ = text_.rfind(kName2, key3_), value3_ = text_.find(kValue3);
    }
    head_ = head_groups();
    return learn_plain_elements(prefix);
  }
  bool learn_plain_elements(const std::string& prefix) {
    format_.calls = Calls::kElements;
    format_.tag_prefix = prefix;
    const std::string_view name_to_key = between(name1_ + kName1.size(), key1_);
    format_.name_end = mark(name_to_key.substr(0, name_to_key.size() - 1));
    const auto behind = [&](size_t value) { return text_.find('>', text_.find("</", value)) + 1; };
    set_marks(head_, two_ ? between(behind(value2_), name2_) : "",
              between(behind(two_ ? value3_ : value2_), text_.size()));
    if (format_.call_begin.empty() || format_.call_end.empty()) return false;
    const auto with_prefix = [&](std::string& mark) { mark.insert(0, prefix); };
    for (auto* marks : {&format_.frame_begins, &format_.frame_ends}) std::ranges::for_each(*marks, with_prefix);
    with_prefix(format_.call_begin);
    with_prefix(format_.call_end);
    return true;
  }

  const Prober& prober_;
  const Turn& turn_;
  std::string_view source_;
  AnswerFormat& format_;

  std::string text_;  // the rendering at hand, and where its words are
  bool two_ = false;
  size_t key1_ = 0, name1_ = 0, value1_ = 0, key2_ = 0, value2_ = 0, key3_ = 0, name2_ = 0, value3_ = 0;
  std::vector<std::string> head_;
};

}  // namespace

bool find_call_format(const Prober& prober, const Turn& turn, std::string_view source, AnswerFormat& format) {
  return CallFinder(prober, turn, source, format).find();
}

}  // namespace ingle
