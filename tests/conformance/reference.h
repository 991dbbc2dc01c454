// What the operations mean, in double precision and without any kernel: the definitions that every instruction set is
// compared with.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <span>
#include <string_view>
#include <vector>

#include "backend/backend.h"
#include "base/half.h"
#include "tests/conformance/data.h"

namespace ingle::conformance {

// A row as the int8 product sees it: per 32, scale = amax / 127, x to the nearest multiple (ties to even); with a fine
// input what is left over, to the nearest 254th of a step.
inline std::vector<double> int8_row(const float* x, int64_t n, bool fine) {
  std::vector<double> result(static_cast<size_t>(n));
  for (int64_t begin = 0; begin < n; begin += 32) {
    float amax = 0.0f;
    for (int64_t i = begin; i < begin + 32; ++i) amax = std::max(amax, std::fabs(x[i]));
    const float scale = amax / 127.0f, inverse = amax > 0.0f ? 127.0f / amax : 0.0f;
    for (int64_t i = begin; i < begin + 32; ++i) {
      const float steps = x[i] * inverse, whole = std::nearbyint(steps);
      const double rest = fine ? std::clamp(std::nearbyint((steps - whole) * 254.0f), -127.0f, 127.0f) / 254.0 : 0.0;
      result[static_cast<size_t>(i)] = static_cast<double>(scale) * (whole + rest);
    }
  }
  return result;
}

inline bool takes_int8(const Matrix& m) { return m.layout.find("int8") != std::string::npos; }

inline double dot(const double* a, const double* b, int64_t n) { return std::transform_reduce(a, a + n, b, 0.0); }

// x W^T + bias of rows [rows, in], by the definition that belongs to the layout of `m`. `error` is what a result may be
// away by: 1e-5 of |x| |w| / sqrt(n), the size that a sum of n such terms with random signs has.
struct Product {
  Product(const Matrix& m, const Weights& w, const float* x, int64_t rows, const float* bias, bool fine = false)
      : out(w.rows), values(static_cast<size_t>(rows * w.rows)), errors(values.size()) {
    const int64_t n = w.columns;
    const bool rounded_to_half = m.layout.starts_with("f16 ");  // what has no packed kernel is kept in f16
    std::vector<double> weights(static_cast<size_t>(w.rows * n)), weight_sizes(static_cast<size_t>(w.rows));
    for (size_t i = 0; i < weights.size(); ++i) {
      weights[i] = rounded_to_half ? f16_to_f32(f32_to_f16(w.decoded[i])) : w.decoded[i];
    }
    for (int64_t o = 0; o < w.rows; ++o) {
      const double* row = weights.data() + o * n;
      weight_sizes[static_cast<size_t>(o)] = std::sqrt(dot(row, row, n));
    }
    for (int64_t r = 0; r < rows; ++r) {
      const std::vector<double> row =
          takes_int8(m) ? int8_row(x + r * n, n, fine) : std::vector<double>(x + r * n, x + r * n + n);
      const double size = std::sqrt(dot(row.data(), row.data(), n));
      for (int64_t o = 0; o < w.rows; ++o) {
        const auto i = static_cast<size_t>(r * w.rows + o);
        values[i] = dot(row.data(), weights.data() + o * n, n) + (bias == nullptr ? 0.0 : bias[o]);
        errors[i] = 1e-5 * size * weight_sizes[static_cast<size_t>(o)] / std::sqrt(static_cast<double>(n));
        if (bias != nullptr) errors[i] += 1e-6 * std::fabs(bias[o]);
      }
    }
  }
  double value(int64_t row, int64_t column) const { return values[static_cast<size_t>(row * out + column)]; }
  double error(int64_t row, int64_t column) const { return errors[static_cast<size_t>(row * out + column)]; }

