#include "apps/ingle/perplexity/tensor_divergence.h"

#include <vector>

#include "apps/ingle/perplexity/distribution.h"
#include "ingle/tensor_swap.h"

namespace ingle::app {

std::map<std::string, double> divergence_by_tensor(Session& session, const std::filesystem::path& other,
                                                   std::span<const std::string> tensors, const Windows& windows,
                                                   const std::function<void(size_t count)>& after) {
  std::vector<std::vector<float>> expected;
  const auto nothing = [](int64_t) {};
  score_windows(
      session, windows,
      [&](int64_t, std::span<const float> logits, TokenId) { expected.emplace_back(logits.begin(), logits.end()); },
      nothing);
  TensorSwap swap(session, other);
  std::map<std::string, double> divergence;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (swap.take(tensors[i])) {
      size_t row = 0;
      double sum = 0;
      score_windows(
          session, windows,
          [&](int64_t, std::span<const float> logits, TokenId) { sum += kl_divergence(expected[row++], logits); },
          nothing);
      divergence[tensors[i]] = sum / static_cast<double>(expected.size());
    }
    after(i + 1);
  }
  return divergence;
}

}  // namespace ingle::app
