// What a reranker's classifier gives, as one number between 0 and 1: how well a text answers a question.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "ingle/model.h"

namespace ingle::app {

class Relevance {
 public:
  // By the labels of the classifier: there is one, or there are yes and no. Throws Error{kUnsupported} for a model that
  // has none, or others.
  explicit Relevance(const ModelInfo& info);
  // The logistic function of the one number; of two, the share of yes.
  double operator()(std::span<const float> scores) const;

 private:
  std::optional<size_t> yes_;  // which of two it is
};

}  // namespace ingle::app
