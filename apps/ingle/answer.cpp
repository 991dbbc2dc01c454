#include "apps/ingle/answer.h"

#include "apps/ingle/fail.h"
#include "apps/ingle/setup.h"
#include "apps/ingle/signals.h"
#include "apps/ingle/utf8.h"

namespace ingle::app {

GenerateOptions generate_options(const Arguments& arguments, const Model& model) {
  GenerateOptions options;
  options.sampling = sampler_options(arguments, model);
  options.max_tokens = arguments.integer("predict");
  options.stops = arguments.texts("stop");
  for (const std::string& stop : options.stops)
    if (stop.empty())
      fail(ErrorCode::kInvalidArgument, "--stop: the text is empty; it would stop before the first character");
  options.ignore_end = arguments.flag("ignore-eos");
  options.special = arguments.flag("special");
  return options;
}

Generation answer(Session& session, SequenceId sequence, std::span<const TokenId> prompt, GenerateOptions options,
                  const std::function<void(std::string_view)>& on_text) {
  const int64_t context = session.options().context;
  const int64_t size = static_cast<int64_t>(prompt.size());
  if (size > context)
    fail(ErrorCode::kInvalidArgument, "the prompt has {} tokens, the context holds {}; shorten it or use {}", size,
         context, larger_context(session.model(), size));
  Generation partial;
  partial.finish = FinishReason::kCancelled;
  partial.prompt_tokens = size;
  options.on_text = [&](std::string_view text) {
    partial.text += text;
    on_text(text);
    return !interrupted();
  };
  session.set_cancel(interrupted);
  try {
    return generate(session, sequence, prompt, options);
  } catch (const Error& error) {
    // Stopped while a step was being computed: what was said until then stays said.
    if (error.code() == ErrorCode::kCancelled) return partial;
    throw;
  }
}

std::string larger_context(const Model& model, int64_t tokens) {
  constexpr int64_t kAnswer = 512;
  const int64_t trained = model.info().context_length;
  return fmt::format("-c {}{}", tokens + kAnswer,
                     trained > 0 && tokens > trained ? fmt::format(" (the model was trained for {})", trained) : "");
}

double prompt_rate(const Generation& generation) {
  const int64_t read = generation.prompt_tokens - generation.reused_tokens;
  return generation.prompt_seconds > 0 ? static_cast<double>(read) / generation.prompt_seconds : 0;
}

double generation_rate(const Generation& generation) {
  // The first token's logits come with the prompt, so n tokens take n - 1 steps.
  const int64_t steps = static_cast<int64_t>(generation.tokens.size()) - 1;
  return steps > 0 && generation.generation_seconds > 0 ? static_cast<double>(steps) / generation.generation_seconds
                                                        : 0;
}

std::string statistics_line(const Generation& generation) {
  const auto rate = [](double value) { return value > 0 ? fmt::format(", {:.1f} tokens/s", value) : std::string(); };
  return fmt::format("prompt {} tokens{}{}; answer {} tokens{}", generation.prompt_tokens,
                     generation.reused_tokens > 0 ? fmt::format(" ({} reused)", generation.reused_tokens) : "",
                     rate(prompt_rate(generation)), generation.tokens.size(), rate(generation_rate(generation))) +
         fmt::format("; layer rows {} computed, {} skipped", generation.rows.computed, generation.rows.skipped);
}

boost::json::object to_json(const Generation& generation) {
  return {
      {"text", to_valid_utf8(generation.text)},
      {"tokens",
       {{"prompt", generation.prompt_tokens},
        {"reused", generation.reused_tokens},
        {"generated", generation.tokens.size()}}},
      {"rows", to_json(generation.rows)},
      {"timings",
       {{"prompt_seconds", generation.prompt_seconds},
        {"generation_seconds", generation.generation_seconds},
        {"prompt_tokens_per_second", prompt_rate(generation)},
        {"generation_tokens_per_second", generation_rate(generation)}}},
      {"finish", to_string(generation.finish)},
  };
}

}  // namespace ingle::app
