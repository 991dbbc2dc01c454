// Thirty-two elements as whole numbers and their scales: y[i] = scale[i / 16] * q[i]. What a product of bytes takes
// from the formats whose elements stand in codebooks or share bytes in ways that no kernel takes apart by itself.
#pragma once

#include <cstdint>

namespace ingle {

struct Codes {
  alignas(8) int8_t q[32];
  float scale[2];
};

}  // namespace ingle
