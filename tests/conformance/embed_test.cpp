// Rows of embedding tables, whole or some of their columns, scaled, and added to what is there.
#include <fmt/format.h>

#include <cstring>

#include "tests/conformance/data.h"
#include "tests/conformance/machine.h"
#include "tests/conformance/reference.h"

namespace ingle::conformance {
namespace {

using EmbedTest = OnMachine;

const std::vector<DType> kTypes = {DType::kF32, DType::kF16, DType::kQ4_0, DType::kQ8_0, DType::kQ4_K};
constexpr int64_t kColumns = 768;

// One row, a few with one twice, and enough for several threads.
const std::vector<std::vector<int32_t>> kTokens = {{3}, {10, 0, 3, 3, 9}, std::vector<int32_t>(50, 7)};

// First column and count (0: the rest); all start and end at block borders.
std::vector<std::pair<int64_t, int64_t>> parts_of(DType type) {
  const int64_t block = format_of(type).block_elements;
  return {{0, 0}, {0, block}, {block, 0}, {block, block}, {2 * block, kColumns - 2 * block}, {kColumns - block, 0}};
}

TEST_P(EmbedTest, APartOfTheColumnsIsThatPartOfTheRow) {
  const auto backend = GetParam().backend();
  const auto ops = backend->make_ops();
  for (DType type : kTypes) {
    const Weights w(type, 11, kColumns, 1);
    const auto table = backend->table("per_layer_token_embd", w.view());
    for (const auto& [first, columns] : parts_of(type)) {
      const int64_t count = columns > 0 ? columns : kColumns - first;
      for (const std::vector<int32_t>& tokens : kTokens) {
        ops->begin_step();
        const Tensor x = ops->embed(*table, tokens, {.first_column = first, .columns = columns});
        ASSERT_EQ(x.shape, (Shape{static_cast<int64_t>(tokens.size()), count}));
        for (int64_t r = 0; r < x.rows(); ++r) {
          ASSERT_EQ(std::memcmp(x.row(r), w.row(tokens[static_cast<size_t>(r)]) + first,
                                static_cast<size_t>(count) * sizeof(float)),
                    0)
              << format_of(type).name << " columns " << first << " and " << count << ", row " << r;
        }
      }
    }
  }
}

// One rounding: the product.
TEST_P(EmbedTest, TheScaleMultipliesEveryNumber) {
  const auto backend = GetParam().backend();
  const auto ops = backend->make_ops();
  for (DType type : kTypes) {
    const Weights w(type, 11, kColumns, 1);
    const auto table = backend->table("token_embd", w.view());
    for (float scale : {0.0f, 0.3f, -7.5f}) {
      for (const auto& [first, columns] : parts_of(type)) {
        for (const std::vector<int32_t>& tokens : kTokens) {
          ops->begin_step();
          const Tensor x = ops->embed(*table, tokens, {.first_column = first, .columns = columns, .scale = scale});
          for (int64_t r = 0; r < x.rows(); ++r) {
            const float* row = w.row(tokens[static_cast<size_t>(r)]) + first;
            for (int64_t i = 0; i < x.row_size(); ++i)
              ASSERT_EQ(x.row(r)[i], row[i] * scale) << format_of(type).name << " times " << scale;
          }
        }
      }
    }
  }
}

TEST_P(EmbedTest, RowsAreAddedToThoseThatAreThere) {
  const auto backend = GetParam().backend();
  const auto ops = backend->make_ops();
  for (DType type : kTypes) {
    const Weights w(type, 11, kColumns, 1);
    const auto table = backend->table("per_layer_token_embd", w.view());
    for (float scale : {1.0f, 0.3f}) {
      for (const auto& [first, columns] : parts_of(type)) {
        const int64_t count = columns > 0 ? columns : kColumns - first;
        for (const std::vector<int32_t>& tokens : kTokens) {
          const auto rows = static_cast<int64_t>(tokens.size());
          Rows sum(rows, count, 2);
          const Rows before = sum;
          ops->begin_step();
          const Tensor x = ops->embed(*table, tokens, {.first_column = first, .columns = columns, .scale = scale},
                                      {.add_to = sum.tensor(rows)});
          ASSERT_EQ(x.data, sum.values.data());
          for (int64_t r = 0; r < rows; ++r) {
            for (int64_t i = 0; i < count; ++i) {
              const double old = before.row(r)[i],
                           more = static_cast<double>(w.row(tokens[static_cast<size_t>(r)])[first + i]) * scale;
              ASSERT_NEAR(sum.row(r)[i], old + more, 2e-7 * (std::fabs(old) + std::fabs(more)))
                  << format_of(type).name << " column " << first + i << ", row " << r;
            }
          }
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Isa, EmbedTest, testing::ValuesIn(every_machine()), machine_name);

}  // namespace
}  // namespace ingle::conformance
