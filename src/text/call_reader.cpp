#include "text/call_reader.h"

#include <fmt/format.h>

#include <algorithm>

namespace ingle {
namespace {

using Kind = MarkMatch::Kind;

constexpr size_t kMostName = 256;  // bytes of a name, an id, a key, an attribute

// Characters that can stand outside strings; anything else is a broken body, noticed at once.
bool may_stand_in_body(char c, AnswerFormat::Calls syntax) {
  if (is_answer_space(c) || static_cast<unsigned char>(c) >= 0x80) return true;
  if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) return true;
  if (std::string_view("{}[],:+-._").find(c) != std::string_view::npos) return true;
  if (syntax == AnswerFormat::Calls::kPython) return c == '(' || c == ')' || c == '=';
  return syntax == AnswerFormat::Calls::kBraced && c != '<';  // keys are bare
}

}  // namespace

bool is_name(std::string_view text) {
  return !text.empty() && std::ranges::none_of(text, [](char c) {
    return static_cast<unsigned char>(c) <= 0x20 ||
           std::string_view("<>{}[]()\"'`=,;").find(c) != std::string_view::npos;
  });
}

void CallReader::begin(Start start, size_t length, std::string name, std::string id) {
  start_ = start;
  start_length_ = at_ = from_ = length;
  open_.clear();
  in_string_ = '\0';
  escaped_ = body_begun_ = false;
  name_ = std::move(name);
  id_ = std::move(id);
  arguments_.clear();
  problem_.clear();
  calls_.clear();
  switch (start) {
    case Start::kFrame:
      phase_ = Phase::kFrame;
      return;
    case Start::kBare:
    case Start::kHeader:
      phase_ = Phase::kBody;
      return;
    case Start::kCall:
      break;
  }
  const bool named = format_.calls == AnswerFormat::Calls::kNamed || format_.calls == AnswerFormat::Calls::kBraced ||
                     format_.calls == AnswerFormat::Calls::kTagged || format_.calls == AnswerFormat::Calls::kElements;
  phase_ = named ? Phase::kName : Phase::kBody;
}

CallReader::Status CallReader::advance(std::string_view region, bool last) {
  for (;;) {
    Step step = Step::kMore;
    switch (phase_) {
      case Phase::kFrame:
        step = frame(region);
        break;
      case Phase::kName:
        step = name(region);
        break;
      case Phase::kId:
        step = id(region);
        break;
      case Phase::kBody:
        step = body(region);
        break;
      case Phase::kTail:
        step = tail(region, last);
        break;
      case Phase::kArguments:
        step = arguments(region);
        break;
      case Phase::kKey:
        step = key(region);
        break;
      case Phase::kAttribute:
        step = attribute(region);
        break;
      case Phase::kValue:
        step = value(region);
        break;
      case Phase::kElements:
        step = elements(region);
        break;
    }
    if (step == Step::kGo) continue;
    if (step == Step::kMore && !last) return Status::kMore;
    if (step == Step::kMore) {
      at_ = region.size();
      step = broken(ending());
    }
    if (step == Step::kDone && !read_calls(region)) step = Step::kBroken;
    return step == Step::kDone ? Status::kDone : Status::kBroken;
  }
}

CallReader::Step CallReader::broken(std::string problem) {
  problem_ = name_.empty() ? std::move(problem) : fmt::format("call of {}: {}", name_, problem);
  return Step::kBroken;
}

std::string CallReader::ending() const {
  switch (phase_) {
    case Phase::kFrame:
      return "the answer ends where a call should begin";
    case Phase::kName:
    case Phase::kId:
      return "the answer ends inside the name of a call";
    case Phase::kBody:
      return in_string_ != '\0' ? "the answer ends inside a string of the arguments"
                                : "the answer ends inside the arguments";
    case Phase::kTail:
      return "the answer ends before the end of the call";
    case Phase::kArguments:
    case Phase::kKey:
    case Phase::kAttribute:
    case Phase::kElements:
      return "the answer ends inside the arguments";
    case Phase::kValue:
      return fmt::format("the answer ends inside the argument {}", key_);
  }
  return "";
}

