#include "ingle/generate.h"

#include <algorithm>

#include "base/error.h"
#include "runtime/model_impl.h"
#include "runtime/prefix_tree.h"
#include "runtime/sampler.h"
#include "runtime/session_impl.h"

namespace ingle {
namespace {

using Clock = std::chrono::steady_clock;
double seconds(Clock::duration d) { return std::chrono::duration<double>(d).count(); }

// Tokens whose text contains a string that ends a repetition for DRY.
std::vector<TokenId> find_breakers(const Model& model, const SamplerOptions& options) {
  std::vector<TokenId> breakers;
  if (options.dry_multiplier == 0) return breakers;
  for (TokenId id = 0; id < model.info().vocabulary; ++id) {
    const std::string piece = model.piece(id, true);
    const auto contains = [&](const std::string& text) {
      return !text.empty() && piece.find(text) != std::string::npos;
    };
    if (std::ranges::any_of(options.dry_sequence_breakers, contains)) breakers.push_back(id);
  }
  return breakers;
}

// Token by token to text: whole characters, nothing that could still become a stop string, nothing after one.
class TextOutput {
 public:
  TextOutput(const Model& model, const GenerateOptions& options, std::string& text)
      : model_(model), options_(options), stops_(options.stops), text_(text), shown_(options.shown_tokens) {
    std::ranges::sort(shown_);
  }

  // What to stop for, if anything.
  std::optional<FinishReason> push(TokenId token) {
    StopMatcher::Result result = stops_.push(decoder_.push(model_.piece(token, shows(token))));
    if (!show(result.text)) return FinishReason::kCancelled;
    if (result.stop) return FinishReason::kStopString;
    return std::nullopt;
  }
  // The end of an answer that no stop string ended.
  std::optional<FinishReason> finish() {
    StopMatcher::Result result = stops_.push(decoder_.finish());
    if (!show(result.text)) return FinishReason::kCancelled;
    if (result.stop) return FinishReason::kStopString;
    if (!show(stops_.finish())) return FinishReason::kCancelled;
    return std::nullopt;
  }

 private:
  bool shows(TokenId token) const { return options_.special || std::ranges::binary_search(shown_, token); }
  bool show(std::string_view text) {
    text_ += text;
    return text.empty() || !options_.on_text || options_.on_text(text);
  }

