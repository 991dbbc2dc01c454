#include "gguf/writer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <limits>

#include "tests/expect_error.h"
#include "tests/gguf/fuzz/walk.h"
#include "tests/gguf/temporary_folder.h"

namespace ingle {
namespace {

using test::expect_error;
using test::read_bytes;
using test::TemporaryFolder;

std::span<const std::byte> as_bytes(std::string_view text) { return std::as_bytes(std::span(text)); }
std::string_view as_text(const ConstTensorView& view) {
  return {reinterpret_cast<const char*>(view.data), view.bytes()};
}

TEST(GgufWriter, ValuesOfEveryTypeComeBackAsTheyWere) {
  const TemporaryFolder folder;
  std::vector<std::pair<std::string, GgufValue>> written;
  const auto add = [&](const char* key, GgufValue value) { written.emplace_back(key, std::move(value)); };
  add("general.architecture", gguf_value<std::string>("llama"));
  add("u8", gguf_value<uint8_t>(255));
  add("i8", gguf_value<int8_t>(-128));
  add("u16", gguf_value<uint16_t>(65535));
  add("i16", gguf_value<int16_t>(-32768));
  add("u32", gguf_value<uint32_t>(4294967295u));
  add("i32", gguf_value<int32_t>(-2147483647 - 1));
  add("u64", gguf_value<uint64_t>(~uint64_t{0}));
  add("i64", gguf_value<int64_t>(std::numeric_limits<int64_t>::min()));
  add("f32", gguf_value<float>(0.1f));
  add("f64", gguf_value<double>(0.1));
  add("infinity", gguf_value<float>(std::numeric_limits<float>::infinity()));
  add("true", gguf_value<bool>(true));
  add("false", gguf_value<bool>(false));
  add("empty", gguf_value<std::string>(""));
  add("bytes", gguf_value<std::string>(std::string("\0\xff\n", 3)));
  add("u8s", gguf_array<uint8_t>({0, 255}));
  add("i8s", gguf_array<int8_t>({-128, 127}));
  add("u16s", gguf_array<uint16_t>({0, 65535}));
  add("i16s", gguf_array<int16_t>({-32768, 32767}));
  add("u32s", gguf_array<uint32_t>({0, 4294967295u}));
  add("i32s", gguf_array<int32_t>({-1, 2147483647}));
  add("u64s", gguf_array<uint64_t>({0, ~uint64_t{0}}));
  add("i64s", gguf_array<int64_t>({-1, 1}));
  add("f32s", gguf_array<float>({0.5f, -1e30f}));
  add("f64s", gguf_array<double>({0.1, -1e300}));
  add("bools", gguf_array<bool>({true, false, true}));
  add("texts", gguf_array<std::string>({"", "b", "\xff"}));
  add("none", gguf_array<float>({}));
  GgufWriter writer(folder / "m.gguf");
  for (const auto& [key, value] : written) writer.set(key, value);
  EXPECT_EQ(writer.finish(), std::vector{folder / "m.gguf"});

  const GgufFile file = GgufFile::open(folder / "m.gguf");
  ASSERT_EQ(file.metadata().size(), written.size());
  for (size_t i = 0; i < written.size(); ++i) {
    EXPECT_EQ(file.metadata()[i].first, written[i].first);
    EXPECT_EQ(file.metadata()[i].second.type, written[i].second.type) << written[i].first;
    EXPECT_EQ(file.metadata()[i].second.element_type, written[i].second.element_type) << written[i].first;
    EXPECT_TRUE(file.metadata()[i].second.value == written[i].second.value) << written[i].first;
  }
}

TEST(GgufWriter, WritesTheBytesTheFormatAsksFor) {
  const TemporaryFolder folder;
  GgufWriter writer(folder / "m.gguf");
  writer.set<uint16_t>("k", 0x1234);
  writer.add_tensor("t", DType::kF32, {1, 2}, as_bytes("abcdefgh"));
  writer.finish();
  std::string expected("GGUF\x03\0\0\0\x01\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0", 24);
  expected += std::string("\x01\0\0\0\0\0\0\0k\x02\0\0\0\x34\x12", 15);
  expected += std::string("\x01\0\0\0\0\0\0\0t\x02\0\0\0\x02\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0", 29);
  expected += std::string("\0\0\0\0\0\0\0\0\0\0\0\0", 12);
  expected.resize(96, '\0');
  expected += "abcdefgh";
  expected.resize(128, '\0');  // padded after the last tensor too
  EXPECT_EQ(read_bytes(folder / "m.gguf"), expected);
}

TEST(GgufWriter, TensorsComeBackInOrderWithTheirBytes) {
  const TemporaryFolder folder;
  const std::string blocks(4 * 34, 'q');
  GgufWriter writer(folder / "m.gguf", {.alignment = 64});
  writer.set<std::string>("general.architecture", "llama");
  writer.add_tensor("z", DType::kF32, {2, 3}, as_bytes("one-two-three-four-five-"));
  writer.add_tensor("blocks", DType::kQ8_0, {2, 64}, [&](const GgufWriter::Sink& write) {
    for (size_t i = 0; i < 4; ++i) write(as_bytes(blocks).subspan(i * 34, 34));
  });
  writer.add_tensor("scalar", DType::kF32, {}, as_bytes("four"));
  writer.add_tensor("empty", DType::kF16, {5, 0}, as_bytes(""));
  writer.add_tensor("four", DType::kI8, {1, 2, 1, 3}, as_bytes("sixsix"));
  writer.finish();

  const GgufFile file = GgufFile::open(folder / "m.gguf");
  EXPECT_EQ(file.alignment(), 64u);
  EXPECT_EQ(file.find_int("general.alignment"), 64);
  EXPECT_EQ(file.file_bytes() % 64, 0u);
  ASSERT_EQ(file.tensors().size(), 5u);
  EXPECT_EQ(file.tensors()[0].name, "z");
  EXPECT_EQ(file.tensors()[4].name, "four");
  for (const GgufTensor& tensor : file.tensors()) EXPECT_EQ(tensor.file_offset % 64, 0u) << tensor.name;
  EXPECT_EQ(as_text(*file.find("z")), "one-two-three-four-five-");
  EXPECT_EQ(as_text(*file.find("blocks")), blocks);
  EXPECT_EQ(as_text(*file.find("scalar")), "four");
  EXPECT_EQ(file.find("scalar")->shape, Shape());
  EXPECT_EQ(file.find("empty")->shape, Shape({5, 0}));
  EXPECT_EQ(as_text(*file.find("four")), "sixsix");
  EXPECT_EQ(file.find("four")->shape, Shape({1, 2, 1, 3}));
}

TEST(GgufWriter, StreamsATensorLargerThanItsBuffer) {
  const TemporaryFolder folder;
  std::string large(1000000, '\0');
  for (size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>(i * 31 % 251);
  GgufWriter writer(folder / "m.gguf");
  writer.add_tensor("pieces", DType::kI8, {1000000}, [&](const GgufWriter::Sink& write) {
    for (size_t at = 0, size = 1; at < large.size(); at += size, size = std::min(size * 3, large.size() - at)) {
      write(as_bytes(large).subspan(at, size));
    }
  });
  writer.add_tensor("whole", DType::kI8, {1000000}, as_bytes(large));
  writer.finish();
  const GgufFile file = GgufFile::open(folder / "m.gguf");
  EXPECT_TRUE(as_text(*file.find("pieces")) == large);
  EXPECT_TRUE(as_text(*file.find("whole")) == large);
}

TEST(GgufWriter, AKeySetAgainKeepsItsPlace) {
  const TemporaryFolder folder;
  GgufWriter writer(folder / "m.gguf");
  writer.set<uint32_t>("general.file_type", 1);
  writer.set<uint32_t>("b", 2);
  writer.set<uint64_t>("general.file_type", 7);
  writer.finish();
  const GgufFile file = GgufFile::open(folder / "m.gguf");
  ASSERT_EQ(file.metadata().size(), 2u);
  EXPECT_EQ(file.metadata()[0].first, "general.file_type");
  EXPECT_EQ(file.find_int("general.file_type"), 7);
}

TEST(GgufWriter, CopiesKeysButNotThoseOfTheContainer) {
  const TemporaryFolder folder;
  GgufWriter source(folder / "m.gguf", {.alignment = 128, .max_shard_tensors = 1});
  source.set<std::string>("general.architecture", "llama");
  source.set_array<float>("scores", {1.5f, 2.5f});
  source.add_tensor("a", DType::kI8, {1}, as_bytes("a"));
  source.add_tensor("b", DType::kI8, {1}, as_bytes("b"));
  const auto paths = source.finish();
  ASSERT_EQ(paths.size(), 2u);

  const GgufFile original = GgufFile::open(paths[0]);
  GgufWriter writer(folder / "joined.gguf");
  writer.copy_metadata(original);
  for (const GgufTensor& tensor : original.tensors()) {
    writer.add_tensor(tensor.name, tensor.view.type, tensor.view.shape, as_bytes(as_text(tensor.view)));
  }
  writer.finish();
  const GgufFile joined = GgufFile::open(folder / "joined.gguf");
  ASSERT_EQ(joined.metadata().size(), 2u);
  EXPECT_EQ(joined.find_floats("scores"), (std::vector<double>{1.5, 2.5}));
  EXPECT_EQ(joined.alignment(), 32u);
  EXPECT_EQ(joined.tensors().size(), 2u);
}

TEST(GgufWriter, RefusesWhatTheFormatCannotHold) {
  const TemporaryFolder folder;
  GgufWriter writer(folder / "m.gguf");
  const auto refused = [](auto call, std::string_view part) { expect_error(call, ErrorCode::kInvalidArgument, part); };
  refused([&] { writer.set<bool>("", true); }, "key '': must have from 1 to 65535 bytes");
  refused([&] { writer.set<bool>(std::string(65536, 'k'), true); }, "must have from 1 to 65535 bytes");
  refused([&] { writer.set<uint32_t>("general.alignment", 64); }, "key 'general.alignment': is set by the writer");
  refused([&] { writer.set<uint16_t>("split.count", 2); }, "key 'split.count': is set by the writer");
  const auto value = [](GgufValue::Type type, auto number) { return GgufValue{.type = type, .value = number}; };
  refused([&] { writer.set("a", value(GgufValue::Type::kU8, uint64_t{256})); }, "key 'a': 256 does not fit into u8");
  refused([&] { writer.set("a", value(GgufValue::Type::kI16, int64_t{-32769})); }, "-32769 does not fit into i16");
  refused(
      [&] {
        writer.set("a", {GgufValue::Type::kArray, GgufValue::Type::kBool, GgufValue::Array(std::vector<uint64_t>{2})});
      },
      "key 'a': 2 does not fit into bool");
  refused(
      [&] {
        writer.set("a", {GgufValue::Type::kArray, GgufValue::Type::kArray, GgufValue::Array()});
      },
      "arrays of arrays are not supported");

  const auto add = [&](std::string_view name, DType type, Shape shape, size_t bytes) {
    const std::string data(bytes, 'x');
    writer.add_tensor(name, type, shape, as_bytes(data));
  };
  refused([&] { add("", DType::kF32, {1}, 4); }, "tensor '': a name must have from 1 to 63 bytes");
  refused([&] { add(std::string(64, 'n'), DType::kF32, {1}, 4); }, "a name must have from 1 to 63 bytes");
  refused([&] { add("a", DType::kF32, {2}, 4); }, "tensor 'a': 4 bytes given, [2] F32 has 8");
  refused([&] { add("a", DType::kQ8_0, {33}, 34); }, "tensor 'a': rows of 33 elements are not whole blocks of 32");
  refused([&] { add("a", DType::kF32, {-1}, 4); }, "is negative");
  refused([&] { add("a", DType::kF32, {int64_t{1} << 40, int64_t{1} << 40}, 4); }, "more than 2^63 elements");
  refused([&] { add("a", static_cast<DType>(4), {1}, 4); }, "tensor 'a': unknown type 4");
  add("a", DType::kF32, {1}, 4);  // none of the refused ones took the name
  refused([&] { add("a", DType::kF32, {1}, 4); }, "tensor 'a': was added before");
  refused([&] { GgufWriter(folder / "x.gguf", {.alignment = 48}); }, "alignment 48: must be a power of two from 8 on");
  EXPECT_TRUE(folder.names().empty());
}

TEST(GgufWriter, LeavesNothingBehindWhenASourceFails) {
  const TemporaryFolder folder;
  const auto write_with = [&](GgufWriter::Source source) {
    GgufWriter writer(folder / "m.gguf");
    writer.add_tensor("a", DType::kI8, {4}, source);
    writer.finish();
  };
  const auto refused = [&](GgufWriter::Source source, ErrorCode code, std::string_view part) {
    expect_error([&] { write_with(source); }, code, part);
    EXPECT_TRUE(folder.names().empty());
  };
  refused([](const auto& write) { write(as_bytes("abc")); }, ErrorCode::kInvalidArgument, "gave 3 bytes of 4");
  refused([](const auto& write) { write(as_bytes("abcde")); }, ErrorCode::kInvalidArgument,
          "gave more than its 4 bytes");
  refused([](const auto&) { throw Error(ErrorCode::kCancelled, "enough"); }, ErrorCode::kCancelled, "enough");
}

TEST(GgufWriter, KeepsTheOldFileUntilTheNewOneIsWhole) {
  const TemporaryFolder folder;
  folder.write("m.gguf", "old");
  GgufWriter failing(folder / "m.gguf");
  failing.add_tensor("a", DType::kI8, {4}, [](const auto& write) { write(as_bytes("abc")); });
  expect_error([&] { failing.finish(); }, ErrorCode::kInvalidArgument, "gave 3 bytes of 4");
  EXPECT_EQ(read_bytes(folder / "m.gguf"), "old");

  GgufWriter writer(folder / "m.gguf");
  writer.add_tensor("a", DType::kI8, {4}, [&](const auto& write) {
    EXPECT_EQ(read_bytes(folder / "m.gguf"), "old");
    write(as_bytes("abcd"));
  });
  writer.finish();
  EXPECT_EQ(as_text(*GgufFile::open(folder / "m.gguf").find("a")), "abcd");
  EXPECT_EQ(folder.names(), std::vector<std::string>{"m.gguf"});
}

// A limit on the size of files stands in for a full disk: both are found out by a write that fails.
TEST(GgufWriter, ReportsAFullDiskAndRemovesTheTemporary) {
  const TemporaryFolder folder;
  const std::string large(1 << 20, 'x');
  GgufWriter writer(folder / "m.gguf");
  writer.add_tensor("a", DType::kI8, {1 << 20}, as_bytes(large));
  ::rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const ::rlimit small{1 << 16, before.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  expect_error([&] { writer.finish(); }, ErrorCode::kIo, "m.gguf: cannot write: ");
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_TRUE(folder.names().empty());
}

TEST(GgufWriter, RefusesTargetsThatCannotBeFiles) {
  const TemporaryFolder folder;
  const auto write_to = [](const std::filesystem::path& path) { return [path] { GgufWriter(path).finish(); }; };
  expect_error(write_to(folder / ""), ErrorCode::kInvalidArgument, "exists and is not a regular file");
  expect_error(write_to("/dev/null"), ErrorCode::kInvalidArgument, "/dev/null: exists and is not a regular file");
  expect_error(write_to(folder / "none/m.gguf"), ErrorCode::kIo, "none/m.gguf: cannot create: No such file");
}

// Six tensors of 32 padded bytes each.
std::vector<std::filesystem::path> write_six(const std::filesystem::path& target, GgufWriteOptions options) {
  GgufWriter writer(target, options);
  writer.set<std::string>("general.architecture", "llama");
  const std::string data(32, 'd');
  for (int i = 0; i < 6; ++i) writer.add_tensor(fmt::format("t{}", i), DType::kI8, {32}, as_bytes(data));
  return writer.finish();
}

TEST(GgufWriter, SplitsByNumberOfTensors) {
  const TemporaryFolder folder;
  const auto paths = write_six(folder / "m.gguf", {.max_shard_tensors = 4});
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"m-00001-of-00002.gguf", "m-00002-of-00002.gguf"}));
  const GgufFile file = GgufFile::open(paths[0]);
  ASSERT_EQ(file.tensors().size(), 6u);
  EXPECT_EQ(file.tensors()[3].shard, 0);
  EXPECT_EQ(file.tensors()[4].shard, 1);
  EXPECT_EQ(file.find_value("split.no")->type, GgufValue::Type::kU16);
  EXPECT_EQ(file.find_value("split.tensors.count")->type, GgufValue::Type::kI32);
  EXPECT_EQ(file.get_int("split.count"), 2);
  EXPECT_EQ(file.get_int("split.tensors.count"), 6);
}

TEST(GgufWriter, SplitsByBytesAndGivesALargeTensorItsOwnShard) {
  const TemporaryFolder folder;
  EXPECT_EQ(write_six(folder / "m.gguf", {.max_shard_bytes = 64}).size(), 3u);
  EXPECT_EQ(write_six(folder / "n.gguf", {.max_shard_bytes = 95}).size(), 3u);
  EXPECT_EQ(write_six(folder / "o.gguf", {.max_shard_bytes = 1}).size(), 6u);
  const GgufFile file = GgufFile::open(folder / "o-00001-of-00006.gguf");
  test::walk(file);
  EXPECT_EQ(file.tensors().size(), 6u);
}

TEST(GgufWriter, CanKeepMetadataInAShardOfItsOwn) {
  const TemporaryFolder folder;
  const auto paths = write_six(folder / "m", {.max_shard_tensors = 3, .metadata_in_its_own_shard = true});
  ASSERT_EQ(paths.size(), 3u);
  EXPECT_EQ(paths[2], folder / "m-00003-of-00003.gguf");
  const GgufFile file = GgufFile::open(paths[0]);
  EXPECT_EQ(file.get_string("general.architecture"), "llama");
  EXPECT_EQ(file.tensors()[0].shard, 1);
}

TEST(GgufWriter, PutsOldShardsBackWhenOneOfTheNewCannotTakeItsName) {
  const TemporaryFolder folder;
  const std::vector<std::string> names = {"m-00001-of-00003.gguf", "m-00002-of-00003.gguf", "m-00003-of-00003.gguf"};
  folder.write(names[0], "old");
  GgufWriter writer(folder / "m.gguf", {.max_shard_tensors = 1});
  for (int i = 0; i < 3; ++i) {
    writer.add_tensor(fmt::format("t{}", i), DType::kI8, {4}, [&, i](const auto& write) {
      if (i == 2) std::filesystem::create_directory(folder / names[2]);
      write(as_bytes("abcd"));
    });
  }
  expect_error([&] { writer.finish(); }, ErrorCode::kIo, names[2] + ": cannot rename the finished file: ");
  EXPECT_EQ(folder.names(), (std::vector<std::string>{names[0], names[2]}));
  EXPECT_EQ(read_bytes(folder / names[0]), "old");
}

TEST(GgufWriter, ReplacesOldShardsAndLeavesNothingElse) {
  const TemporaryFolder folder;
  folder.write("m-00001-of-00002.gguf", "old");
  GgufWriter writer(folder / "m.gguf", {.max_shard_tensors = 1});
  for (const char* name : {"a", "b"}) writer.add_tensor(name, DType::kI8, {4}, as_bytes("abcd"));
  writer.finish();
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"m-00001-of-00002.gguf", "m-00002-of-00002.gguf"}));
  EXPECT_EQ(GgufFile::open(folder / "m-00001-of-00002.gguf").tensors().size(), 2u);
}

