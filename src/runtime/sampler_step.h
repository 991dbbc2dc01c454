// One link of the sampling chain, and the table of all there are. To add one: a file sampler_NAME.cpp with its factory,
// the factory's declaration here, a row in sampler_steps.cpp, its options in sampler.h and its section in
// docs/sampling.md.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "base/error.h"
#include "runtime/candidates.h"
#include "runtime/random.h"
#include "runtime/sampler.h"

namespace ingle {

class SamplerStep {
 public:
  virtual ~SamplerStep() = default;
  // Changes logits or removes candidates, never all of them. A step that needs chance takes the same number of draws
  // from `random` whatever the logits are.
  virtual void apply(Candidates& candidates, Random& random) = 0;
  // The context grows by a token of the vocabulary; the context is forgotten.
  virtual void accept(TokenId token) {}
  virtual void reset() {}
};

// What a factory makes a step from. `min_keep` is at least 1.
struct SamplerSetup {
  const SamplerOptions& options;
  int32_t vocab;
  std::span<const TokenId> dry_breakers;
};

enum class StepKind {
  kLogits,  // changes logits: also runs when the draw is greedy or mirostat's
  kFilter,  // removes candidates: pointless under greedy, replaced by mirostat
};

// A factory checks its options (throws Error{kInvalidArgument}) and returns null when they turn the step off.
struct StepRow {
  std::string_view name;  // in SamplerOptions::order
  StepKind kind;
  std::unique_ptr<SamplerStep> (*make)(const SamplerSetup& setup);
};
std::span<const StepRow> sampler_steps();

std::unique_ptr<SamplerStep> make_penalties(const SamplerSetup& setup);
std::unique_ptr<SamplerStep> make_dry(const SamplerSetup& setup);
std::unique_ptr<SamplerStep> make_top_k(const SamplerSetup& setup);
std::unique_ptr<SamplerStep> make_typical(const SamplerSetup& setup);
std::unique_ptr<SamplerStep> make_top_p(const SamplerSetup& setup);
std::unique_ptr<SamplerStep> make_min_p(const SamplerSetup& setup);
std::unique_ptr<SamplerStep> make_xtc(const SamplerSetup& setup);
std::unique_ptr<SamplerStep> make_temperature(const SamplerSetup& setup);

// `valid` is false for NaN when it is written as a comparison that must hold.
template <class T>
void check_option(bool valid, std::string_view name, T value, std::string_view range) {
  if (!valid) throw_error(ErrorCode::kInvalidArgument, "{}: {} is not {}", name, value, range);
}

}  // namespace ingle
