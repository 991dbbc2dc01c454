// From a row of logits to a token id: a chain of filters in a documented, settable order, then a draw.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ingle/sampling.h"

namespace ingle {

// One per sequence; not thread-safe. The same options, seed, history and logits give the same token on every machine
// (own generator and own draw; nothing from <random> distributions).
class Sampler {
 public:
  // Throws Error{kInvalidArgument} naming the option and its range, an unknown name in `order`, or a token id outside the vocabulary.
  // `dry_breakers`: token ids that contain a sequence breaker (found by the caller from its vocabulary).
  Sampler(const SamplerOptions& options, int32_t vocab, std::vector<TokenId> dry_breakers = {});
  ~Sampler();
  Sampler(Sampler&&) noexcept;

  // Picks a token; does not change `logits`. Does not record it.
  TokenId sample(std::span<const float> logits);
  // What is in the context now (prompt and generated tokens): penalties and DRY look at it; mirostat learns only in sample().
  void accept(TokenId token);
  void reset();   // forgets history and restarts the generator from the seed

  // The candidates left by the chain for these logits, most likely first, with their probabilities: what sample() draws from.
  std::vector<std::pair<TokenId, float>> distribution(std::span<const float> logits);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Stops generation at any of several strings, also across token borders. Text that could still become a stop string is held back.
class StopMatcher {
 public:
  explicit StopMatcher(std::vector<std::string> stops);   // empty strings are refused: kInvalidArgument
  struct Result {
    std::string text;        // safe to show
    std::optional<size_t> stop;  // index of the stop string that was met; its text and what follows are dropped
  };
  Result push(std::string_view text);
  std::string finish();      // what was held

 private:
  std::vector<std::string> stops_;
  std::string held_;
};

}  // namespace ingle