  int64_t out;
  std::vector<double> values, errors;
};

inline double silu(double x) { return x / (1.0 + std::exp(-x)); }
inline double gelu(double x) { return 0.5 * x * (1.0 + std::tanh(std::sqrt(2.0 / M_PI) * (x + 0.044715 * x * x * x))); }

// down(act(gate x) * (up x)) of rows. Hidden values go through one rounding to bytes where `down` takes bytes. Where a
// kernel's hidden number differs in its last digits, that rounding may fall to the other side, so a result may be off
// by a step of one hidden number; the rest of `error` is rounding as in any product.
struct GatedProduct {
  struct Part {
    const Matrix& matrix;
    const Weights& weights;
    const float* bias = nullptr;
    bool fine = false;
  };
  GatedProduct(const Part& gate, const Part& up, const Part& down, Activation act, const float* x, int64_t rows)
      : out(down.weights.rows) {
    const Product gates(gate.matrix, gate.weights, x, rows, gate.bias, gate.fine),
        ups(up.matrix, up.weights, x, rows, up.bias, up.fine);
    const int64_t n = down.weights.columns;
    std::vector<float> hidden(static_cast<size_t>(rows * n));
    for (size_t i = 0; i < hidden.size(); ++i) {
      const double a = act == Activation::kSilu ? silu(gates.values[i]) : gelu(gates.values[i]);
      hidden[i] = static_cast<float>(a * ups.values[i]);
    }
    Product result(down.matrix, down.weights, hidden.data(), rows, down.bias, down.fine);
    values = std::move(result.values);
    errors = std::move(result.errors);
    std::vector<double> largest(static_cast<size_t>(out));  // weight of an output
    for (int64_t o = 0; o < out; ++o) {
      for (int64_t i = 0; i < n; ++i) {
        double& size = largest[static_cast<size_t>(o)];
        size = std::max(size, std::fabs(static_cast<double>(down.weights.row(o)[i])));
      }
    }
    for (int64_t r = 0; r < rows; ++r) {
      double step = 0;  // of the coarsest block; 0 where nothing is rounded
      for (int64_t i = 0; takes_int8(down.matrix) && i < n; ++i)
        step = std::max(step, std::fabs(static_cast<double>(hidden[static_cast<size_t>(r * n + i)])) / 127.0);
      for (int64_t o = 0; o < out; ++o) {
        double& error = errors[static_cast<size_t>(r * out + o)];
        // 4: the hidden numbers themselves are products of sums, each with an error of its own.
        error = 4 * error + 1.01 * step * largest[static_cast<size_t>(o)];
      }
    }
  }
  double value(int64_t row, int64_t column) const { return values[static_cast<size_t>(row * out + column)]; }
  double error(int64_t row, int64_t column) const { return errors[static_cast<size_t>(row * out + column)]; }

  int64_t out;
  std::vector<double> values, errors;
};

// A head's row as a cache of this type gives it back.
inline std::vector<double> cached(DType type, const float* x, int64_t n) {
  std::vector<double> result(x, x + n);
  if (type == DType::kF16) {
    for (double& v : result) v = f16_to_f32(f32_to_f16(static_cast<float>(v)));
  } else if (type == DType::kQ8_0) {  // per 32 channels (or what is left): scale = f16(amax / 127)
    for (int64_t begin = 0; begin < n; begin += 32) {
      const int64_t end = std::min(n, begin + 32);
      float amax = 0.0f;
      for (int64_t i = begin; i < end; ++i) amax = std::max(amax, std::fabs(x[i]));
      const float scale = f16_to_f32(f32_to_f16(amax / 127.0f)), inverse = amax > 0.0f ? 127.0f / amax : 0.0f;
      for (int64_t i = begin; i < end; ++i) {
        result[static_cast<size_t>(i)] = static_cast<double>(scale) * std::nearbyint(x[i] * inverse);
      }
    }
  }
  return result;
}

// Keys and values of one head of one sequence, by position.
struct History {
  std::vector<std::vector<double>> k, v;
};

// One query at `position`.
inline std::vector<double> attend(const float* q, const History& history, int32_t position,
                                  const AttentionOptions& options) {
  const int32_t first = options.window > 0 ? std::max(0, position - options.window + 1) : 0;
  std::vector<double> scores;
  for (int32_t p = first; p <= position; ++p) {
    const std::vector<double>& key = history.k[static_cast<size_t>(p)];
    double score = 0;
    for (size_t d = 0; d < key.size(); ++d) score += static_cast<double>(q[d]) * key[d];
    score *= options.scale;
    if (options.soft_cap > 0) score = options.soft_cap * std::tanh(score / options.soft_cap);
    scores.push_back(score);
  }
  const double top = *std::max_element(scores.begin(), scores.end());
  double total = 0;
  for (double& s : scores) total += s = std::exp(s - top);
  std::vector<double> result(history.v[0].size());
  for (int32_t p = first; p <= position; ++p) {
    const double weight = scores[static_cast<size_t>(p - first)] / total;
    for (size_t d = 0; d < result.size(); ++d) result[d] += weight * history.v[static_cast<size_t>(p)][d];
  }
  return result;
}

}  // namespace ingle::conformance
