#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ingle/error.h"
#include "quant/format.h"

namespace ingle {
namespace {

struct Row {
  uint32_t id;
  const char* name;
  int64_t elements;
  size_t bytes;
};

// The table of the file format.
constexpr Row kTable[] = {
    {0, "F32", 1, 4},         {1, "F16", 1, 2},         {2, "Q4_0", 32, 18},      {3, "Q4_1", 32, 20},
    {6, "Q5_0", 32, 22},      {7, "Q5_1", 32, 24},      {8, "Q8_0", 32, 34},      {9, "Q8_1", 32, 36},
    {10, "Q2_K", 256, 84},    {11, "Q3_K", 256, 110},   {12, "Q4_K", 256, 144},   {13, "Q5_K", 256, 176},
    {14, "Q6_K", 256, 210},   {15, "Q8_K", 256, 292},   {16, "IQ2_XXS", 256, 66}, {17, "IQ2_XS", 256, 74},
    {18, "IQ3_XXS", 256, 98}, {19, "IQ1_S", 256, 50},   {20, "IQ4_NL", 32, 18},   {21, "IQ3_S", 256, 110},
    {22, "IQ2_S", 256, 82},   {23, "IQ4_XS", 256, 136}, {24, "I8", 1, 1},         {25, "I16", 1, 2},
    {26, "I32", 1, 4},        {27, "I64", 1, 8},        {28, "F64", 1, 8},        {29, "IQ1_M", 256, 56},
    {30, "BF16", 1, 2},       {34, "TQ1_0", 256, 54},   {35, "TQ2_0", 256, 66},   {39, "MXFP4", 32, 17},
    {40, "NVFP4", 64, 36},    {41, "Q1_0", 128, 18},    {42, "Q2_0", 64, 18},
};

TEST(Formats, AreThereAsTheFileFormatHasThem) {
  for (const Row& row : kTable) {
    const Format* f = find_format(static_cast<DType>(row.id));
    ASSERT_NE(f, nullptr) << row.name;
    EXPECT_EQ(f->name, row.name);
    EXPECT_EQ(f->block_elements, row.elements) << row.name;
    EXPECT_EQ(f->block_bytes, row.bytes) << row.name;
  }
}

TEST(Formats, AreInOrderOfTheirIds) {
  for (size_t i = 1; i < formats().size(); ++i)
    EXPECT_LT(formats()[i - 1].type, formats()[i].type) << formats()[i].name;
}

// What holds for those of the table above, and for any other that somebody adds.
TEST(Formats, HaveBlocksAndADecoder) {
  ASSERT_GE(formats().size(), std::size(kTable));
  for (const Format& f : formats()) {
    EXPECT_FALSE(f.name.empty());
    EXPECT_GT(f.block_elements, 0) << f.name;
    EXPECT_GT(f.block_bytes, 0u) << f.name;
    EXPECT_NE(f.decode, nullptr) << f.name;
    EXPECT_EQ(describe_unknown_type(static_cast<uint32_t>(f.type)), "unknown") << f.name << " is refused too";
  }
}

TEST(Formats, AFormatIsFoundByIdAndByNameInAnyCase) {
  for (const Format& f : formats()) {
    EXPECT_EQ(find_format(f.type), &f);
    EXPECT_EQ(&format_of(f.type), &f);
    EXPECT_EQ(find_format(f.name), &f);
  }
  EXPECT_EQ(find_format("q4_k"), find_format(DType::kQ4_K));
  EXPECT_EQ(find_format("iq2_xxs"), find_format(DType::kIQ2_XXS));
  EXPECT_EQ(find_format("Bf16"), find_format(DType::kBF16));
}

TEST(Formats, NothingIsFoundForAbsentIdsAndNames) {
  for (uint32_t id : {4u, 5u, 31u, 33u, 36u, 38u, 43u, 139u, 511u, 512u, 513u, 0xffffffffu})
    EXPECT_EQ(find_format(static_cast<DType>(id)), nullptr) << id;
  for (const char* name : {"", "Q4", "Q4_K_M", "Q4_K ", "Q4_2"}) EXPECT_EQ(find_format(name), nullptr) << name;
}

TEST(Formats, AnUncheckedIdIsOurOwnMistake) {
  try {
    format_of(static_cast<DType>(139));
    FAIL() << "did not throw";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::kInternal);
    EXPECT_NE(std::string(e.what()).find("139"), std::string::npos) << e.what();
  }
}

TEST(Formats, ARefusedIdSaysWhy) {
  for (uint32_t id : {4u, 5u, 31u, 32u, 33u, 36u, 37u, 38u})
    EXPECT_TRUE(describe_unknown_type(id).starts_with("removed from the format")) << id;
  EXPECT_EQ(describe_unknown_type(139), "only in the fork ik_llama.cpp (IQ4_K)");
  for (uint32_t id : {97u, 133u, 158u, 202u, 230u, 233u, 335u, 399u})
    EXPECT_TRUE(describe_unknown_type(id).starts_with("only in the fork ik_llama.cpp")) << id;
  for (uint32_t id : {43u, 142u, 143u, 231u, 232u, 234u, 400u, 0xffffffffu})
    EXPECT_EQ(describe_unknown_type(id), "unknown") << id;
}

TEST(Formats, ARowIsItsBlocksWithoutPadding) {
  EXPECT_EQ(format_of(DType::kQ6_K).row_bytes(0), 0u);
  EXPECT_EQ(format_of(DType::kQ6_K).row_bytes(1024), 840u);
  EXPECT_EQ(format_of(DType::kF16).row_bytes(3), 6u);
  EXPECT_EQ(format_of(DType::kI8).row_bytes(int64_t{1} << 40), size_t{1} << 40);
}

// Rows in a mapped file start anywhere.
TEST(Formats, DecodingDoesNotDependOnAlignment) {
  for (const Format& f : formats()) {
    std::vector<std::byte> bytes(2 * f.block_bytes + 8);
    std::vector<float> first(static_cast<size_t>(2 * f.block_elements)), again(first.size());
    for (size_t shift = 0; shift < 8; ++shift) {
      for (size_t i = 0; i < 2 * f.block_bytes; ++i) bytes[shift + i] = static_cast<std::byte>(i * 37 % 101);
      f.decode(bytes.data() + shift, again.data(), 2 * f.block_elements);
      if (shift == 0) first = again;
      EXPECT_EQ(first, again) << f.name << " shifted by " << shift;
    }
  }
}

}  // namespace
}  // namespace ingle