bool CallReader::skip_space(std::string_view region) {
  while (at_ < region.size() && is_answer_space(region[at_])) ++at_;
  return at_ < region.size();
}

CallReader::Step CallReader::frame(std::string_view region) {
  if (!skip_space(region)) return Step::kMore;
  bool maybe = false;
  const MarkMatch call =
      format_.call_begin.empty() ? MarkMatch{Kind::kNo} : match_mark(format_.call_begin, region.substr(at_));
  if (call.kind == Kind::kYes) {
    const size_t length = at_ + call.length;
    begin(Start::kCall, length);
    return Step::kGo;
  }
  maybe = call.kind == Kind::kMaybe;
  if (format_.bare && region[at_] == '{') {
    begin(Start::kBare, at_);
    return Step::kGo;
  }
  for (const std::string& mark : format_.frame_begins) {
    const MarkMatch match = match_mark(mark, region.substr(at_));
    maybe |= match.kind == Kind::kMaybe;
    if (match.kind != Kind::kYes) continue;
    at_ += match.length;
    return Step::kGo;
  }
  return maybe ? Step::kMore : broken("no call follows where one should begin");
}

CallReader::Step CallReader::name_ends(std::string_view region, size_t end, size_t next, Phase phase) {
  name_ = trim_answer_space(region.substr(from_, end - from_));
  if (!is_name(name_)) {
    name_.clear();
    at_ = from_;
    return broken("no name of a tool");
  }
  at_ = from_ = next;
  phase_ = phase;
  return Step::kGo;
}

CallReader::Step CallReader::name(std::string_view region) {
  using Calls = AnswerFormat::Calls;
  const bool tagged = format_.calls == Calls::kTagged || format_.calls == Calls::kElements;
  const Phase arguments = format_.calls == Calls::kTagged     ? Phase::kArguments
                          : format_.calls == Calls::kElements ? Phase::kElements
                                                              : Phase::kBody;
  for (; at_ < region.size(); ++at_) {
    const std::string_view rest = region.substr(at_);
    bool maybe = false;
    const auto ends = [&](const std::string& mark) {
      if (mark.empty()) return MarkMatch{Kind::kNo};
      const MarkMatch match = match_mark(mark, rest);
      maybe |= match.kind == Kind::kMaybe;
      return match;
    };
    if (const MarkMatch end = ends(format_.name_end); end.kind == Kind::kYes)
      return name_ends(region, at_, at_ + end.length, format_.id_end.empty() ? arguments : Phase::kId);
    if (const MarkMatch end = ends(format_.id_end); end.kind == Kind::kYes)
      return name_ends(region, at_, at_ + end.length, arguments);
    if (tagged) {
      // Without arguments, or where nothing stands between name and arguments.
      if (ends(format_.key_begin).kind == Kind::kYes || ends(format_.call_end).kind == Kind::kYes)
        return name_ends(region, at_, at_, arguments);
    } else if (format_.name_end.empty() || format_.calls == Calls::kBraced) {
      if (region[at_] == '{') return name_ends(region, at_, at_, arguments);
    }
    if (maybe) return Step::kMore;
    const char c = region[at_];
    const bool space = is_answer_space(c);
    if (at_ - from_ > kMostName || (!space && !is_name(region.substr(at_, 1)))) return broken("no name of a tool");
  }
  return Step::kMore;
}

CallReader::Step CallReader::id(std::string_view region) {
  for (; at_ < region.size(); ++at_) {
    const MarkMatch end = match_mark(format_.id_end, region.substr(at_));
    if (end.kind == Kind::kMaybe) return Step::kMore;
    if (end.kind == Kind::kYes) {
      id_ = trim_answer_space(region.substr(from_, at_ - from_));
      at_ = from_ = at_ + end.length;
      phase_ = format_.calls == AnswerFormat::Calls::kTagged     ? Phase::kArguments
               : format_.calls == AnswerFormat::Calls::kElements ? Phase::kElements
                                                                 : Phase::kBody;
      return Step::kGo;
    }
    if (at_ - from_ > kMostName || region[at_] == '\n' || region[at_] == '{') return broken("no id of a call");
  }
  return Step::kMore;
}

