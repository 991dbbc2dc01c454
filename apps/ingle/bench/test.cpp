#include "apps/ingle/bench/test.h"

#include <fmt/format.h>

#include <algorithm>

namespace ingle::app {

uint64_t next_random(uint64_t& state) {
  uint64_t z = state += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

std::string BenchTest::name() const {
  const char* about = ragged ? "~" : "";
  std::string text;
  if (prompt > 0) text += fmt::format("pp{}{}", about, prompt);
  if (generate > 0) text += fmt::format("{}tg{}", text.empty() ? "" : "+", generate);
  if (sequences > 1 || mixed) text += fmt::format(" x{}", sequences);
  if (mixed) text += fmt::format(" with tg x{}", sequences);
  if (depth > 0) text += fmt::format(" @ d{}{}", about, depth);
  return text;
}

BenchTest BenchTest::shortened() const {
  BenchTest test = *this;
  test.generate = std::min<int64_t>(generate, 8);
  return test;
}

// In pairs, one as much longer as the other is shorter: so the sum stays, and no size leaves the range.
std::vector<int64_t> spread_sizes(int64_t size, int64_t count, bool ragged, uint64_t seed) {
  std::vector<int64_t> sizes(static_cast<size_t>(count), size);
  if (!ragged) return sizes;
  const auto most = static_cast<uint64_t>(size / 2);
  for (size_t i = 0; i + 1 < sizes.size(); i += 2) {
    const auto difference = static_cast<int64_t>(next_random(seed) % (most + 1));
    sizes[i] += difference;
    sizes[i + 1] -= difference;
  }
  return sizes;
}

}  // namespace ingle::app
