// Marks are looked for where they can stand; between them, bytes are thinking or text. A call is read by CallReader;
// what turns out to be none goes on as text, from its first byte to where it went wrong.
#include <algorithm>
#include <array>
#include <cstdint>

#include "base/error.h"
#include "text/answer_marks.h"
#include "text/call_reader.h"

namespace ingle {
namespace {

using Kind = AnswerEvent::Kind;

constexpr size_t kMostSpace = 16;    // held back before a mark
constexpr size_t kMostHeader = 256;  // bytes from <|start|> to <|message|>
constexpr size_t kMostCall = size_t{8} << 20;

// What a mark does.
enum class Role { kThinkingBegin, kThinkingEnd, kTextMark, kFrame, kFrameEnd, kCall, kBare, kHeader, kMessageEnd };

struct Mark {
  std::string_view text;
  Role role;
};

// The marks of one state, and the bytes they begin with.
struct Marks {
  std::vector<Mark> all;
  std::array<bool, 256> first{};

  void add(std::string_view text, Role role) {
    if (text.empty()) return;
    all.push_back({text, role});
    first[static_cast<unsigned char>(text.front())] = true;
  }
};

constexpr std::string_view kMessage = "<|message|>";

}  // namespace

struct AnswerParser::Impl {
  Impl(AnswerFormat format_, Options options)
      : format(std::move(format_)),
        types(options.calls ? argument_types(options.tools) : ArgumentTypes()),
        reader(format, types) {
    collect_marks(options.calls);
    buffer = std::move(options.prompt_end);
    foreign = buffer.size();
    run();
    events.clear();  // of the prompt's own bytes
    at_start = true;
    skip_space = skip_space && !format.plain();
  }
  Impl(const Impl&) = delete;

  enum class State { kText, kThinking, kHeader, kCall };

  void collect_marks(bool calls) {
    if (format.channels) {
      for (Marks* marks : {&in_text, &in_thinking}) {
        marks->add("<|start|>", Role::kHeader);
        marks->add("<|channel|>", Role::kHeader);
        for (const char* end : {"<|end|>", "<|return|>", "<|call|>", "<|eom|>", "<|eot|>"})
          marks->add(end, Role::kMessageEnd);
      }
    } else {
      in_text.add(format.thinking_begin, Role::kThinkingBegin);
      in_text.add(format.thinking_end, Role::kThinkingEnd);
      in_thinking.add(format.thinking_end, Role::kThinkingEnd);
      in_thinking.add(format.thinking_begin, Role::kThinkingBegin);
    }
    for (const std::string& mark : format.text_marks) in_text.add(mark, Role::kTextMark);
    if (!calls) return;
    call_headers = format.channels && format.calls == AnswerFormat::Calls::kNone;
    if (format.calls == AnswerFormat::Calls::kNone) return;
    for (const std::string& mark : format.frame_begins) in_text.add(mark, Role::kFrame);
    for (const std::string& mark : format.frame_ends) in_text.add(mark, Role::kFrameEnd);
    in_text.add(format.call_begin, Role::kCall);
    if (!format.bare) return;
    for (const char* bare : {"{\x01\"name\"\x01:", "{\x01\"type\"\x01:", "{\x01\"function\"\x01:"})
      in_text.add(bare, Role::kBare);
  }

  void run() {
    while (step()) {
    }
    // Moving what is left to the front costs its size: only when that pays.
    if (at > 4096 || at == buffer.size()) {
      buffer.erase(0, at);
      base += at;
      foreign -= std::min(foreign, at);
      at = 0;
    }
  }

  // False when there is nothing more to do with these bytes.
  bool step() {
    switch (state) {
      case State::kText:
        return marked_step(in_text, Kind::kText);
      case State::kThinking:
        return marked_step(in_thinking, Kind::kThinking);
      case State::kHeader:
        return header_step();
      case State::kCall:
        return call_step();
    }
    return false;
  }