// Brackets and strings only: where the body ends. What it says is read once it is there.
CallReader::Step CallReader::body(std::string_view region) {
  using Calls = AnswerFormat::Calls;
  const Calls syntax = start_ == Start::kHeader ? Calls::kNamed : format_.calls;
  if (!body_begun_) {
    if (!skip_space(region)) return Step::kMore;
    const char c = region[at_];
    const bool list = syntax == Calls::kJson || syntax == Calls::kPython;
    const bool name = syntax == Calls::kPython && is_name(region.substr(at_, 1));
    if (c != '{' && !(c == '[' && list) && !name) return broken("no arguments where they should begin");
    if (c == '{' && syntax == Calls::kPython) return broken("no list of calls");
    body_ = at_;
    body_begun_ = true;
  }
  for (; at_ < region.size(); ++at_) {
    const char c = region[at_];
    if (in_string_ != '\0') {
      if (syntax == Calls::kBraced && in_string_ == '<') {
        const MarkMatch quote = match_mark(format_.quote, region.substr(at_));
        if (quote.kind == Kind::kMaybe) return Step::kMore;
        if (quote.kind == Kind::kNo) continue;
        at_ += quote.length - 1;
        in_string_ = '\0';
      } else if (escaped_) {
        escaped_ = false;
      } else if (c == '\\') {
        escaped_ = true;
      } else if (c == in_string_) {
        in_string_ = '\0';
      }
      continue;
    }
    if (syntax == Calls::kBraced && !format_.quote.empty()) {
      const MarkMatch quote = match_mark(format_.quote, region.substr(at_));
      if (quote.kind == Kind::kMaybe) return Step::kMore;
      if (quote.kind == Kind::kYes) {
        at_ += quote.length - 1;
        in_string_ = '<';
        continue;
      }
    }
    if (c == '"' || (c == '\'' && syntax == Calls::kPython)) {
      in_string_ = c;
    } else if (c == '{' || c == '[' || (c == '(' && syntax == Calls::kPython)) {
      if (open_.size() >= static_cast<size_t>(kMostValueDepth))
        return broken(fmt::format("arguments are nested more than {} deep", kMostValueDepth));
      open_ += c == '{' ? '}' : c == '[' ? ']' : ')';
    } else if (c == '}' || c == ']' || (c == ')' && syntax == Calls::kPython)) {
      if (open_.empty() || open_.back() != c) return broken(fmt::format("'{}' closes nothing", c));
      open_.pop_back();
      if (open_.empty()) {
        body_end_ = ++at_;
        phase_ = Phase::kTail;
        return Step::kGo;
      }
    } else if (!may_stand_in_body(c, syntax)) {
      return broken(c >= 0x20 && c < 0x7f ? fmt::format("'{}' among the arguments", c)
                                          : std::string("a control character among the arguments"));
    }
  }
  return Step::kMore;
}

// The mark at the end may be missing: nothing of the call itself is.
CallReader::Step CallReader::tail(std::string_view region, bool last) {
  if (format_.call_end.empty() || start_ == Start::kBare || start_ == Start::kHeader) {
    at_ = body_end_;
    return Step::kDone;
  }
  // Several objects may stand between one pair of marks.
  const bool several = format_.calls == AnswerFormat::Calls::kJson;
  while (at_ < region.size() && (is_answer_space(region[at_]) || (several && region[at_] == ','))) ++at_;
  const std::string_view rest = region.substr(at_);
  const MarkMatch end = match_mark(format_.call_end, rest);
  if (end.kind == Kind::kMaybe && !last) return Step::kMore;
  if (end.kind == Kind::kYes) {
    at_ += end.length;
    return Step::kDone;
  }
  if (several && !rest.empty() && (rest[0] == '{' || rest[0] == '[')) {
    phase_ = Phase::kBody;
    return Step::kGo;
  }
  at_ = body_end_;
  return Step::kDone;
}

CallReader::Step CallReader::arguments(std::string_view region) {
  if (!skip_space(region)) return Step::kMore;
  const MarkMatch key = match_mark(format_.key_begin, region.substr(at_));
  const MarkMatch end = match_mark(format_.call_end, region.substr(at_));
  if (end.kind == Kind::kYes) {
    at_ += end.length;
    return Step::kDone;
  }
  if (key.kind == Kind::kYes) {
    at_ = from_ = at_ + key.length;
    phase_ = Phase::kKey;
    return Step::kGo;
  }
  if (key.kind == Kind::kMaybe || end.kind == Kind::kMaybe) return Step::kMore;
  return broken("neither an argument nor the end of the call");
}

