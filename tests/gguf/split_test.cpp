#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>

#include "gguf/gguf.h"
#include "gguf/split.h"
#include "tests/expect_error.h"
#include "tests/gguf/fuzz/walk.h"
#include "tests/gguf/gguf_bytes.h"
#include "tests/gguf/temporary_folder.h"

namespace ingle {
namespace {

using test::expect_error;
using test::GgufBytes;
using test::TemporaryFolder;

struct ShardFields {
  uint16_t no = 0;
  uint16_t count = 3;
  int32_t tensors = 2;
  std::vector<std::string> names = {};  // of tensors with 8 floats each
};

std::string shard(const ShardFields& fields) {
  GgufBytes file;
  file.header(fields.names.size(), fields.no == 0 ? 4 : 3);
  if (fields.no == 0) file.key("general.architecture", test::kString).text("llama");
  file.key("split.no", test::kU16).put(fields.no);
  file.key("split.count", test::kU16).put(fields.count);
  file.key("split.tensors.count", test::kI32).put(fields.tensors);
  for (size_t i = 0; i < fields.names.size(); ++i) file.tensor(fields.names[i], {8}, 0, i * 32);
  if (!fields.names.empty()) file.pad();
  for (const std::string& name : fields.names) file.fill(32, name[0]);
  return file.string();
}

// Three shards, the first without tensors, as a tool for splitting may write it. A test replaces what it is about.
class SplitGguf : public ::testing::Test {
 protected:
  SplitGguf() {
    write(1, {.no = 0});
    write(2, {.no = 1, .names = {"a"}});
    write(3, {.no = 2, .names = {"b"}});
  }

  void write(int number, const ShardFields& fields) { folder_.write(name(number), shard(fields)); }
  static std::string name(int number) { return fmt::format("m-0000{}-of-00003.gguf", number); }
  void expect_refused(std::string_view part, ErrorCode code = ErrorCode::kInvalidFile) {
    expect_error([&] { GgufFile::open(folder_ / name(1)); }, code, part);
  }

