// Random weights, made as quickly as memory takes them: not numbers that are then quantised, but the bits of quantised
// blocks. The same seed and name give the same bytes on every machine, whoever asks for which rows in which order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "quant/format.h"

namespace ingle {

// Whether there can be a RandomTensor of the type: all types that can be written, but Q8_K, which is for activations.
bool can_be_random(const Format& format) noexcept;

// One tensor's rows. Immutable and thread-safe.
class RandomTensor {
 public:
  struct Spread {
    double mean = 0, deviation = 0;  // a mean other than 0 is for f32 only
  };
  // `seed` and `name` choose the numbers. `format` can be random and its blocks divide `columns`.
  RandomTensor(uint64_t seed, std::string_view name, const Format& format, int64_t columns, Spread spread);

  void fill(int64_t first_row, int64_t rows, std::byte* out) const noexcept;

  struct Recipe {  // what making a row needs to know
    Spread spread;
    int64_t columns = 0;
    const Format* format = nullptr;
    // For formats with scales: a few to choose from, around the size that gives the deviation; f16.
    uint16_t scales[16] = {}, offsets[16] = {};
    std::vector<std::byte> pool;  // for formats that are encoded: blocks to choose from
    int64_t pool_blocks = 0;
  };

 private:
  using FillRow = void (*)(const Recipe& recipe, uint64_t key, std::byte* out) noexcept;

  uint64_t key_;
  Recipe recipe_;
  FillRow fill_row_;
};

}  // namespace ingle