CallReader::Step CallReader::key(std::string_view region) {
  for (; at_ < region.size(); ++at_) {
    const MarkMatch end = match_mark(format_.key_end, region.substr(at_));
    if (end.kind == Kind::kMaybe) return Step::kMore;
    if (end.kind == Kind::kYes) {
      key_ = trim_answer_space(region.substr(from_, at_ - from_));
      if (key_.empty()) return broken("an argument without a name");
      at_ = from_ = at_ + end.length;
      string_marked_ = !format_.attribute_end.empty();
      phase_ = string_marked_ ? Phase::kAttribute : Phase::kValue;
      return Step::kGo;
    }
    if (at_ - from_ > kMostName) return broken("the name of an argument has no end");
  }
  return Step::kMore;
}

CallReader::Step CallReader::attribute(std::string_view region) {
  for (; at_ < region.size(); ++at_) {
    const MarkMatch end = match_mark(format_.attribute_end, region.substr(at_));
    if (end.kind == Kind::kMaybe) return Step::kMore;
    if (end.kind == Kind::kYes) {
      is_string_ = region.substr(from_, at_ - from_) == format_.string_attribute;
      at_ = from_ = at_ + end.length;
      phase_ = Phase::kValue;
      return Step::kGo;
    }
    if (at_ - from_ > kMostName) return broken("the name of an argument has no end");
  }
  return Step::kMore;
}

CallReader::Step CallReader::value(std::string_view region) {
  constexpr std::string_view kQuoted = "<![CDATA[", kUnquoted = "]]>";
  const std::string_view so_far = region.substr(from_);
  if (kQuoted.starts_with(so_far.substr(0, kQuoted.size())) && so_far.size() < kQuoted.size()) return Step::kMore;
  const bool quoted = so_far.starts_with(kQuoted);
  for (; at_ < region.size(); ++at_) {
    if (quoted) {
      const MarkMatch unquoted = match_mark(kUnquoted, region.substr(at_));
      if (unquoted.kind == Kind::kMaybe) return Step::kMore;
      if (unquoted.kind == Kind::kNo) continue;
    }
    const size_t behind = at_ + (quoted ? kUnquoted.size() : 0);
    const MarkMatch end = match_mark(format_.value_end, region.substr(behind));
    if (end.kind == Kind::kMaybe) return Step::kMore;
    if (end.kind == Kind::kNo) continue;
    std::string_view text = region.substr(from_, at_ - from_);
    if (quoted) text.remove_prefix(kQuoted.size());
    if (format_.padded_values && !quoted) {
      if (text.starts_with('\n')) text.remove_prefix(1);
      if (text.ends_with('\n')) text.remove_suffix(1);
    }
    add_argument(key_, typed(key_, text, string_marked_ || quoted, is_string_ || quoted));
    at_ = from_ = behind + end.length;
    phase_ = Phase::kArguments;
    return Step::kGo;
  }
  return Step::kMore;
}

CallReader::Step CallReader::elements(std::string_view region) {
  for (; at_ < region.size(); ++at_) {
    const MarkMatch end = match_mark(format_.call_end, region.substr(at_));
    if (end.kind == Kind::kMaybe) return Step::kMore;
    if (end.kind == Kind::kNo) continue;
    const std::string_view inside = region.substr(from_, at_ - from_);
    at_ += end.length;
    size_t read = 0;
    try {
      arguments_ = read_elements(inside, read, "", 0);
      if (!trim_answer_space(inside.substr(read)).empty()) throw ValueFailure{"text between the arguments"};
      if (arguments_.empty()) arguments_ = "{}";
      if (arguments_.front() != '{') throw ValueFailure{"arguments without names"};
    } catch (const ValueFailure& failure) {
      return broken(failure.problem);
    }
    return Step::kDone;
  }
  return Step::kMore;
}

}  // namespace ingle
