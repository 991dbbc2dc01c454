// The loops that say what a machine can do at most: on every instruction set there is something to hold every kind of
// product against, and reading stays inside what it is given. (How fast they are is nothing a test can know.)
#include <gtest/gtest.h>

#include "backend/cpu/ceilings.h"
#include "tests/conformance/machine.h"

namespace ingle::conformance {
namespace {

class Ceilings : public OnMachine {};

TEST_P(Ceilings, EveryKindOfProductIsMeasuredOnce) {
  ThreadPool pool(GetParam().threads);
  const DeviceCeilings ceilings =
      cpu::measure_ceilings(*GetParam().kernels, pool, {.seconds_each = 1e-4, .read_bytes = 256 << 10});
  std::vector<int> bits;
  for (const DeviceCeilings::Product& product : ceilings.products) {
    bits.push_back(product.bits);
    EXPECT_GT(product.multiply_adds_per_second, 0) << product.bits;
  }
  EXPECT_TRUE(std::is_sorted(bits.begin(), bits.end()));
  EXPECT_EQ(std::adjacent_find(bits.begin(), bits.end()), bits.end());
  EXPECT_EQ(std::count(bits.begin(), bits.end(), 8), 1);
  EXPECT_EQ(std::count(bits.begin(), bits.end(), 32), 1);
  EXPECT_GT(ceilings.read_bytes_per_second, 0);
}

TEST_P(Ceilings, TheBitsOfEveryPackedFormatHaveACeiling) {
  const cpu::CpuKernels& k = *GetParam().kernels;
  for (int i = 0; i < k.int_format_count; ++i) {
    EXPECT_GE(k.int_formats[i].bits, 1) << k.int_formats[i].name;
    EXPECT_LE(k.int_formats[i].bits, 8) << k.int_formats[i].name;
  }
}

TEST_P(Ceilings, WorkGrowsWithRepeats) {
  const cpu::CpuKernels& k = *GetParam().kernels;
  for (int i = 0; i < k.peak_count; ++i) {
    const int64_t once = k.peaks[i].run(1);
    EXPECT_GT(once, 0);
    EXPECT_EQ(k.peaks[i].run(3), 3 * once);
    EXPECT_EQ(k.peaks[i].run(0), 0);
  }
}

TEST_P(Ceilings, ReadingStaysInside) {
  for (const size_t bytes : {size_t{0}, size_t{64}, size_t{960}, size_t{1024}, size_t{1088}, size_t{4160}}) {
    const std::vector<uint8_t> memory(bytes, 1);  // an address sanitizer sees a step beyond
    GetParam().kernels->read_all(memory.data(), bytes);
  }
}

INSTANTIATE_TEST_SUITE_P(EveryIsa, Ceilings, testing::ValuesIn(every_machine()), machine_name);

}  // namespace
}  // namespace ingle::conformance