  const Model& model_;
  const GenerateOptions& options_;
  StreamingDecoder decoder_;
  StopMatcher stops_;
  std::string& text_;
  std::vector<TokenId> shown_;  // ascending
};

void check_prompt(const Session& session, std::span<const TokenId> prompt, const GenerateOptions& options) {
  if (!session.model().info().generates) {
    throw_error(ErrorCode::kUnsupported, "{}: a {} model turns texts into vectors; it writes none",
                session.model().info().path, session.model().info().architecture);
  }
  const int64_t context = session.options().context;
  if (prompt.empty()) throw_error(ErrorCode::kInvalidArgument, "the prompt is empty; there is nothing to continue");
  if (static_cast<int64_t>(prompt.size()) > context) {
    throw_error(ErrorCode::kInvalidArgument,
                "the prompt has {} tokens, the context {}; shorten it or make the context larger", prompt.size(),
                context);
  }
  if (options.max_tokens < -1)
    throw_error(ErrorCode::kInvalidArgument, "max_tokens: {} is not -1 (until the context is full) or more",
                options.max_tokens);
  const int64_t vocabulary = session.model().info().vocabulary;
  for (TokenId token : prompt) {
    if (token < 0 || token >= vocabulary)
      throw_error(ErrorCode::kInvalidArgument, "the prompt has token {}, which is not from 0 to {}", token,
                  vocabulary - 1);
  }
}

// Leaves the sequence with a start of the prompt that need not be read again; one token at least is left to read.
int64_t keep_prefix(Session& session, SequenceId sequence, std::span<const TokenId> prompt) {
  const std::span<const TokenId> have = session.tokens(sequence);
  const int64_t shared = common_start(have, prompt);
  const int64_t keep = std::min(shared, static_cast<int64_t>(prompt.size()) - 1);
  PrefixReuse report{.reused = keep, .matched = keep, .difference = std::nullopt};
  if (shared < static_cast<int64_t>(std::min(have.size(), prompt.size())))
    report.difference = {shared, have[static_cast<size_t>(shared)], prompt[static_cast<size_t>(shared)]};
  session.truncate(sequence, keep);
  if (keep == 0) return session.reuse_prefix(sequence, prompt);
  session.impl().last_reuse = report;
  return keep;
}

}  // namespace

std::string_view to_string(FinishReason reason) noexcept {
  switch (reason) {
    case FinishReason::kEndOfGeneration:
      return "end";
    case FinishReason::kStopString:
      return "stop";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kContextFull:
      return "context";
    case FinishReason::kCancelled:
      return "cancelled";
  }
  return "";
}

Generation generate(Session& session, SequenceId sequence, std::span<const TokenId> prompt,
                    const GenerateOptions& options) {
  const Model& model = session.model();
  // The prompt may be the sequence's own token list, which is about to change.
  const std::vector<TokenId> own_prompt(prompt.begin(), prompt.end());
  prompt = own_prompt;
  session.length(sequence);  // throws for a sequence that is not there
  check_prompt(session, prompt, options);
  Sampler sampler(options.sampling, static_cast<int32_t>(model.info().vocabulary),
                  find_breakers(model, options.sampling));

  Generation result;
  const RowCounts before = session.rows();
  const auto count_rows = [&] { result.rows = session.rows() - before; };
  result.prompt_tokens = static_cast<int64_t>(prompt.size());
  TextOutput output(model, options, result.text);
  std::vector<float> logits(static_cast<size_t>(model.info().vocabulary));
  const std::function<void(const ResultRow&)> keep_logits = [&](const ResultRow& row) {
    std::ranges::copy(row.logits, logits.begin());
  };
  // False when cancelled.
  const auto read = [&](std::span<const TokenId> tokens) {
    const RunRequest run{sequence, tokens, Want::kLast};
    try {
      session.evaluate({&run, 1}, keep_logits);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kCancelled) throw;
      return false;
    }
    return true;
  };

  const Clock::time_point start = Clock::now();
  result.reused_tokens = keep_prefix(session, sequence, prompt);
  const bool was_read = read(prompt.subspan(static_cast<size_t>(result.reused_tokens)));
  const Clock::time_point first = Clock::now();
  result.prompt_seconds = seconds(first - start);
  if (!was_read) {
    result.finish = FinishReason::kCancelled;
    count_rows();
    return result;
  }
  for (TokenId token : prompt) sampler.accept(token);

  std::optional<FinishReason> finish;
  while (!finish) {
    if (options.max_tokens >= 0 && static_cast<int64_t>(result.tokens.size()) >= options.max_tokens) {
      finish = FinishReason::kLength;
      break;
    }
    const TokenId token = sampler.sample(logits);
    sampler.accept(token);
    result.tokens.push_back(token);
    if (!options.ignore_end && model.is_end_of_generation(token)) {
      finish = FinishReason::kEndOfGeneration;
    } else if (finish = output.push(token); finish) {
      break;
    } else if (options.max_tokens >= 0 && static_cast<int64_t>(result.tokens.size()) >= options.max_tokens) {
      finish = FinishReason::kLength;  // its logits would be nobody's
    } else if (session.length(sequence) == session.options().context) {
      finish = FinishReason::kContextFull;
    } else if (!read({&token, 1})) {
      finish = FinishReason::kCancelled;
    }
  }
  // Held text goes out, unless a stop string or the reader ended it all.
  if (*finish != FinishReason::kStopString && *finish != FinishReason::kCancelled) {
    if (const auto late = output.finish()) finish = late;
  }
  result.finish = *finish;
  result.generation_seconds = seconds(Clock::now() - first);
  count_rows();
  return result;
}

}  // namespace ingle
