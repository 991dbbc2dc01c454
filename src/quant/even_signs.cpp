#include <bit>

#include "quant/codebooks.h"

namespace ingle {

namespace {

constexpr EvenSigns make_even_signs() {
  EvenSigns signs{};
  for (unsigned t = 0; t < 128; ++t) signs.bytes[t] = static_cast<uint8_t>(t | (std::popcount(t) & 1) << 7);
  return signs;
}

}  // namespace

constinit const EvenSigns kEvenSigns = make_even_signs();

}  // namespace ingle
