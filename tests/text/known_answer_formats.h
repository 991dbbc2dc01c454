// Answer formats of known models, one of each kind, for tests and the fuzzer.
#pragma once

#include <vector>

#include "ingle/answer.h"

namespace ingle::test::formats {

inline AnswerFormat qwen() {
  return {.thinking_begin = "<think>",
          .thinking_end = "</think>",
          .calls = AnswerFormat::Calls::kJson,
          .call_begin = "<tool_call>",
          .call_end = "</tool_call>"};
}
inline AnswerFormat coder() {
  return {.calls = AnswerFormat::Calls::kTagged,
          .call_begin = "<function=",
          .call_end = "</function>",
          .frame_begins = {"<tool_call>"},
          .frame_ends = {"</tool_call>"},
          .name_end = ">",
          .key_begin = "<parameter=",
          .key_end = ">",
          .value_end = "</parameter>",
          .padded_values = true};
}
inline AnswerFormat gemma() {
  return {.thinking_begin = "<|channel>thought",
          .thinking_end = "<channel|>",
          .calls = AnswerFormat::Calls::kBraced,
          .call_begin = "<|tool_call>call:",
          .call_end = "<tool_call|>",
          .quote = "<|\"|>"};
}
inline AnswerFormat mistral() {
  return {
      .calls = AnswerFormat::Calls::kNamed, .call_begin = "[TOOL_CALLS]", .name_end = "[CALL_ID]", .id_end = "[ARGS]"};
}
inline AnswerFormat python() {
  return {.calls = AnswerFormat::Calls::kPython, .call_begin = "<|tool_call_start|>", .call_end = "<|tool_call_end|>"};
}
inline AnswerFormat llama() {
  return {.calls = AnswerFormat::Calls::kJson, .bare = true, .frame_begins = {"<|python_tag|>"}};
}
inline AnswerFormat functionary() {
  return {.text_marks = {">>>all\n"}, .calls = AnswerFormat::Calls::kNamed, .call_begin = ">>>"};
}
inline AnswerFormat harmony() { return {.channels = true}; }

inline AnswerFormat kimi() {
  return {.thinking_begin = "<think>",
          .thinking_end = "</think>",
          .calls = AnswerFormat::Calls::kNamed,
          .call_begin = "<|tool_call_begin|>functions.",
          .call_end = "<|tool_call_end|>",
          .frame_begins = {"<|tool_calls_section_begin|>"},
          .frame_ends = {"<|tool_calls_section_end|>"},
          .name_end = ":",
          .id_end = "<|tool_call_argument_begin|>"};
}
inline AnswerFormat dsml() {
  return {.thinking_begin = "<think>",
          .thinking_end = "</think>",
          .calls = AnswerFormat::Calls::kTagged,
          .call_begin = "<invoke name=\"",
          .call_end = "</invoke>",
          .frame_begins = {"<calls>"},
          .frame_ends = {"</calls>"},
          .name_end = "\">",
          .key_begin = "<parameter name=\"",
          .key_end = "\" string=\"",
          .attribute_end = "\">",
          .string_attribute = "true",
          .value_end = "</parameter>"};
}
inline AnswerFormat glm() {
  return {.thinking_begin = "<think>",
          .thinking_end = "</think>",
          .calls = AnswerFormat::Calls::kTagged,
          .call_begin = "<tool_call>",
          .call_end = "</tool_call>",
          .key_begin = "<arg_key>",
          .key_end = "</arg_key>\x01<arg_value>",
          .value_end = "</arg_value>"};
}
inline AnswerFormat elements() {
  return {.calls = AnswerFormat::Calls::kElements,
          .call_begin = "]<]<invoke name=\"",
          .call_end = "]<]</invoke>",
          .name_end = "\">",
          .tag_prefix = "]<]"};
}
inline AnswerFormat cohere() {
  return {.thinking_begin = "<|START_THINKING|>",
          .thinking_end = "<|END_THINKING|>",
          .text_marks = {"<|START_TEXT|>", "<|END_TEXT|>"},
          .calls = AnswerFormat::Calls::kJson,
          .call_begin = "<|START_ACTION|>",
          .call_end = "<|END_ACTION|>"};
}
inline std::vector<AnswerFormat> all() {
  return {qwen(),    coder(), gemma(), mistral(), python(),   llama(), functionary(),
          harmony(), kimi(),  dsml(),  glm(),     elements(), cohere()};
}

}  // namespace ingle::test::formats
