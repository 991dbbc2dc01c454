// Runs the chain, then draws. What the steps are and what each does is theirs to know (sampler_step.h).
#include "runtime/sampler.h"

#include <algorithm>
#include <limits>

#include "runtime/mirostat.h"
#include "runtime/portable_math.h"
#include "runtime/sampler_step.h"

namespace ingle {
namespace {

void check_setup(const SamplerSetup& setup) {
  const SamplerOptions& o = setup.options;
  check_option(setup.vocab >= 1, "vocab", setup.vocab, "1 or more");
  check_option(o.min_keep >= 1, "min_keep", o.min_keep, "1 or more");
  check_option(o.mirostat == 0 || o.mirostat == 2, "mirostat", o.mirostat, "0 (off) or 2");
  for (const auto& [token, bias] : o.logit_bias) {
    check_option(token >= 0 && token < setup.vocab, "logit_bias token", token, fmt::format("in [0, {})", setup.vocab));
    check_option(bias < std::numeric_limits<float>::infinity(), "logit_bias", bias, "a number or -infinity");
  }
  for (auto name = o.order.begin(); name != o.order.end(); ++name) {
    const auto rows = sampler_steps();
    if (std::none_of(rows.begin(), rows.end(), [&](const StepRow& row) { return row.name == *name; })) {
      std::string known;
      for (const StepRow& row : rows) known += fmt::format("{}{}", known.empty() ? "" : ", ", row.name);
      throw_error(ErrorCode::kInvalidArgument, "order: unknown sampler '{}'; known are {}", *name, known);
    }
    if (std::find(o.order.begin(), name, *name) != name)
      throw_error(ErrorCode::kInvalidArgument, "order: '{}' is there twice", *name);
  }
}

}  // namespace

struct Sampler::State {
  State(const SamplerSetup& setup);

  void run_chain(std::span<const float> logits, Random& random);
  size_t draw(Random& random);

  int32_t vocab;
  bool greedy;
  uint64_t seed;
  std::vector<std::pair<TokenId, float>> bias;
  std::vector<std::unique_ptr<SamplerStep>> chain;
  std::optional<Mirostat> mirostat;
  Random random;
  Candidates candidates;
  std::vector<double> weights;  // of candidates.list(), while drawing
};

Sampler::State::State(const SamplerSetup& setup)
    : vocab(setup.vocab),
      greedy(setup.options.temperature == 0),
      seed(setup.options.seed),
      bias(setup.options.logit_bias),
      random(setup.options.seed) {
  const SamplerOptions& options = setup.options;
  check_setup(setup);
  // Every step is made, so that every option is checked whether its step is in the chain or not.
  std::vector<std::unique_ptr<SamplerStep>> made;
  for (const StepRow& row : sampler_steps()) made.push_back(row.make(setup));
  const bool filters = !greedy && options.mirostat == 0;
  for (const std::string& name : options.order) {
    for (size_t i = 0; i < made.size(); ++i) {
      const StepRow& row = sampler_steps()[i];
      if (row.name == name && made[i] && (filters || row.kind == StepKind::kLogits))
        chain.push_back(std::move(made[i]));
    }
  }
  const Mirostat checked(options);
  if (!greedy && options.mirostat == 2) mirostat = checked;
}

void Sampler::State::run_chain(std::span<const float> logits, Random& random) {
  if (logits.size() != static_cast<size_t>(vocab))
    throw_error(ErrorCode::kInvalidArgument, "logits: {} of them, the vocabulary has {}", logits.size(), vocab);
  candidates.start(logits);
  for (const auto& [token, amount] : bias) candidates.add(token, amount);
  for (const auto& step : chain) step->apply(candidates, random);
  if (mirostat) mirostat->filter(candidates);
}

// The index in candidates.list() of one drawn by its weight.
size_t Sampler::State::draw(Random& random) {
  candidates.fill_weights(weights);
  double total = 0;
  for (const double w : weights) total += w;
  // The walk adds in the same order, so it ends at exactly `total`. The mark can be rounded up to `total` when the draw
  // is almost 1: the last token with any weight stands for that.
  const double mark = random.uniform() * total;
  double sum = 0;
  size_t drawn = 0;
  for (size_t i = 0; i < weights.size() && sum <= mark; ++i) {
    if (weights[i] == 0) continue;
    sum += weights[i];
    drawn = i;
  }
  return drawn;
}

Sampler::Sampler(const SamplerOptions& options, int32_t vocab, std::vector<TokenId> dry_breakers)
    : state_(std::make_unique<State>(SamplerSetup{options, vocab, dry_breakers})) {}
Sampler::~Sampler() = default;
Sampler::Sampler(Sampler&&) noexcept = default;

TokenId Sampler::sample(std::span<const float> logits) {
  State& s = *state_;
  s.run_chain(logits, s.random);
  if (s.greedy) return s.candidates.best();
  const size_t drawn = s.draw(s.random);
  const Candidate& c = s.candidates.list()[drawn];
  if (s.mirostat) {
    const double log_total = portable_log(s.candidates.total_weight());
    s.mirostat->learn((log_total - s.candidates.log_weight(c)) / kLn2);
  }
  return c.id;
}

void Sampler::accept(TokenId token) {
  State& s = *state_;
  if (token < 0 || token >= s.vocab)
    throw_error(ErrorCode::kInvalidArgument, "token {} is not in the vocabulary of {}", token, s.vocab);
  for (const auto& step : s.chain) step->accept(token);
}

void Sampler::reset() {
  State& s = *state_;
  s.random = Random(s.seed);
  for (const auto& step : s.chain) step->reset();
  if (s.mirostat) s.mirostat->reset();
}

std::vector<std::pair<TokenId, float>> Sampler::distribution(std::span<const float> logits) {
  State& s = *state_;
  Random random = s.random;  // a copy: XTC's coin falls as it will in the next sample(), which is not used up
  s.run_chain(logits, random);
  if (s.greedy) return {{s.candidates.best(), 1.0f}};
  s.candidates.keep_top(s.candidates.size());
  const double total = s.candidates.total_weight();
  std::vector<std::pair<TokenId, float>> result;
  for (const Candidate& c : s.candidates.list())
    result.emplace_back(c.id, static_cast<float>(s.candidates.weight(c) / total));
  return result;
}

}  // namespace ingle
