// What a step writes into the cache does not depend on how many of its rows come at once: kernels take up to sixteen.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tests/conformance/cache.h"
#include "tests/conformance/data.h"
#include "tests/conformance/machine.h"

namespace ingle::conformance {
namespace {

using AppendTest = OnMachine;

constexpr DType kCacheTypes[] = {DType::kF32, DType::kF16, DType::kI16, DType::kQ8_0, DType::kQ4_0};

// A cache that 0, 1, 2, ... positions of a sequence go into, and their keys and values.
struct Written {
  Written(const Backend& backend, DType type, int64_t k_dim, int64_t v_dim, int32_t positions)
      : cache(backend.kv_layout(type, type, kHeads, k_dim, v_dim), {{0, positions}}),
        k(positions, kHeads * k_dim, 1),
        v(positions, kHeads * v_dim, 2) {}

  void append(Ops& ops, int32_t first, int32_t count) {
    Step step;
    step.add_run(0, first, count);
    ops.append(cache.layer(), Ops::split_heads(k.tensor(count, first), kHeads),
               Ops::split_heads(v.tensor(count, first), kHeads), step.set());
  }

  static constexpr int64_t kHeads = 2;
  Cache cache;
  Rows k, v;
};

bool same(std::span<const std::byte> a, std::span<const std::byte> b) { return std::ranges::equal(a, b); }

TEST_P(AppendTest, RowsTogetherAreWrittenAsOneByOne) {
  const auto backend = GetParam().backend();
  const auto ops = backend->make_ops();
  for (DType type : kCacheTypes) {
    for (const auto& [k_dim, v_dim] : {std::pair<int64_t, int64_t>{64, 64}, {15, 20}, {17, 33}, {96, 128}}) {
      constexpr int32_t kPositions = 150;
      Written alone(*backend, type, k_dim, v_dim, kPositions);
      for (int32_t p = 0; p < kPositions; ++p) alone.append(*ops, p, 1);
      for (int32_t batch : {2, 5, 16, 64, 150}) {
        Written together(*backend, type, k_dim, v_dim, kPositions);
        for (int32_t p = 0; p < kPositions; p += batch) together.append(*ops, p, std::min(batch, kPositions - p));
        ASSERT_TRUE(same(together.cache.bytes(), alone.cache.bytes()))
            << format_of(type).name << ", " << k_dim << " and " << v_dim << " channels, " << batch << " at once";
      }
    }
  }
}

// The whole range of scales: rows of zeros, and numbers that no scale of the type can say.
TEST_P(AppendTest, RowsOfZerosAndTinyNumbersGiveFiniteResults) {
  const auto backend = GetParam().backend();
  const auto ops = backend->make_ops();
  constexpr float kHalfStep = 8 * 0x1p-25f;  // of the smallest scale that an f16 can say, at q4_0's largest integer
  for (DType type : kCacheTypes) {
    for (float factor : {0.0f, 1e-42f, 1e-30f, 1e-7f}) {
      Written w(*backend, type, 64, 64, 20);
      for (float& x : w.k.values) x *= factor;
      for (float& x : w.v.values) x *= factor;
      ops->begin_step();
      w.append(*ops, 0, 20);
      Rows q(20, Written::kHeads * 64, 3);
      Step step;
      step.add_run(0, 0, 20);
      const Tensor result =
          ops->attention(Ops::split_heads(q.tensor(20), Written::kHeads), w.cache.layer(), step.set(), {.scale = 0.2f});
      for (int64_t i = 0; i < result.shape.elements(); ++i) {
        ASSERT_LE(std::fabs(result.data[i]), 4 * factor + kHalfStep)
            << format_of(type).name << ", numbers of " << factor;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Isa, AppendTest, testing::ValuesIn(every_machine()), machine_name);

}  // namespace
}  // namespace ingle::conformance
