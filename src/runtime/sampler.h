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
  // Throws Error{kInvalidArgument} naming the option and its range, an unknown or repeated name in `order`, or a token
  // id outside the vocabulary. `dry_breakers`: token ids that contain a sequence breaker (found by the caller from its
  // vocabulary).
  Sampler(const SamplerOptions& options, int32_t vocab, std::vector<TokenId> dry_breakers = {});
  ~Sampler();
  Sampler(Sampler&&) noexcept;

  // Picks a token; does not change `logits` [vocab]. Does not record it. NaN counts as -infinity; throws
  // Error{kInvalidArgument} when there is no other logit, or when their number is not the vocabulary.
  TokenId sample(std::span<const float> logits);
  // What is in the context now (prompt and generated tokens): penalties and DRY look at it; mirostat learns only in
  // sample(). Throws Error{kInvalidArgument} for a token outside the vocabulary.
  void accept(TokenId token);
  void reset();  // forgets history and restarts the generator from the seed

  // The candidates left by the chain for these logits, most likely first, with their probabilities: what the next
  // sample() draws from. Changes nothing.
  std::vector<std::pair<TokenId, float>> distribution(std::span<const float> logits);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Stops generation at any of several strings, also across token borders. Text that could still become a stop string is
// held back. The stop that is complete first wins; of several that end at the same byte, the longest. So where
// generation stops depends on the text alone, not on how it was cut into tokens. Each byte costs constant time, however
// many stops there are. Bytes are passed on as they come: pieces of whole characters give texts of whole characters.
class StopMatcher {
 public:
  explicit StopMatcher(std::vector<std::string> stops);  // an empty string is refused: Error{kInvalidArgument}
  struct Result {
    std::string text;            // safe to show
    std::optional<size_t> stop;  // index of the stop string that was met; its text and what follows are dropped
  };
  Result push(std::string_view text);  // after a stop was met, starts over
  std::string finish();                // what was held; starts over

 private:
  // A state of the automaton of Aho and Corasick (CACM 1975): a prefix of a stop string, and the longest such prefix
  // the text ends with. Its length is the number of bytes to hold back.
  struct Prefix {
    std::vector<std::pair<unsigned char, uint32_t>> longer;  // by one byte: which, and the state; sorted
    uint32_t shorter = 0;                                    // the longest proper suffix that is a state
    size_t length = 0;
    std::optional<size_t> stop;  // the longest stop string this ends with
  };
  uint32_t after(uint32_t state, unsigned char byte) const;

  std::vector<size_t> stop_bytes_;  // lengths of the stop strings
  std::vector<Prefix> prefixes_;    // [0] is the empty one
  uint32_t state_ = 0;
  std::string held_;  // prefixes_[state_] as text
};

}  // namespace ingle
