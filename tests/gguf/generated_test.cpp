// Files that exist in memory only: tensors are made when they are asked for, and made again after they were dropped.
#include <gtest/gtest.h>

#include <cstring>

#include "base/error.h"
#include "gguf/gguf.h"
#include "gguf/value.h"

namespace ingle {
namespace {

constexpr int64_t kNumbers = 100000;  // enough for whole pages to be given back

// Every number of tensor i is 100 * (i + 1) plus how often it was made.
struct Made {
  std::vector<int> times = std::vector<int>(3, 0);

  GgufRecipe recipe() {
    GgufRecipe recipe;
    recipe.name = "made";
    recipe.metadata = {{"general.architecture", gguf_value<std::string>("none")}, {"n", gguf_value<uint32_t>(7)}};
    recipe.tensors = {{"first", DType::kF32, {kNumbers}},
                      {"rows", DType::kF32, {100, kNumbers / 100}},
                      {"table", DType::kF32, {kNumbers}, true}};
    recipe.fill = [this](size_t index, std::span<std::byte> bytes) {
      const std::vector<float> numbers(bytes.size() / 4, static_cast<float>(100 * (index + 1) + ++times[index]));
      std::memcpy(bytes.data(), numbers.data(), bytes.size());
    };
    return recipe;
  }
};

float number(const ConstTensorView& view, int64_t i) {
  float x;
  std::memcpy(&x, view.data + 4 * i, 4);
  return x;
}

TEST(GeneratedFile, HasItsKeysAndTensors) {
  Made made;
  const GgufFile file = GgufFile::generate(made.recipe());
  EXPECT_EQ(file.path(), "made");
  EXPECT_EQ(file.get_int("n"), 7);
  ASSERT_EQ(file.tensors().size(), 3u);
  EXPECT_EQ(file.tensors()[1].view.shape, (Shape{100, kNumbers / 100}));
  EXPECT_EQ(file.parameter_count(), 3 * kNumbers);
  EXPECT_EQ(file.file_bytes(), 3u * 4 * kNumbers);
  EXPECT_FALSE(file.find("fourth"));
  EXPECT_EQ(made.times, (std::vector{0, 0, 0}));
}

TEST(GeneratedFile, ATensorIsMadeWhenItIsFirstAskedFor) {
  Made made;
  const GgufFile file = GgufFile::generate(made.recipe());
  EXPECT_EQ(number(*file.find("rows"), kNumbers - 1), 201);
  EXPECT_EQ(number(*file.find("rows"), 0), 201);
  EXPECT_EQ(made.times, (std::vector{0, 1, 0}));
}

TEST(GeneratedFile, ADroppedTensorIsMadeAgainAndItsNeighboursStay) {
  Made made;
  const GgufFile file = GgufFile::generate(made.recipe());
  const ConstTensorView first = *file.find("first"), rows = *file.find("rows"), table = *file.find("table");
  file.drop(rows);
  EXPECT_EQ(number(rows, kNumbers / 2), 0);  // its pages are gone
  EXPECT_EQ(number(first, kNumbers - 1), 101);
  EXPECT_EQ(number(table, 0), 301);
  EXPECT_EQ(number(*file.find("rows"), kNumbers / 2), 202);
  EXPECT_EQ(made.times, (std::vector{1, 2, 1}));
}

TEST(GeneratedFile, WhatIsDroppedInPartsGoesWithTheLastPart) {
  Made made;
  const GgufFile file = GgufFile::generate(made.recipe());
  const ConstTensorView rows = *file.find("rows");
  ConstTensorView upper = rows, lower = rows;
  upper.shape = lower.shape = {50, kNumbers / 100};
  lower.data = rows.row(50);
  file.drop(upper);
  EXPECT_EQ(number(*file.find("rows"), kNumbers / 4), 201);
  file.drop(lower);
  EXPECT_EQ(number(rows, kNumbers / 4), 0);
  EXPECT_EQ(number(*file.find("rows"), kNumbers / 4), 202);
}

TEST(GeneratedFile, ALastingTensorIsNotDropped) {
  Made made;
  const GgufFile file = GgufFile::generate(made.recipe());
  const ConstTensorView table = *file.find("table");
  file.drop(table);
  EXPECT_EQ(number(table, kNumbers / 2), 301);
  EXPECT_EQ(number(*file.find("table"), kNumbers / 2), 301);
}

TEST(GeneratedFile, WithoutAFillingTensorsAreZeros) {
  Made made;
  GgufRecipe recipe = made.recipe();
  recipe.fill = nullptr;
  const GgufFile file = GgufFile::generate(std::move(recipe));
  EXPECT_EQ(number(*file.find("rows"), kNumbers / 2), 0);
}

TEST(GeneratedFile, RefusesWhatNoFileCouldHold) {
  const auto complaint = [](const std::function<void(GgufRecipe&)>& change) -> std::string {
    Made made;
    GgufRecipe recipe = made.recipe();
    change(recipe);
    try {
      GgufFile::generate(std::move(recipe));
    } catch (const Error& error) {
      return error.what();
    }
    return "(none)";
  };
  EXPECT_EQ(complaint([](GgufRecipe& r) { r.tensors[1].type = DType::kQ4_K; }),
            "made: tensor rows: rows of 1000 elements are not whole blocks of 256 (Q4_K)");
  EXPECT_NE(complaint([](GgufRecipe& r) { r.tensors[1].name = "first"; }).find("'first' is there twice"),
            std::string::npos);
  EXPECT_NE(complaint([](GgufRecipe& r) { r.metadata[1].first = r.metadata[0].first; }).find("is there twice"),
            std::string::npos);
}

}  // namespace
}  // namespace ingle
