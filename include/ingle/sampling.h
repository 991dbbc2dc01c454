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

}  // namespace ingle
