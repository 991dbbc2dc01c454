// Any bytes as a chat template: parsing and rendering end with a text or an Error, within tight limits.
#include <boost/json.hpp>
#include <cstdint>
#include <cstdlib>

#include "ingle/error.h"
#include "text/chat_template.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const boost::json::object variables =
      boost::json::parse(
          R"({"messages": [{"role": "user", "content": "H\u00e9 <b> {x}"}, {"role": "assistant", "content": ""}],
        "tools": [{"name": "f", "n": 1, "x": 2.5, "t": true, "o": null}], "s": "a,b", "l": [3, 1, 2], "d": {"a": 1, "b": [2]},
        "bos_token": "<s>", "add_generation_prompt": true})")
          .as_object();
  const ingle::TemplateLimits limits{
      .steps = 20'000, .depth = 100, .source_bytes = 4096, .output_bytes = 1 << 16, .value_bytes = 1 << 20};
  try {
    const auto parsed = ingle::ChatTemplate::parse({reinterpret_cast<const char*>(data), size}, limits);
    const std::chrono::system_clock::time_point now{};
    size_t bytes = 0;
    for (const auto& span : parsed.render_spans(variables, now)) bytes += span.text.size();
    if (bytes > limits.output_bytes) std::abort();
  } catch (const ingle::Error& e) {
    if (e.code() == ingle::ErrorCode::kInternal) std::abort();  // our own mistake, never an answer to input
  }
  return 0;
}