  // Bytes from `at` to `end`, but for those that stand in the prompt.
  std::string take(size_t end) {
    const size_t begin = std::min(std::max(at, foreign), end);
    std::string bytes = buffer.substr(begin, end - begin);
    at = end;
    return bytes;
  }
  void emit(Kind kind, size_t end) {
    std::string bytes = take(end);
    if (bytes.empty()) return;
    if (!events.empty() && events.back().kind == kind && kind != Kind::kBroken) {
      events.back().bytes += bytes;
    } else {
      events.push_back({kind, std::move(bytes)});
    }
  }

  struct Found {
    MarkMatch::Kind kind = MarkMatch::Kind::kNo;
    size_t length = 0;
    Role role = Role::kTextMark;
  };
  // The longest mark at `place`.
  Found find(const Marks& marks, size_t place) const {
    Found found;
    if (!marks.first[static_cast<unsigned char>(buffer[place])]) return found;
    const std::string_view rest = std::string_view(buffer).substr(place);
    for (const Mark& mark : marks.all) {
      if (mark.role == Role::kBare && !at_start) continue;
      if (mark.role == Role::kThinkingBegin && state == State::kThinking && thought) continue;
      const MarkMatch match = match_mark(mark.text, rest);
      if (match.kind == MarkMatch::Kind::kMaybe && !last) return {MarkMatch::Kind::kMaybe};
      if (match.kind == MarkMatch::Kind::kYes && match.length > found.length)
        found = {match.kind, match.length, mark.role};
    }
    return found;
  }

  // Bytes go out as `kind` up to the next mark; white space before a mark belongs to it.
  bool marked_step(const Marks& marks, Kind kind) {
    if (skip_space) {
      size_t end = at;
      while (end < buffer.size() && is_answer_space(buffer[end])) ++end;
      emit(Kind::kMarkup, end);
      if (end == buffer.size()) return false;
      skip_space = false;
    }
    size_t space = buffer.size();  // where the white space before `i` begins
    bool in_space = false;
    const auto shown_until = [&](size_t i) {
      return in_space ? std::max(space, i - std::min(i - space, kMostSpace)) : i;
    };
    for (size_t i = at; i < buffer.size(); ++i) {
      if (is_answer_space(buffer[i])) {
        if (!in_space) space = i;
        in_space = true;
        continue;
      }
      const Found found = find(marks, i);
      if (found.kind == MarkMatch::Kind::kNo) {
        in_space = false;
        if (i >= foreign) at_start = false;
        thought = true;
        continue;
      }
      emit(kind, shown_until(i));
      if (found.kind == MarkMatch::Kind::kMaybe) return false;
      return meet(found, i);
    }
    emit(kind, last || marks.all.empty() ? buffer.size() : shown_until(buffer.size()));
    return false;
  }

  // A mark begins at `place`, white space before it at `at`.
  bool meet(const Found& found, size_t place) {
    if (place >= foreign && found.role != Role::kBare) at_start = false;
    switch (found.role) {
      case Role::kThinkingBegin:
      case Role::kThinkingEnd:
      case Role::kTextMark:
      case Role::kMessageEnd:
        emit(Kind::kMarkup, place + found.length);
        if (found.role == Role::kThinkingBegin) {
          state = State::kThinking;
          thought = false;
        }
        if (found.role == Role::kThinkingEnd || found.role == Role::kMessageEnd) state = State::kText;
        skip_space = true;
        return true;
      case Role::kFrameEnd:
        // The end of a frame whose call was none is as little a mark as its beginning.
        emit(broken_frame ? Kind::kText : Kind::kMarkup, place + found.length);
        skip_space = !broken_frame;
        broken_frame = false;
        return true;
      case Role::kHeader:
        emit(Kind::kMarkup, place);
        state = State::kHeader;
        return true;
      case Role::kFrame:
      case Role::kCall:
      case Role::kBare:
        begun = false;
        lead = place - at;
        state = State::kCall;
        reader.begin(found.role == Role::kFrame  ? CallReader::Start::kFrame
                     : found.role == Role::kCall ? CallReader::Start::kCall
                                                 : CallReader::Start::kBare,
                     found.role == Role::kBare ? 0 : found.length);
        silent = found.role == Role::kBare ||
                 std::string_view(buffer).substr(place, found.length).find_first_of("<[") == std::string_view::npos;
        return true;
    }
    return false;
  }

