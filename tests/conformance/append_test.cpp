// What a step writes into the cache depends neither on how many of its rows come at once (kernels take up to sixteen)
// nor on where keys are turned.
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

  void append(Ops& ops, int32_t first, int32_t count, const Rope* rope = nullptr) {
    Step step;
    step.add_run(0, first, count);
    ops.append(cache.layer(), Ops::split_heads(k.tensor(count, first), kHeads),
               Ops::split_heads(v.tensor(count, first), kHeads), step.set(), rope);
  }
  // As two operations.
  void turn_and_append(Ops& ops, int32_t first, int32_t count, const Rope& rope) {
    Step step;
    step.add_run(0, first, count);
    ops.rope(Ops::split_heads(k.tensor(count, first), kHeads), step.set().positions, rope);
    append(ops, first, count);
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

TEST_P(AppendTest, KeysTurnOnTheirWayInAsTheyWouldBefore) {
  const auto backend = GetParam().backend();
  for (DType type : kCacheTypes) {
    for (Rope::Pairs pairs : {Rope::Pairs::kAdjacent, Rope::Pairs::kHalves}) {
      for (int64_t rotated : {64, 34, 0}) {
        Rope rope{.pairs = pairs, .rotated = rotated, .magnitude = 1.25f};
        for (int64_t i = 0; i < rotated / 2; ++i)
          rope.inverse_frequency.push_back(1.0f / static_cast<float>(1 + 3 * i));
        for (int32_t batch : {1, 4, 7, 100}) {
          constexpr int32_t kPositions = 100;
          const auto ops = backend->make_ops();
          Written before(*backend, type, 64, 64, kPositions), within(*backend, type, 64, 64, kPositions);
          const std::vector<float> keys = within.k.values;
          for (int32_t p = 0; p < kPositions; p += batch) {
            const int32_t count = std::min(batch, kPositions - p);
            ops->begin_step();
            before.turn_and_append(*ops, p, count, rope);
            ops->begin_step();
            within.append(*ops, p, count, &rope);
          }
          EXPECT_EQ(within.k.values, keys);
          ASSERT_TRUE(same(within.cache.bytes(), before.cache.bytes()))
              << format_of(type).name << ", " << rotated << " channels turned, " << batch << " at once";
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Isa, AppendTest, testing::ValuesIn(every_machine()), machine_name);

}  // namespace
}  // namespace ingle::conformance
