#include "convert/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "ingle/error.h"

namespace ingle {
namespace {

std::string file_of(const std::string& header, size_t data_bytes) {
  std::string bytes;
  for (size_t i = 0; i < 8; ++i) bytes += static_cast<char>(header.size() >> (8 * i) & 0xFF);
  bytes += header;
  for (size_t i = 0; i < data_bytes; ++i) bytes += static_cast<char>(i);
  return bytes;
}

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

std::string complaint(const std::string& bytes) {
  try {
    SafeTensorsFile::parse(bytes_of(bytes), "x");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(SafeTensors, TensorsComeInTheOrderOfTheirBytes) {
  const std::string bytes =
      file_of(R"({"__metadata__":{"format":"pt"},"b":{"dtype":"F16","shape":[2],"data_offsets":[8,12]},)"
              R"("a":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}})",
              12);
  const SafeTensorsFile file = SafeTensorsFile::parse(bytes_of(bytes), "x");
  ASSERT_EQ(file.tensors().size(), 2u);
  EXPECT_EQ(file.tensors()[0].name, "a");
  EXPECT_EQ(file.tensors()[0].shape, (Shape{1, 2}));
  EXPECT_EQ(file.tensors()[1].type, "F16");
  EXPECT_EQ(file.tensors()[1].bytes.size(), 4u);
}

TEST(SafeTensors, NumbersAreReadFromEveryFloatType) {
  const auto read = [](const char* type, size_t size, auto... numbers) {
    std::string bytes =
        file_of(std::string(R"({"a":{"dtype":")") + type + R"(","shape":[)" + std::to_string(sizeof...(numbers)) +
                    R"(],"data_offsets":[0,)" + std::to_string(size * sizeof...(numbers)) + "]}}",
                0);
    (bytes.append(reinterpret_cast<const char*>(&numbers), size), ...);
    const SafeTensorsFile file = SafeTensorsFile::parse(bytes_of(bytes), "x");
    EXPECT_TRUE(file.tensors()[0].readable());
    std::vector<float> out(sizeof...(numbers));
    file.tensors()[0].read(0, static_cast<int64_t>(out.size()), out.data());
    return out;
  };
  const std::vector<float> expected{1.5f, -2.0f};
  EXPECT_EQ(read("F32", 4, 1.5f, -2.0f), expected);
  EXPECT_EQ(read("F64", 8, 1.5, -2.0), expected);
  EXPECT_EQ(read("F16", 2, uint16_t{0x3E00}, uint16_t{0xC000}), expected);
  EXPECT_EQ(read("BF16", 2, uint16_t{0x3FC0}, uint16_t{0xC000}), expected);
}

TEST(SafeTensors, WhatDoesNotFitTogetherIsNamed) {
  const auto one = [](const std::string& entry, size_t data = 8) {
    return complaint(file_of(R"({"a":)" + entry + "}", data));
  };
  EXPECT_EQ(complaint("short"), "x: 5 bytes, too short for a safetensors file");
  EXPECT_EQ(complaint(file_of("{}", 0).substr(0, 9)),
            "x: a header of 2 bytes, the file has 1 (and 100000000 are the most)");
  EXPECT_NE(complaint(std::string(8, '\xFF')).find("a header of 18446744073709551615 bytes"), std::string::npos);
  EXPECT_NE(complaint(file_of("[]", 0)).find("the header is not a JSON object (but another value)"), std::string::npos);
  EXPECT_NE(complaint(file_of(std::string(5000, '['), 0)).find("the header is not a JSON object"), std::string::npos);
  EXPECT_EQ(one("7"), "x: tensor a: not an object");
  EXPECT_EQ(one(R"({"dtype":"F32","shape":[3],"data_offsets":[0,8]})"),
            "x: tensor a: [3] of F32 take 12 bytes, it has 8");
  EXPECT_EQ(one(R"({"dtype":"F32","shape":[2],"data_offsets":[4,12]})"),
            "x: tensor a: its bytes are 4 to 12, the file has 8 of data");
  EXPECT_EQ(one(R"({"dtype":"F32","shape":[2],"data_offsets":[8,0]})"),
            "x: tensor a: its bytes are 8 to 0, the file has 8 of data");
  EXPECT_EQ(one(R"({"dtype":"F32","shape":[-2],"data_offsets":[0,8]})"),
            "x: tensor a: a dimension is -2, it must be a whole number from 0 on");
  EXPECT_NE(one(R"({"dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,8]})").find("has more than"),
            std::string::npos);
  EXPECT_EQ(one(R"({"dtype":"Q7","shape":[2],"data_offsets":[0,8]})"), "x: tensor a: its type Q7 is not known");
  EXPECT_EQ(one(R"({"dtype":"F32","shape":[1,1,1,1,2],"data_offsets":[0,8]})"),
            "x: tensor a: 5 dimensions, at most 4 are known");
  EXPECT_EQ(one(R"({"dtype":"F32","shape":[1],"data_offsets":[0,4]})"), "x: 4 bytes after the last tensor");
  EXPECT_EQ(one(R"({"dtype":"F32","shape":[1],"data_offsets":[4,8]})"),
            "x: tensor a: starts at byte 4 of the data, after a gap");
  EXPECT_EQ(
      one(R"({"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]})"),
      "x: tensor b: starts at byte 4 of the data, inside another tensor");
}

TEST(SafeTensors, AFileCutShortAnywhereIsAnError) {
  const std::string whole = file_of(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 8);
  ASSERT_EQ(complaint(whole), "");
  for (size_t n = 0; n < whole.size(); ++n) EXPECT_NE(complaint(whole.substr(0, n)), "") << n;
}

}  // namespace
}  // namespace ingle
