// How the next token is chosen. Meaning, formula and paper of each option: docs/sampling.md.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace ingle {

using TokenId = int32_t;

struct SamplerOptions {
  // The order the chain runs in. Default below; see docs/sampling.md.
  std::vector<std::string> order = {"penalties", "dry", "top_k", "typical", "top_p", "min_p", "xtc", "temperature"};
  float temperature = 0.8f;      // 0: greedy
  int32_t top_k = 40;            // 0: off
  float top_p = 0.95f;           // 1: off
  float min_p = 0.05f;           // 0: off
  float typical_p = 1.0f;        // 1: off
  float xtc_probability = 0.0f;  // 0: off
  float xtc_threshold = 0.1f;
  int32_t penalty_last_n = 64;      // 0: off, -1: the whole context
  float repetition_penalty = 1.0f;  // 1: off
  float presence_penalty = 0.0f;
  float frequency_penalty = 0.0f;
  float dry_multiplier = 0.0f;  // 0: off
  float dry_base = 1.75f;
  int32_t dry_allowed_length = 2;
  int32_t dry_penalty_last_n = -1;
  std::vector<std::string> dry_sequence_breakers = {"\n", ":", "\"", "*"};
  int32_t mirostat = 0;  // 0 or 2 (replaces top-k ... temperature's draw)
  float mirostat_tau = 5.0f;
  float mirostat_eta = 0.1f;
  std::vector<std::pair<TokenId, float>> logit_bias;  // added to the logits first; -infinity bans
  uint64_t seed = 0;
  int32_t min_keep = 1;  // filters leave at least this many candidates
};

}  // namespace ingle
