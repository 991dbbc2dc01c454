// Any bytes as an answer, in every format: nothing is lost, cuts do not matter, calls have arguments that are JSON. And
// any bytes as a template whose answers are to be found out.
#include <boost/json.hpp>
#include <cstdint>
#include <cstdlib>

#include "../answer_events.h"
#include "../known_answer_formats.h"
#include "ingle/error.h"
#include "text/answer_format.h"

namespace {

using namespace ingle;

void require(bool holds) {
  if (!holds) std::abort();
}

void check(const AnswerFormat& format, std::string_view answer, const AnswerParser::Options& options, size_t step) {
  const std::vector<AnswerEvent> whole = test::events_of(format, answer, options);
  require(test::bytes_of(whole) == answer);
  require(test::events_of(format, answer, options, step) == whole);
  for (const AnswerEvent& event : whole) {
    if (event.kind != AnswerEvent::Kind::kCall) continue;
    boost::json::parse_options limits;
    limits.max_depth = 100;
    boost::json::error_code error;
    const boost::json::value arguments = boost::json::parse(event.call.arguments, error, {}, limits);
    // Lone surrogates are all that JSON's grammar allows and its reader does not.
    require((!error && arguments.is_object()) || event.call.arguments.find("\\u") != std::string::npos);
    require(!event.call.name.empty() && options.calls);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::vector<AnswerFormat> formats = test::formats::all();
  if (size < 2) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
  const uint8_t which = data[0];
  AnswerParser::Options options;
  options.calls = (data[1] & 1) == 0;
  if (data[1] & 2) options.prompt_end = "<|start|>assistant\n<think>\n";
  if (data[1] & 4) options.prompt_end = "<|eot|>\n>>>";
  const size_t step = 1 + (data[1] >> 4);
  if (which != 255) {
    check(formats[which % formats.size()], bytes, options, step);
    return 0;
  }
  const TemplateLimits limits{
      .steps = 5'000, .depth = 60, .source_bytes = 4096, .output_bytes = 1 << 14, .value_bytes = 1 << 18};
  try {
    const ChatTemplate parsed = ChatTemplate::parse(bytes, limits);
    const AnswerFormat format = find_answer_format(parsed, bytes, {{"bos_token", "<s>"}, {"eos_token", "</s>"}});
    find_thinking_switch(parsed);
    require(!describe(format).empty());
    check(format, bytes, options, step);
  } catch (const Error& error) {
    require(error.code() != ErrorCode::kInternal);
  }
  return 0;
}