  // <|start|>assistant to=functions.f<|channel|>commentary json<|message|>, any part but the last missing.
  bool header_step() {
    const std::string_view rest = std::string_view(buffer).substr(at);
    const size_t end = rest.substr(0, kMostHeader).find(kMessage);
    const size_t line = rest.find('\n');
    if (end == rest.npos || line < end) {
      if (rest.size() < kMostHeader && line == rest.npos && !last) return false;
      // No header: text, as far as it has been looked at.
      state = State::kText;
      emit(Kind::kText, at + std::min({rest.size(), kMostHeader, line}));
      return true;
    }
    const std::string_view header = rest.substr(0, end);
    const auto word_after = [&](std::string_view mark) -> std::string {
      const size_t place = header.find(mark);
      if (place == header.npos) return {};
      const std::string_view word = header.substr(place + mark.size());
      return std::string(word.substr(0, std::min(word.find_first_of(" <"), word.size())));
    };
    std::string recipient = word_after("to=");
    if (recipient.starts_with("functions.")) recipient.erase(0, 10);
    const std::string channel = word_after("<|channel|>");
    at_start = false;
    skip_space = true;
    if (call_headers && !recipient.empty() && recipient != "user" && recipient != "self") {
      state = State::kCall;
      lead = 0;
      begun = silent = false;
      reader.begin(CallReader::Start::kHeader, end + kMessage.size(), std::move(recipient));
      return true;
    }
    emit(Kind::kMarkup, at + end + kMessage.size());
    thought = false;
    state = recipient == "self" || (recipient.empty() && channel == "analysis") ? State::kThinking : State::kText;
    return true;
  }

  bool call_step() {
    const std::string_view region = std::string_view(buffer).substr(at + lead);
    CallReader::Status status = reader.advance(region, last);
    if (!begun && !silent && reader.begun() &&
        (!reader.name().empty() || format.calls == AnswerFormat::Calls::kJson ||
         format.calls == AnswerFormat::Calls::kPython)) {
      begun = true;
      events.push_back({Kind::kCallBegun, "", {.id = {}, .name = reader.name(), .arguments = {}, .raw = {}}});
    }
    std::string problem = reader.problem();
    if (status == CallReader::Status::kMore && region.size() > kMostCall) {
      status = CallReader::Status::kBroken;
      problem = fmt::format("a call of more than {} bytes", kMostCall);
    }
    if (status == CallReader::Status::kMore) return false;
    state = State::kText;
    at_start = false;
    if (status == CallReader::Status::kDone) {
      emit(Kind::kMarkup, at + lead);
      const size_t end = at + reader.length();
      const std::string bytes = take(end);
      bool first = true;
      for (ToolCall& call : reader.take_calls()) {
        if (first) call.raw = bytes;
        events.push_back({Kind::kCall, first ? bytes : "", std::move(call)});
        first = false;
      }
      skip_space = true;
      broken_frame = false;
      return true;
    }
    break_call(region, std::move(problem));
    return true;
  }

  void break_call(std::string_view region, std::string problem) {
    size_t end = std::min(std::max<size_t>(reader.length(), 1), region.size());
    if (region.size() > kMostCall && reader.problem().empty()) end = region.size();
    // A string without an end takes what follows along, other calls too. So the text ends at the next mark of a call,
    // but bytes are read twice at most.
    const uint64_t begin = base + at + lead;
    if (begin >= read_again) {
      read_again = begin + end;
      end = std::min(end, next_call_mark(region.substr(0, end)));
    }
    broken_frame = true;
    emit(Kind::kText, at + lead);
    if (silent) {
      emit(Kind::kText, at + end);
      return;
    }
    std::string bytes = take(at + end);
    events.push_back({Kind::kBroken, std::move(bytes), {}, std::move(problem)});
  }