  TemporaryFolder folder_;
};

TEST_F(SplitGguf, JoinsTheTensorsOfAllShardsWithTheKeysOfTheFirst) {
  const GgufFile file = GgufFile::open(folder_ / name(1));
  EXPECT_EQ(file.get_string("general.architecture"), "llama");
  EXPECT_EQ(file.metadata().size(), 4u);
  ASSERT_EQ(file.tensors().size(), 2u);
  EXPECT_EQ(file.tensors()[0].name, "a");
  EXPECT_EQ(file.tensors()[0].shard, 1);
  EXPECT_EQ(file.tensors()[1].shard, 2);
  EXPECT_EQ(static_cast<char>(*file.find("a")->data), 'a');
  EXPECT_EQ(static_cast<char>(*file.find("b")->data), 'b');
  EXPECT_EQ(file.parameter_count(), 16);
  EXPECT_EQ(file.file_bytes(), shard({}).size() + 2 * shard({.no = 1, .names = {"a"}}).size());
  file.drop(*file.find("b"));
  test::walk(file);
}

TEST_F(SplitGguf, NamesTheShardThatIsMissing) {
  std::filesystem::remove(folder_ / name(2));
  expect_refused("m-00002-of-00003.gguf: no such file; it is shard 2 of 3", ErrorCode::kNotFound);
}

TEST_F(SplitGguf, StopsAtTheFirstMissingShardOf65535) {
  const auto path = folder_.write("big-00001-of-65535.gguf", shard({.no = 0, .count = 65535, .names = {"a"}}));
  expect_error([&] { GgufFile::open(path); }, ErrorCode::kNotFound, "big-00002-of-65535.gguf: no such file");
}

TEST_F(SplitGguf, AsksForTheFirstShardWhenGivenAnother) {
  expect_error([&] { GgufFile::open(folder_ / name(2)); }, ErrorCode::kInvalidFile,
               "m-00002-of-00003.gguf: is shard 2 of 3; open " + (folder_ / name(1)).native() + " instead");
}

TEST_F(SplitGguf, DoesNotSendToTheFileThatWasGiven) {
  write(1, {.no = 1, .names = {"a"}});
  const std::string path = folder_ / name(1);
  EXPECT_EQ(test::error_of(ErrorCode::kInvalidFile, [&] { GgufFile::open(path); }),
            path + ": is shard 2 of 3 (key 'split.no' is 1) under the name of the first; rename it");
}

TEST_F(SplitGguf, RefusesAFirstShardWhoseNameLeadsNowhere) {
  for (const char* name : {"m.gguf", "m-00001-of-00004.gguf", "m-00002-of-00003.gguf", "m-1-of-3.gguf"}) {
    const auto path = folder_.write(name, shard({.no = 0}));
    expect_error([&] { GgufFile::open(path); }, ErrorCode::kInvalidFile,
                 "its name does not end in -00001-of-00003.gguf");
  }
}

TEST_F(SplitGguf, RefusesShardsThatDoNotBelongTogether) {
  write(3, {.no = 1, .names = {"b"}});
  expect_refused("m-00003-of-00003.gguf: key 'split.no' is 1, it must be 2 in this shard");
  write(3, {.no = 2, .count = 4, .names = {"b"}});
  expect_refused("key 'split.count' is 4, it must be 3 in this shard");
  write(3, {.no = 2, .tensors = 7, .names = {"b"}});
  expect_refused("key 'split.tensors.count' is 7, it must be 2 in this shard");
  write(3, {.no = 2, .count = 1, .names = {"b"}});
  expect_refused("m-00003-of-00003.gguf: is a whole model, not shard 3");
}

TEST_F(SplitGguf, RefusesATensorThatIsInTwoShards) {
  write(3, {.no = 2, .names = {"a"}});
  expect_refused("tensor 'a' is there twice, at offset");
}

TEST_F(SplitGguf, RefusesAnotherNumberOfTensors) {
  write(3, {.no = 2, .names = {"b", "c"}});
  expect_refused("key 'split.tensors.count' is 2, but the 3 shards have 3 tensors");
}

TEST_F(SplitGguf, RefusesASiblingThatIsNoModel) {
  folder_.write(name(2), "Once upon a time");
  expect_refused("m-00002-of-00003.gguf: does not look like a GGUF file");
  folder_.write(name(2), "");
  expect_refused("m-00002-of-00003.gguf: is empty");
}

TEST_F(SplitGguf, RefusesKeysOfTheWrongKind) {
  GgufBytes file;
  file.header(0, 2).key("split.count", test::kString).text("3").key("split.no", test::kU16).put<uint16_t>(0);
  folder_.write(name(1), file.string());
  expect_refused("key 'split.count' is string, it must be an integer");
  GgufBytes missing;
  missing.header(0, 1).key("split.count", test::kU16).put<uint16_t>(3);
  folder_.write(name(1), missing.string());
  expect_refused("key 'split.no' is missing");
  GgufBytes many;
  many.header(0, 1).key("split.count", test::kU32).put<uint32_t>(65536);
  folder_.write(name(1), many.string());
  expect_refused("key 'split.count' is 65536, it must be from 0 to 65535");
  for (const int64_t no : {int64_t{-1}, int64_t{3}, std::numeric_limits<int64_t>::max()}) {
    GgufBytes beyond;
    beyond.header(0, 2).key("split.count", test::kU16).put<uint16_t>(3).key("split.no", test::kI64).put(no);
    folder_.write(name(1), beyond.string());
    expect_refused(fmt::format("key 'split.no' is {}, it must be from 0 to 2", no));
  }
}

TEST_F(SplitGguf, TakesACountOfOneForAWholeFile) {
  const auto path = folder_.write("whole.gguf", shard({.no = 0, .count = 1, .names = {"a"}}));
  EXPECT_EQ(GgufFile::open(path).tensors().size(), 1u);
}

TEST(ShardName, FollowsThePatternOrIsNone) {
  const auto name = gguf::parse_shard_name("/models/m-00002-of-00013.gguf");
  ASSERT_TRUE(name);
  EXPECT_EQ(name->prefix, "/models/m");
  EXPECT_EQ(name->number, 2);
  EXPECT_EQ(name->count, 13);
  EXPECT_EQ(gguf::shard_path(name->prefix, 13, 13), "/models/m-00013-of-00013.gguf");
  for (const char* other : {"m.gguf", "m-2-of-3.gguf", "m-00002-of-0003.gguf", "m-0000x-of-00003.gguf", "", "/",
                            "m-00002-of-00003.bin", "m00002-of-00003.gguf", "m-00002-of-00003.gguf/"}) {
    EXPECT_FALSE(gguf::parse_shard_name(other)) << other;
  }
}

}  // namespace
}  // namespace ingle
