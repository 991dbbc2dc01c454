// The events of an answer that comes in pieces, for tests and the fuzzer.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "ingle/answer.h"

namespace ingle {

inline bool operator==(const ToolCall& a, const ToolCall& b) {
  return a.id == b.id && a.name == b.name && a.arguments == b.arguments && a.raw == b.raw;
}
inline bool operator==(const AnswerEvent& a, const AnswerEvent& b) {
  return a.kind == b.kind && a.bytes == b.bytes && a.call == b.call && a.problem == b.problem;
}
inline void PrintTo(const AnswerEvent& event, std::ostream* out) {
  constexpr const char* kNames[] = {"thinking", "text", "markup", "begun", "call", "broken"};
  *out << fmt::format("{} [{}] {} {} {} {}", kNames[static_cast<int>(event.kind)], event.bytes, event.call.id,
                      event.call.name, event.call.arguments, event.problem);
}

namespace test {

// In pieces of `step` bytes; events that only continue the one before are joined with it.
inline std::vector<AnswerEvent> events_of(const AnswerFormat& format, std::string_view answer,
                                          const AnswerParser::Options& options, size_t step = ~size_t{0}) {
  using Kind = AnswerEvent::Kind;
  AnswerParser parser(format, options);
  std::vector<AnswerEvent> merged;
  const auto take = [&](std::vector<AnswerEvent> events) {
    for (AnswerEvent& event : events) {
      const bool run = event.kind == Kind::kText || event.kind == Kind::kThinking || event.kind == Kind::kMarkup;
      if (run && !merged.empty() && merged.back().kind == event.kind) {
        merged.back().bytes += event.bytes;
      } else {
        merged.push_back(std::move(event));
      }
    }
  };
  for (size_t i = 0; i < answer.size(); i += std::min(step, answer.size() - i))
    take(parser.push(answer.substr(i, step)));
  take(parser.finish());
  return merged;
}

inline std::string bytes_of(const std::vector<AnswerEvent>& events) {
  std::string bytes;
  for (const AnswerEvent& event : events) bytes += event.bytes;
  return bytes;
}

}  // namespace test
}  // namespace ingle
