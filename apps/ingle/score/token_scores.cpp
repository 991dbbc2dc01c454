#include "apps/ingle/score/token_scores.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "apps/ingle/signals.h"

namespace ingle::app {
namespace {

// Exponentials in double too, other than perplexity's: these figures are shown one by one, not as the mean of many.
double log_sum_exp_double(std::span<const float> logits) {
  const double largest = *std::ranges::max_element(logits);
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - largest);
  return largest + std::log(sum);
}

// The order must hold for broken weights too, and NaN has none.
float in_order(float logit) { return std::isnan(logit) ? -std::numeric_limits<float>::infinity() : logit; }

std::vector<TokenId> likeliest(std::span<const float> logits, size_t count) {
  std::vector<TokenId> ids(logits.size());
  std::iota(ids.begin(), ids.end(), 0);
  count = std::min(count, ids.size());
  std::ranges::partial_sort(ids, ids.begin() + static_cast<ptrdiff_t>(count), [&](TokenId a, TokenId b) {
    const float x = in_order(logits[static_cast<size_t>(a)]), y = in_order(logits[static_cast<size_t>(b)]);
    return x != y ? x > y : a < b;
  });
  ids.resize(count);
  return ids;
}

}  // namespace

TokenScore score_token(std::span<const float> logits, TokenId token, size_t top) {
  const double norm = log_sum_exp_double(logits);
  const float own = logits[static_cast<size_t>(token)];
  TokenScore score{.token = token,
                   .log_probability = own - norm,
                   .rank = 1 + std::ranges::count_if(logits, [own](float logit) { return logit > own; }),
                   .top = {}};
  if (top == 0) return score;
  for (const TokenId id : likeliest(logits, top)) score.top.push_back({id, logits[static_cast<size_t>(id)] - norm});
  return score;
}

std::vector<TokenScore> score_tokens(Session& session, std::span<const TokenId> tokens, size_t top,
                                     const std::function<void(size_t count)>& after) {
  std::vector<TokenScore> scores;
  scores.reserve(tokens.size() - 1);
  session.set_cancel(interrupted);
  const SequenceId sequence = session.create();
  const RunRequest run{.sequence = sequence, .tokens = tokens.first(tokens.size() - 1), .want = Want::kAll};
  session.evaluate({&run, 1}, [&](const ResultRow& row) {
    scores.push_back(score_token(row.logits, tokens[static_cast<size_t>(row.position) + 1], top));
    if (after) after(scores.size());
  });
  session.release(sequence);
  return scores;
}

}  // namespace ingle::app
