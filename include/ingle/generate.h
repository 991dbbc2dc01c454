// From a prompt to text: read, then sample and read again until something ends it.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "ingle/sampling.h"
#include "ingle/session.h"

namespace ingle {

enum class FinishReason { kEndOfGeneration, kStopString, kLength, kContextFull, kCancelled };
std::string_view to_string(FinishReason reason) noexcept;  // "end", "stop", "length", "context", "cancelled"

struct GenerateOptions {
  SamplerOptions sampling;
  int64_t max_tokens = -1;                        // -1: until the context is full
  std::vector<std::string> stops;                 // not part of the text
  bool ignore_end = false;                        // go on past end-of-generation tokens
  bool special = false;                           // show control tokens as text
  std::vector<TokenId> shown_tokens;              // these at least: Model::mark_tokens()
  std::function<bool(std::string_view)> on_text;  // whole characters as they come; false cancels
};

struct Generation {
  std::string text;
  std::vector<TokenId> tokens;  // sampled, with the one that ended it
  FinishReason finish = FinishReason::kLength;
  int64_t prompt_tokens = 0;
  int64_t reused_tokens = 0;      // of the prompt, found in the cache
  RowCounts rows;                 // what this call computed and skipped, prompt and answer
  double prompt_seconds = 0;      // reading the prompt, up to the first token's logits
  double generation_seconds = 0;  // the rest
};

// `prompt` is the whole context, not only what is new: what `sequence` already holds of it is kept, the rest of the
// sequence is truncated. Throws Error{kInvalidArgument} when the prompt does not fit the context (both numbers named).
// A cancelled or failed call leaves the sequence consistent.
Generation generate(Session& session, SequenceId sequence, std::span<const TokenId> prompt,
                    const GenerateOptions& options);

}  // namespace ingle
