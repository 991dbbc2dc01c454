// From the last hidden rows of a text to the one vector that stands for it, and how alike two of those are.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "ingle/session.h"

namespace ingle::app {

enum class Pooling { kMean, kCls, kLast };  // of all rows, the first row, the last row

std::string_view to_string(Pooling pooling) noexcept;                 // "mean", "cls", "last"
std::optional<Pooling> find_pooling(std::string_view name) noexcept;  // by that name
Want wanted_rows(Pooling pooling) noexcept;                           // what an evaluate() has to deliver

// Takes the wanted rows of one text in ascending position. Sums are double.
class Pooler {
 public:
  explicit Pooler(Pooling pooling) : pooling_(pooling) {}
  void add(std::span<const float> hidden);  // [d_model]
  // [d_model]; after at least one row. With `normalize` of length 1; a vector of zeros stays one.
  std::vector<float> embedding(bool normalize) const;

 private:
  Pooling pooling_;
  int64_t rows_ = 0;
  std::vector<double> sum_;  // kMean: of the rows; otherwise the last one given
};

// Of vectors of one length; exactly 1 for equal ones, 0 where one of them is all zeros.
double cosine(std::span<const float> a, std::span<const float> b);

}  // namespace ingle::app
