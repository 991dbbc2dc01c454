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

inline double activated(Activation act, double gate, double up) {
  if (act == Activation::kSilu) return silu(gate) * up;
  if (act == Activation::kGelu) return gelu(gate) * up;
  const double g = std::min(gate, 7.0), u = std::max(-7.0, std::min(up, 7.0));
  return g / (1.0 + std::exp(-1.702 * g)) * (u + 1);
}
inline const char* name_of(Activation act) {
  return act == Activation::kSilu ? "silu" : act == Activation::kGelu ? "gelu" : "clamped silu";
}

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
      hidden[i] = static_cast<float>(activated(act, gates.values[i], ups.values[i]));
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

enum class CachePart { kKey, kValue };

// What one step of an i16 cache's integers is worth: a key has length 32767, a value's largest is 4095. 0 for other
// types.
inline double cache_step(DType type, CachePart part, const float* x, int64_t n) {
  if (type != DType::kI16) return 0.0;
  double squares = 0, amax = 0;
  for (int64_t i = 0; i < n; ++i) {
    squares += static_cast<double>(x[i]) * x[i];
    amax = std::max(amax, std::fabs(static_cast<double>(x[i])));
  }
  return part == CachePart::kKey ? std::sqrt(squares) / 32767.0 : amax / 4095.0;
}

inline double to_steps(double x, double step) { return step > 0 ? std::nearbyint(x / step) * step : 0.0; }

// A head's row as a cache of this type gives it back.
inline std::vector<double> cached(DType type, CachePart part, const float* x, int64_t n) {
  std::vector<double> result(x, x + n);
  if (type == DType::kF16) {
    for (double& v : result) v = f16_to_f32(f32_to_f16(static_cast<float>(v)));
  } else if (type == DType::kI16) {
    const double step = cache_step(type, part, x, n);
    for (double& v : result) v = to_steps(v, step);
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
  } else if (type == DType::kQ4_0) {  // the same, with the largest at -8
    for (int64_t begin = 0; begin < n; begin += 32) {
      const int64_t end = std::min(n, begin + 32);
      const float* largest =
          std::max_element(x + begin, x + end, [](float a, float b) { return std::fabs(a) < std::fabs(b); });
      const float d = *largest / -8.0f, inverse = d != 0.0f ? 1.0f / d : 0.0f, scale = f16_to_f32(f32_to_f16(d));
      for (int64_t i = begin; i < end; ++i) {
        const double level = std::min(static_cast<double>(x[i] * inverse) + 8.0, 15.0);
        result[static_cast<size_t>(i)] = static_cast<double>(scale) * (std::nearbyint(level) - 8.0);
      }
    }
  }
  return result;
}

// Keys and values of one head of one sequence, by position, and their steps.
struct History {
  std::vector<std::vector<double>> k, v;
  std::vector<double> k_step, v_step;
};

// One query of head `head` at `position`. `error` is what a result may be away by.
struct Attended {
  Attended(const float* query, int64_t head, const History& history, int32_t position,
           const AttentionOptions& options) {
    const int32_t first = options.window > 0 ? std::max(0, position - options.window + 1) : 0;
    const auto n = static_cast<int64_t>(history.k[0].size());
    // Where keys and values are both 16-bit integers, a scaled query becomes such too, and so do weights.
    const bool integers = history.k_step[0] > 0 && history.v_step[0] > 0;
    std::vector<double> q(query, query + n);
    const double q_step = integers ? cache_step(DType::kI16, CachePart::kKey, query, n) : 0.0;
    if (integers) std::transform(q.begin(), q.end(), q.begin(), [&](double x) { return to_steps(x, q_step); });

    std::vector<double> weights, flips;  // what a score changes by if an integer of its key and one of its query differ
    for (int32_t p = first; p <= position; ++p) {
      const std::vector<double>& key = history.k[static_cast<size_t>(p)];
      double score = options.scale * dot(q.data(), key.data(), n);
      if (options.soft_cap > 0) score = options.soft_cap * std::tanh(score / options.soft_cap);
      if (options.slopes != nullptr) score += static_cast<double>(options.slopes[head]) * (p - position);
      weights.push_back(score);
      flips.push_back(options.scale * (history.k_step[static_cast<size_t>(p)] * largest(q) + q_step * largest(key)));
    }
    double top = *std::max_element(weights.begin(), weights.end()), total = 0;
    if (options.sinks != nullptr) top = std::max(top, static_cast<double>(options.sinks[head]));
    for (double& w : weights) total += w = std::exp(w - top);
    if (options.sinks != nullptr) total += std::exp(options.sinks[head] - top);
    value.resize(history.v[0].size());
    for (size_t i = 0; i < weights.size(); ++i) {
      weights[i] /= total;
      for (size_t d = 0; d < value.size(); ++d) value[d] += weights[i] * history.v[static_cast<size_t>(first) + i][d];
    }

    // Rounding of floats: 1e-5, for an average of values of size 1 (at most 2 sqrt 3) whose weights carry the error of
    // a score of some units, and of exp. Integers are modelled above; where a float stands almost between two of them
    // the kernel may take the other, which is one in some hundred: one in each key, in the query, and two values.
    error.assign(value.size(), 1e-5);
    double value_flip = 0;
    for (size_t i = 0; i < weights.size(); ++i) {
      const auto p = static_cast<size_t>(first) + i;
      value_flip = std::max(value_flip, weights[i] * history.v_step[p]);
      for (size_t d = 0; d < value.size(); ++d)
        error[d] += weights[i] * flips[i] * std::fabs(history.v[p][d] - value[d]);
    }
    for (double& e : error) e += 2 * value_flip;
    // A weight (times its value's step) is rounded to half an 8191th of the largest of its row and block.
    for (int32_t begin = first / 64 * 64; integers && begin <= position; begin += 64) {
      const auto from = static_cast<size_t>(std::max(begin, first)),
                 end = static_cast<size_t>(std::min(begin + 63, position));
      double most = 0;
      for (size_t p = from; p <= end; ++p)
        most = std::max(most, weights[p - static_cast<size_t>(first)] * history.v_step[p]);
      for (size_t p = from; p <= end; ++p) {
        for (size_t d = 0; history.v_step[p] > 0 && d < value.size(); ++d)
          error[d] += 0.5 / 8191.0 * most * std::fabs(history.v[p][d] / history.v_step[p]);
      }
    }
  }
  static double largest(const std::vector<double>& x) {
    double most = 0;
    for (double v : x) most = std::max(most, std::fabs(v));
    return most;
  }

  std::vector<double> value, error;
};

}  // namespace ingle::conformance