TEST(GgufWriter, ReplacesNoneOfTheFilesToKeepAndWritesNothingThen) {
  const TemporaryFolder folder;
  folder.write("in", "read");
  std::filesystem::create_hard_link(folder / "in", folder / "m-00003-of-00003.gguf");
  GgufWriter writer(folder / "m.gguf", {.max_shard_tensors = 2, .keep = {folder / "in"}});
  const auto fail = [](const GgufWriter::Sink&) { ADD_FAILURE() << "a source was called"; };
  for (int i = 0; i < 6; ++i) writer.add_tensor(fmt::format("t{}", i), DType::kI8, {32}, fail);
  expect_error([&] { writer.finish(); }, ErrorCode::kInvalidArgument, "m-00003-of-00003.gguf: is the file ");
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"in", "m-00003-of-00003.gguf"}));
  EXPECT_EQ(read_bytes(folder / "in"), "read");
}

TEST(GgufWriter, WritesAnOrdinaryFileWhenOneShardSuffices) {
  const TemporaryFolder folder;
  EXPECT_EQ(write_six(folder / "m.gguf", {.max_shard_tensors = 6}), std::vector{folder / "m.gguf"});
  EXPECT_EQ(GgufFile::open(folder / "m.gguf").find_value("split.count"), nullptr);
  const auto again =
      write_six(folder / "m-00001-of-00009.gguf", {.max_shard_tensors = 5});  // the pattern is not repeated
  EXPECT_EQ(again[1], folder / "m-00002-of-00002.gguf");
}

}  // namespace
}  // namespace ingle
