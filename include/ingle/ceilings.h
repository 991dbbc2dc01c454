// What a machine can do at most, and what a step of a model takes at least: together they say how fast it could be.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ingle {

struct CeilingOptions {
  double seconds_each = 0.1;                  // of measuring, for each figure
  uint64_t read_bytes = uint64_t{512} << 20;  // memory to read, well over what caches hold; less where memory is
                                              // short. 0: reading is not measured
};

// Measured with all threads of an engine at once, in the best of a few short rounds.
struct Ceilings {
  struct Int8 {
    int bits = 8;  // of the weights
    double multiply_adds_per_second = 0;
  };

  std::string isa;
  int threads = 0;
  double read_bytes_per_second = 0;  // from memory, on huge pages where there are any; 0: not measured
  // Integer products, by bits of the weights, ascending. One entry where fewer bits make none faster. (Without a dot
  // product instruction, products of weights of 4 bits can be added in 16 bits for longer than those of 8.)
  std::vector<Int8> int8;
  double f32_multiply_adds_per_second = 0;
  std::optional<double> bf16_multiply_adds_per_second;  // absent where no kernel has it
  std::optional<double> huge_pages;  // share of the memory read that lay on huge pages, where the system says

  // Of weights of so many bits: those of the next entry that has as many. 0 when nothing was measured.
  double int8_multiply_adds_per_second(int bits) const noexcept;
  // Of attention and of products with float weights.
  double float_multiply_adds_per_second() const noexcept;
};

// The higher of each figure: whatever disturbs a measurement makes it lower. Of the same engine.
Ceilings higher(const Ceilings& a, const Ceilings& b);

// What one micro-batch takes, whoever computes it. Rows that nobody needs are not in it, nor are experts that no row
// goes to. Norms, rotations, activations and softmax are left out, and every product counts once, whatever precision
// its input is taken to.
struct StepWork {
  int64_t rows = 0;                               // that come into the first layer
  std::array<double, 9> int8_multiply_adds = {};  // of products with quantised weights, by bits of the weights
  double float_multiply_adds = 0;                 // of products with float weights
  double attention_multiply_adds = 0;             // of visible pairs only
  double weight_bytes = 0;                        // every matrix once, as long as it is in the file; rows of tables
  double cache_bytes = 0;                         // every visible position of every cache once

  double multiply_adds() const noexcept;
};

// The time below which this cannot be done: the longer of computing everything at the ceiling of its kind and reading
// everything once. 0 when nothing was measured.
double floor_seconds(const StepWork& work, const Ceilings& ceilings) noexcept;

}  // namespace ingle
