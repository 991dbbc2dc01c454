// One answer: what `run` and the chat have in common around generate().
#pragma once

#include <boost/json/object.hpp>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "apps/ingle/options.h"
#include "ingle/ingle.h"

namespace ingle::app {

// --predict, --stop, --ignore-eos, --special and the sampling options.
GenerateOptions generate_options(const Arguments& arguments, const Model& model);

// Reads `prompt` and generates; Ctrl-C ends it with FinishReason::kCancelled and what there is so far. Throws
// Error{kInvalidArgument} when the prompt is longer than the context, with both numbers.
Generation answer(Session& session, SequenceId sequence, std::span<const TokenId> prompt, GenerateOptions options,
                  const std::function<void(std::string_view)>& on_text);

// What holds `tokens` and an answer to them: "-c 5012 (the model was trained for 4096)".
std::string larger_context(const Model& model, int64_t tokens);

double prompt_rate(const Generation& generation);      // tokens read per second, without the reused ones; 0: none
double generation_rate(const Generation& generation);  // tokens per second after the first; 0: unknown

// "prompt 31 tokens (12 reused), 402.1 tokens/s; answer 25 tokens, 61.3 tokens/s"
std::string statistics_line(const Generation& generation);

// {"text", "tokens", "timings", "finish"}
boost::json::object to_json(const Generation& generation);

}  // namespace ingle::app