  // Where in the bytes of a broken call the next one begins, or this one ends.
  size_t next_call_mark(std::string_view region) const {
    for (size_t i = reader.start(); i < region.size(); ++i) {
      const std::string_view rest = region.substr(i);
      if (!format.call_end.empty() && rest[0] == format.call_end[0]) {
        const MarkMatch end = match_mark(format.call_end, rest);
        if (end.kind == MarkMatch::Kind::kYes) return i + end.length;
      }
      if (!in_text.first[static_cast<unsigned char>(rest[0])]) continue;
      for (const Mark& mark : in_text.all) {
        const MarkMatch match = match_mark(mark.text, rest);
        if (match.kind != MarkMatch::Kind::kYes) continue;
        if (mark.role == Role::kFrameEnd) return i + match.length;
        if (mark.role == Role::kFrame || mark.role == Role::kCall) return i;
      }
    }
    return region.size();
  }

  AnswerFormat format;
  ArgumentTypes types;
  CallReader reader;
  Marks in_text, in_thinking;
  std::string buffer;
  size_t at = 0;            // what comes before it has gone out
  size_t foreign = 0;       // bytes at the front that the prompt wrote
  uint64_t base = 0;        // bytes that have left the buffer
  uint64_t read_again = 0;  // up to here bytes have been part of a broken call
  State state = State::kText;
  size_t lead = 0;            // white space before the call at hand
  bool skip_space = false;    // white space behind a mark
  bool at_start = true;       // of the answer
  bool thought = false;       // since the thinking began
  bool begun = false;         // said so of the call at hand
  bool silent = false;        // it may as well be text: no complaint
  bool broken_frame = false;  // the last call was none
  bool call_headers = false;  // a recipient in a header is a tool, and JSON follows
  bool last = false;
  std::vector<AnswerEvent> events;
};

AnswerParser::AnswerParser(AnswerFormat format) : AnswerParser(std::move(format), Options()) {}
AnswerParser::AnswerParser(AnswerFormat format, Options options)
    : impl_(std::make_unique<Impl>(std::move(format), std::move(options))) {}
AnswerParser::AnswerParser(AnswerParser&&) noexcept = default;
AnswerParser& AnswerParser::operator=(AnswerParser&&) noexcept = default;
AnswerParser::~AnswerParser() = default;

std::vector<AnswerEvent> AnswerParser::push(std::string_view bytes) {
  INGLE_CHECK(!impl_->last);
  impl_->buffer += bytes;
  impl_->run();
  return std::exchange(impl_->events, {});
}

std::vector<AnswerEvent> AnswerParser::finish() {
  impl_->last = true;
  impl_->run();
  return std::exchange(impl_->events, {});
}

bool AnswerParser::thinking() const noexcept { return impl_->state == Impl::State::kThinking; }

void ParsedAnswer::add(const AnswerEvent& event) {
  switch (event.kind) {
    case Kind::kThinking:
      thinking += event.bytes;
      break;
    case Kind::kText:
      text += event.bytes;
      break;
    case Kind::kBroken:
      text += event.bytes;
      problems.push_back(event.problem);
      break;
    case Kind::kCall:
      calls.push_back(event.call);
      break;
    case Kind::kMarkup:
    case Kind::kCallBegun:
      break;
  }
}

ParsedAnswer parse_answer(const AnswerFormat& format, std::string_view answer, AnswerParser::Options options) {
  AnswerParser parser(format, std::move(options));
  ParsedAnswer parsed;
  for (const AnswerEvent& event : parser.push(answer)) parsed.add(event);
  for (const AnswerEvent& event : parser.finish()) parsed.add(event);
  return parsed;
}

}  // namespace ingle
