// Any bytes may be decoded as any format, and any floats that come of it encoded as any other, without undefined
// behaviour. Input: the id of the format that the bytes are, that of the one to write (top bit: with importance), then
// blocks.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "quant/format.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ingle;
  if (size < 2) return 0;
  const Format* from_or_none = find_format(DType{data[0]});
  const Format* to_or_none = find_format(DType{data[1] & 127u});
  if (from_or_none == nullptr || to_or_none == nullptr) return 0;
  const Format &from = *from_or_none, &to = *to_or_none;
  const bool with_importance = (data[1] & 128) != 0;
  const auto blocks = static_cast<int64_t>((size - 2) / from.block_bytes);
  if (blocks == 0 || blocks * from.block_elements > 4096) return 0;

  // Rows are padded with zeros to what every format can write.
  const int64_t n = blocks * from.block_elements;
  std::vector<float> x(static_cast<size_t>((n + 255) / 256 * 256));
  from.decode(reinterpret_cast<const std::byte*>(data + 2), x.data(), n);

  if (to.encode == nullptr) return 0;
  const auto padded = static_cast<int64_t>(x.size());
  std::vector<float> importance(x.rbegin(), x.rend());  // as hostile as the row
  std::vector<std::byte> row(to.row_bytes(padded));
  to.encode(x.data(), row.data(), padded, with_importance ? importance.data() : nullptr);
  to.decode(row.data(), x.data(), padded);
  return 0;
}
