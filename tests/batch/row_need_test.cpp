#include "batch/row_need.h"

#include <gtest/gtest.h>

namespace ingle {
namespace {

std::vector<int32_t> list(std::span<const int32_t> span) { return {span.begin(), span.end()}; }

// Three sequences: five rows at 10.., one row at 3, two rows at 0..; rows 2, 4 and 5 are wanted.
Batch example() {
  Batch batch;
  batch.add_run(std::vector<int32_t>{1, 2, 3, 4, 5}, 10);
  batch.add_run(std::vector<int32_t>{6}, 3, RowWant::kLogits);
  batch.add_run(std::vector<int32_t>{7, 8}, 0);
  batch.wants[2] = RowWant::kHidden;
  batch.wants[4] = RowWant::kLogits | RowWant::kHidden;
  return batch;
}

TEST(Batch, ARunGetsTheNextSlotAndAscendingPositions) {
  const Batch batch = example();
  EXPECT_EQ(batch.rows(), 8);
  EXPECT_EQ(batch.positions, (std::vector<int32_t>{10, 11, 12, 13, 14, 3, 0, 1}));
  ASSERT_EQ(batch.runs.size(), 3u);
  EXPECT_EQ(batch.runs[1].slot, 1);
  EXPECT_EQ(batch.runs[2].first_row, 6);
  EXPECT_EQ(batch.runs[2].rows, 2);
}

TEST(RowNeed, BeforeTheLastWriterEveryRowGoesThrough) {
  const Batch batch = example();
  const RowNeed need(batch, {.last_writer = 2});
  const LayerRows rows = need.layer(1);
  EXPECT_FALSE(rows.cropped());
  EXPECT_EQ(rows.in.size(), 8);
  EXPECT_EQ(rows.out.size(), 8);
}

TEST(RowNeed, TheLastWriterSeesEveryRowAndPassesOnTheWantedOnes) {
  const Batch batch = example();
  const RowNeed need(batch, {.last_writer = 2});
  const LayerRows rows = need.layer(2);
  EXPECT_TRUE(rows.cropped());
  EXPECT_EQ(rows.in.size(), 8);
  EXPECT_EQ(list(rows.selection), (std::vector<int32_t>{2, 4, 5}));
  EXPECT_EQ(list(rows.out.positions), (std::vector<int32_t>{12, 14, 3}));
  ASSERT_EQ(rows.out.runs.size(), 2u);  // nobody wants a row of the third sequence
  EXPECT_EQ(rows.out.runs[0].slot, 0);
  EXPECT_EQ(rows.out.runs[0].rows, 2);
  EXPECT_EQ(rows.out.runs[1].slot, 1);
  EXPECT_EQ(rows.out.runs[1].first_row, 2);
}

TEST(RowNeed, AfterTheLastWriterOnlyWantedRowsAreThere) {
  const Batch batch = example();
  const RowNeed need(batch, {.last_writer = 2});
  const LayerRows rows = need.layer(3);
  EXPECT_FALSE(rows.cropped());
  EXPECT_EQ(rows.in.size(), 3);
  EXPECT_FALSE(need.result().cropped());
}

TEST(RowNeed, EveryRowIsCroppedOnlyAtTheEnd) {
  const Batch batch = example();
  const RowNeed need(batch, {.last_writer = 2, .every_row = true});
  for (int layer : {1, 2, 3}) EXPECT_EQ(need.layer(layer).out.size(), 8);
  EXPECT_TRUE(need.result().cropped());
  EXPECT_EQ(list(need.result().selection), (std::vector<int32_t>{2, 4, 5}));
}

TEST(RowNeed, WithNothingWantedNothingIsLeft) {
  Batch batch;
  batch.add_run(std::vector<int32_t>{1, 2, 3}, 0);
  const RowNeed need(batch, {.last_writer = 0});
  EXPECT_EQ(need.layer(0).in.size(), 3);
  EXPECT_TRUE(need.layer(0).out.empty());
  EXPECT_TRUE(need.wanted().empty());
  EXPECT_TRUE(need.layer(0).out.runs.empty());
}

TEST(RowNeed, AssigningAgainForgetsTheLastStep) {
  RowNeed need;
  need.assign(example(), {.last_writer = 2});
  Batch one;
  one.add_run(std::vector<int32_t>{9}, 41, RowWant::kLogits);
  need.assign(one, {.last_writer = 2});
  EXPECT_EQ(need.all().size(), 1);
  EXPECT_EQ(list(need.wanted().positions), (std::vector<int32_t>{41}));
  EXPECT_FALSE(need.layer(2).cropped());
}

}  // namespace
}  // namespace ingle
