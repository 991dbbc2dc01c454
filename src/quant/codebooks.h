// The codebooks of the IQ1, IQ2 and IQ3 formats: constants of the file format, listed because no rule produces them.
#pragma once

#include <cstdint>
#include <cstring>

namespace ingle {

// points[index] is what a codebook index stands for: Width levels, element 0 first.
template <int Entries, int Width>
struct Codebook {
  alignas(8) int8_t points[Entries][Width];
};

extern const Codebook<256, 8> kCodebookIQ2_XXS;  // levels 8, 25, 43
extern const Codebook<512, 8> kCodebookIQ2_XS;   // levels 8, 25, 43
extern const Codebook<1024, 8> kCodebookIQ2_S;   // levels 8, 25, 43
extern const Codebook<2048, 8> kCodebookIQ1;     // levels -1, 0, 1; for IQ1_S and IQ1_M
extern const Codebook<256, 4> kCodebookIQ3_XXS;  // levels 4, 12, 20, 28, 36, 44, 52, 62
extern const Codebook<512, 4> kCodebookIQ3_S;    // levels 1, 3 .. 15

// Signs of eight elements from a 7-bit index (IQ2_XXS, IQ2_XS, IQ3_XXS): bit i set means element i is negative. Bit 7
// makes the number of negatives even, which is why it need not be stored.
struct EvenSigns {
  uint8_t bytes[128];
};
extern const EvenSigns kEvenSigns;

// Eight bytes at once.
inline uint64_t read_eight(const int8_t* p) noexcept {
  uint64_t x;
  std::memcpy(&x, p, sizeof(x));
  return x;
}
inline void write_eight(int8_t* p, uint64_t x) noexcept { std::memcpy(p, &x, sizeof(x)); }

// Byte i negative where bit i of `signs` is set. Every byte is above 0, so that nothing carries into the next one.
inline uint64_t with_signs(uint64_t bytes, uint8_t signs) noexcept {
  // Bit i to the lowest bit of byte i: the copies of `signs` that a product makes, each masked to its own bit.
  const uint64_t bits = (static_cast<uint64_t>(signs) * 0x0101010101010101u) & 0x8040201008040201u;
  const uint64_t ones = ((bits + 0x7f7f7f7f7f7f7f7fu) >> 7) & 0x0101010101010101u;
  return (bytes ^ (ones * 255)) + ones;
}

}  // namespace ingle
