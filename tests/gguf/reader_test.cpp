#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "gguf/gguf.h"
#include "tests/expect_error.h"
#include "tests/gguf/fuzz/walk.h"
#include "tests/gguf/gguf_bytes.h"
#include "tests/gguf/temporary_folder.h"

namespace ingle {
namespace {

using test::expect_error;
using test::GgufBytes;
using test::sample_file;

GgufFile parse(const GgufBytes& file) { return GgufFile::parse(file.bytes(), "m.gguf"); }

TEST(GgufReader, ReadsEveryValueType) {
  const GgufBytes bytes = sample_file();
  const GgufFile file = parse(bytes);
  EXPECT_EQ(file.find_string("general.architecture"), "llama");
  EXPECT_EQ(file.find_int("a.u8"), 200);
  EXPECT_EQ(file.find_int("a.i8"), -100);
  EXPECT_EQ(file.find_int("a.u16"), 60000);
  EXPECT_EQ(file.find_int("a.i16"), -30000);
  EXPECT_EQ(file.find_int("a.u32"), 4000000000);
  EXPECT_EQ(file.find_int("a.i32"), -2000000000);
  EXPECT_EQ(file.find_float("a.f32"), 0.1f);
  EXPECT_EQ(file.find_bool("a.bool"), true);
  EXPECT_EQ(file.find_int("a.i64"), -(int64_t{1} << 62));
  EXPECT_EQ(file.find_float("a.f64"), 0.1);
  EXPECT_EQ(file.find_ints("a.u16s"), (std::vector<int64_t>{1, 2, 65535}));
  EXPECT_EQ(file.find_floats("a.u16s"), (std::vector<double>{1, 2, 65535}));
  EXPECT_EQ(file.find_ints("a.bools"), (std::vector<int64_t>{1, 0}));
  const auto texts = file.find_strings("a.texts");
  ASSERT_TRUE(texts);
  EXPECT_EQ(std::vector<std::string>(texts->begin(), texts->end()),
            (std::vector<std::string>{"", "b", std::string("\xff\0 not UTF-8", 12)}));
}

TEST(GgufReader, KeepsTheOrderAndTheTypesOfTheFile) {
  const GgufBytes bytes = sample_file();
  const GgufFile file = parse(bytes);
  ASSERT_EQ(file.metadata().size(), 16u);
  EXPECT_EQ(file.metadata()[0].first, "general.architecture");
  EXPECT_EQ(file.metadata()[15].first, "general.alignment");
  EXPECT_EQ(file.find_value("a.u16")->type, GgufValue::Type::kU16);
  EXPECT_EQ(file.find_value("a.bools")->type, GgufValue::Type::kArray);
  EXPECT_EQ(file.find_value("a.bools")->element_type, GgufValue::Type::kBool);
  EXPECT_EQ(file.alignment(), 64u);
  EXPECT_EQ(file.version(), 3u);
  EXPECT_EQ(file.file_bytes(), bytes.size());
  EXPECT_EQ(file.path(), "m.gguf");
}

TEST(GgufReader, ListsExtentsOutermostFirst) {
  const GgufBytes bytes = sample_file();
  const GgufFile file = parse(bytes);
  ASSERT_EQ(file.tensors().size(), 4u);
  EXPECT_EQ(file.find("plain.weight")->shape, Shape({2, 3}));
  EXPECT_EQ(file.find("blocks.weight")->shape, Shape({2, 64}));
  EXPECT_EQ(file.find("blocks.weight")->type, DType::kQ8_0);
  EXPECT_EQ(file.find("blocks.weight")->bytes(), 4 * 34u);
  EXPECT_EQ(file.find("scalar")->shape, Shape());
  EXPECT_EQ(file.find("scalar")->bytes(), 4u);
  EXPECT_EQ(file.find("empty")->shape, Shape({5, 0}));
  EXPECT_EQ(file.find("empty")->bytes(), 0u);
  EXPECT_EQ(file.parameter_count(), 6 + 128 + 1 + 0);
  const uint64_t data_start = bytes.size() - 320;
  EXPECT_EQ(file.tensors()[1].name, "blocks.weight");
  EXPECT_EQ(file.tensors()[1].file_offset, data_start + 64);
  EXPECT_EQ(file.tensors()[1].view.data, bytes.bytes().data() + data_start + 64);
  EXPECT_EQ(file.tensors()[1].shard, 0);
}

TEST(GgufReader, FindsNothingForOtherNames) {
  const GgufBytes bytes = sample_file();
  const GgufFile file = parse(bytes);
  EXPECT_EQ(file.find_value("a.u"), nullptr);
  EXPECT_EQ(file.find_int("a.u9"), std::nullopt);
  EXPECT_EQ(file.find_strings("zzz"), std::nullopt);
  EXPECT_FALSE(file.find("plain"));
  EXPECT_FALSE(file.find(""));
}

TEST(GgufReader, NamesKeyExpectedAndActualType) {
  const GgufBytes bytes = sample_file();
  const GgufFile file = parse(bytes);
  const auto refused = [&](auto find, std::string_view part) { expect_error(find, ErrorCode::kInvalidFile, part); };
  refused([&] { file.find_int("a.f32"); }, "m.gguf: key 'a.f32' is f32, it must be an integer");
  refused([&] { file.find_int("a.bool"); }, "key 'a.bool' is bool, it must be an integer");
  refused([&] { file.find_int("a.u16s"); }, "key 'a.u16s' is array of u16, it must be an integer");
  refused([&] { file.find_int("a.u64"); }, "key 'a.u64' holds 9223372036854775808, which is more than 2^63 - 1");
  refused([&] { file.find_float("a.u8"); }, "key 'a.u8' is u8, it must be f32 or f64");
  refused([&] { file.find_bool("a.u8"); }, "key 'a.u8' is u8, it must be bool");
  refused([&] { file.find_string("a.texts"); }, "key 'a.texts' is array of string, it must be string");
  refused([&] { file.find_ints("a.u8"); }, "key 'a.u8' is u8, it must be an array of integers");
  refused([&] { file.find_ints("a.texts"); }, "key 'a.texts' is array of string, it must be an array of integers");
  refused([&] { file.find_floats("a.texts"); }, "it must be an array of numbers");
  refused([&] { file.find_floats("a.bools"); }, "key 'a.bools' is array of bool, it must be an array of numbers");
  refused([&] { file.find_strings("a.u16s"); }, "it must be an array of strings");
  refused([&] { file.get_int("llama.block_count"); }, "m.gguf: key 'llama.block_count' is missing");
  refused([&] { file.get_float("a.none"); }, "key 'a.none' is missing");
  refused([&] { file.get_string("a.none"); }, "key 'a.none' is missing");
}

TEST(GgufReader, RefusesAnArrayElementThatDoesNotFitIntoInt64) {
  GgufBytes bytes;
  bytes.header(0, 1).array("a", test::kU64, 2).put<uint64_t>(1).put<uint64_t>(~uint64_t{0});
  const GgufFile file = parse(bytes);
  expect_error([&] { file.find_ints("a"); }, ErrorCode::kInvalidFile, "key 'a' holds 18446744073709551615");
}

TEST(GgufReader, AcceptsVersion2AndAFileWithoutTensorsOrPadding) {
  GgufBytes bytes;
  bytes.header(0, 1, 2).key("general.architecture", test::kString).text("x");
  const GgufFile file = parse(bytes);
  EXPECT_EQ(file.version(), 2u);
  EXPECT_EQ(file.alignment(), 32u);
  EXPECT_TRUE(file.tensors().empty());
  EXPECT_EQ(file.parameter_count(), 0);
}

TEST(GgufReader, AcceptsAFileCutInTheLastPadding) {
  GgufBytes bytes;
  bytes.header(1, 0).tensor("a", {3}, 0, 0).pad().fill(12);
  EXPECT_EQ(parse(bytes).find("a")->bytes(), 12u);
}

TEST(GgufReader, AcceptsTheLongestTensorNameAndFourDimensions) {
  const std::string name(63, 'n');
  GgufBytes bytes;
  bytes.header(1, 0).tensor(name, {2, 3, 4, 5}, 0, 0).pad().fill(480);
  EXPECT_EQ(parse(bytes).find(name)->shape, Shape({5, 4, 3, 2}));
}

TEST(GgufReader, KeepsKeysThatAreNotText) {
  const std::string key("a\0\n\xff", 4);
  GgufBytes bytes;
  bytes.header(0, 1).key(key, test::kU8).put<uint8_t>(7);
  const GgufFile file = parse(bytes);
  EXPECT_EQ(file.find_int(key), 7);
  expect_error([&] { file.find_bool(key); }, ErrorCode::kInvalidFile, "key 'a\\x00\\x0a\\xff' is u8");
}

TEST(GgufReader, StaysValidWhenMoved) {
  const GgufBytes bytes = sample_file();
  GgufFile first = parse(bytes);
  const auto view = *first.find("plain.weight");
  GgufFile second = std::move(first);
  EXPECT_EQ(second.find("plain.weight")->data, view.data);
  EXPECT_EQ(second.find_int("a.u8"), 200);
}

TEST(GgufReader, OpensFromDiskTheSameAsFromMemory) {
  const test::TemporaryFolder folder;
  GgufBytes bytes = sample_file();
  const auto path = folder.write("m.gguf", bytes.string());
  const GgufFile opened = GgufFile::open(path);
  EXPECT_EQ(test::walk(opened), test::walk(parse(bytes)));
  EXPECT_EQ(opened.path(), path);
}

TEST(GgufReader, CanReadAgainWhatWasDropped) {
  const test::TemporaryFolder folder;
  GgufBytes bytes;
  bytes.header(2, 0).tensor("a", {32768}, 0, 0).tensor("b", {8}, 0, 131072).pad().fill(131072, 'a').fill(32, 'b');
  const GgufFile file = GgufFile::open(folder.write("m.gguf", bytes.string()));
  for (const char* name : {"a", "b"}) {
    const auto view = *file.find(name);
    const std::string before(reinterpret_cast<const char*>(view.data), view.bytes());
    file.drop(view);
    EXPECT_EQ(std::string_view(reinterpret_cast<const char*>(view.data), view.bytes()), before) << name;
  }
  const GgufFile memory = parse(bytes);  // not a mapping: dropping its pages would lose them
  memory.drop(*memory.find("a"));
  EXPECT_EQ(static_cast<char>(memory.find("a")->data[65536]), 'a');
}

TEST(GgufReader, SaysWhatIsWrongWithThePath) {
  const test::TemporaryFolder folder;
  const auto open = [&](const std::filesystem::path& path) { return [path] { GgufFile::open(path); }; };
  expect_error(open(folder / "none.gguf"), ErrorCode::kNotFound, "none.gguf: no such file");
  expect_error(open(folder / ""), ErrorCode::kInvalidFile, "is a directory");
  expect_error(open(folder.write("empty.gguf", "")), ErrorCode::kInvalidFile, "empty.gguf: is empty");
  expect_error(open(folder.write("tale.gguf", "Once upon a time there was a model")), ErrorCode::kInvalidFile,
               "tale.gguf: does not look like a GGUF file (starts with 'Once')");
  expect_error(open(folder.write("pointer.gguf", "version https://git-lfs.github.com/spec/v1\n")),
               ErrorCode::kInvalidFile, "(starts with 'vers'); it may be a Git LFS pointer");
  expect_error(open(folder.write("short.gguf", "GG")), ErrorCode::kInvalidFile, "(starts with 'GG')");
  expect_error(open(folder.write("header.gguf", "GGUF\x03")), ErrorCode::kInvalidFile, "has 5 bytes");
}

}  // namespace
}  // namespace ingle
