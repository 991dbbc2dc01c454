// One thing a benchmark measures: how many tokens are read and generated, by how many sequences.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ingle::app {

struct BenchTest {
  int64_t prompt = 0, generate = 0;  // tokens a sequence reads at once, then one by one
  int64_t depth = 0;                 // tokens in its context before the clock starts
  int64_t sequences = 1;             // that do so together
  bool ragged = false;               // prompts and depths differ between sequences; in the middle they are the above
  // `sequences` prompts arrive while as many other sequences generate, until the prompts are read; `generate` is 0.
  bool mixed = false;

  std::string name() const;     // "pp512", "tg128 x4", "pp~512+tg128 x4 @ d1024", "pp512 x4 with tg x4"
  BenchTest shortened() const;  // for warming up: enough tokens to touch all weights in the same way
  int64_t sequences_in_all() const { return mixed ? 2 * sequences : sequences; }
  bool operator==(const BenchTest&) const = default;
};

// `count` numbers around `size`: all the same, or from size / 2 to 3 / 2 size with the same sum; the same for the same
// seed.
std::vector<int64_t> spread_sizes(int64_t size, int64_t count, bool ragged, uint64_t seed);

// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): the same numbers on every machine.
uint64_t next_random(uint64_t& state);

}  // namespace ingle::app
