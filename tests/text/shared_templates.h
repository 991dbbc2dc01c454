// Chat templates for tests: those of real models where ../shared is there, and one of ours.
#pragma once

#include <boost/json.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <string_view>

namespace ingle::test {

inline std::filesystem::path shared_folder() {
  const char* given = std::getenv("INGLE_SHARED");
  return given != nullptr ? std::filesystem::path(given) : std::filesystem::path(INGLE_SOURCE_DIR) / ".." / "shared";
}

// name -> source
inline std::map<std::string, std::string> shared_templates() {
  std::map<std::string, std::string> all;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(shared_folder() / "data/templates", error)) {
    std::ifstream in(entry.path(), std::ios::binary);
    all[entry.path().stem().string()] = {std::istreambuf_iterator<char>(in), {}};
  }
  return all;
}

inline boost::json::object special_tokens() { return {{"bos_token", "<s>"}, {"eos_token", "</s>"}}; }

// Messages with headers, in the manner of gpt-oss.
inline constexpr std::string_view kHarmony =
    "{%- for m in messages -%}"
    "{%- if m.role != 'assistant' -%}<|start|>{{ m.role }}<|message|>{{ m.content }}<|end|>{%- else -%}"
    "{%- if m.reasoning_content -%}<|start|>assistant<|channel|>analysis<|message|>{{ m.reasoning_content }}<|end|>{%- "
    "endif -%}"
    "{%- if m.content -%}<|start|>assistant<|channel|>{{ 'commentary' if m.tool_calls else 'final' }}<|message|>{{ "
    "m.content }}<|end|>"
    "{%- endif -%}"
    "{%- for c in m.tool_calls or [] -%}<|start|>assistant to=functions.{{ c.function.name }}<|channel|>commentary "
    "json<|message|>"
    "{{ c.function.arguments|tojson }}<|call|>{%- endfor -%}{%- endif -%}{%- endfor -%}"
    "{%- if add_generation_prompt -%}<|start|>assistant{%- endif -%}";

}  // namespace ingle::test
