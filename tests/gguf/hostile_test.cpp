// Files made to break a reader: each must end in one clear Error or in a valid file, quickly and in little memory.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <limits>
#include <new>

#include "gguf/gguf.h"
#include "tests/expect_error.h"
#include "tests/gguf/fuzz/walk.h"
#include "tests/gguf/gguf_bytes.h"

namespace {

// What this program holds on the heap, and the most it ever held since the last reset.
std::atomic<size_t> live_bytes{0};
std::atomic<size_t> peak_bytes{0};

}  // namespace

[[gnu::noinline]] void* operator new(size_t size) {
  void* memory = std::malloc(size);
  if (memory == nullptr) throw std::bad_alloc();
  const size_t live = live_bytes += ::malloc_usable_size(memory);
  if (live > peak_bytes) peak_bytes = live;
  return memory;
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  live_bytes -= ::malloc_usable_size(memory);
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { operator delete(memory); }

namespace ingle {
namespace {

using test::GgufBytes;
using test::sample_file;

constexpr int64_t kMaxInt64 = std::numeric_limits<int64_t>::max();

// Parses, walks what came out, and returns the message of the Error, or "" when the file is valid.
std::string try_parse(std::span<const std::byte> bytes) {
  try {
    test::walk(GgufFile::parse(bytes, "m.gguf"));
    return "";
  } catch (const Error& error) {
    EXPECT_TRUE(error.code() == ErrorCode::kInvalidFile || error.code() == ErrorCode::kUnsupported) << error.what();
    return error.what();
  }
}

template <class Call>
size_t peak_of(Call call) {
  const size_t before = live_bytes;
  peak_bytes = before;
  call();
  return peak_bytes - before;
}

// Refused with this code and message, in a moment, and without memory for what the file only claims to have.
void expect_refused(const GgufBytes& file, std::string_view part, ErrorCode code = ErrorCode::kInvalidFile) {
  const std::clock_t start = std::clock();  // of this process, whatever else the machine does
  const size_t peak =
      peak_of([&] { test::expect_error([&] { GgufFile::parse(file.bytes(), "m.gguf"); }, code, part); });
  EXPECT_LT(peak, 64 * 1024 + 16 * file.size()) << part;
  EXPECT_LT(std::clock() - start, CLOCKS_PER_SEC) << part;
}

GgufBytes one_key(std::string_view key, uint32_t type) {
  GgufBytes file;
  file.header(0, 1).key(key, type);
  return file;
}

// One tensor and some data after it.
GgufBytes one_tensor(std::initializer_list<int64_t> extents, uint32_t type, uint64_t offset = 0) {
  GgufBytes file;
  file.header(1, 0).tensor("blk.0.attn_q.weight", extents, type, offset).pad().fill(4096);
  return file;
}

TEST(HostileGguf, RefusesOtherMagicAndVersions) {
  GgufBytes file;
  expect_refused(file.raw("GGUE").fill(40), "does not look like a GGUF file (starts with 'GGUE')");
  const auto version = [](uint32_t v) { return GgufBytes().header(0, 0, v); };
  expect_refused(version(0), "GGUF version 0 is not supported", ErrorCode::kUnsupported);
  expect_refused(version(1), "version 1 is obsolete", ErrorCode::kUnsupported);
  expect_refused(version(4), "GGUF version 4 is not supported, only 2 and 3", ErrorCode::kUnsupported);
  expect_refused(version(0x03000000), "big-endian GGUF files are not supported", ErrorCode::kUnsupported);
}

TEST(HostileGguf, RefusesCountsTheFileCannotHold) {
  for (const uint64_t count : {~uint64_t{0}, uint64_t{kMaxInt64}, uint64_t{1} << 32, uint64_t{8}}) {
    expect_refused(GgufBytes().header(count, 0).fill(100), fmt::format("says that {} tensors follow", count));
    expect_refused(GgufBytes().header(0, count).fill(100), fmt::format("says that {} keys follow", count));
  }
  expect_refused(GgufBytes().header(3, 4).fill(100), "says that 3 tensors follow");  // 4 keys fit, 3 tensors, not both
}

TEST(HostileGguf, RefusesStringsLongerThanTheFile) {
  for (const uint64_t length : {uint64_t{101}, uint64_t{1} << 31, uint64_t{1} << 63, ~uint64_t{0}, ~uint64_t{0} - 31}) {
    expect_refused(GgufBytes().header(0, 1).put(length).fill(100), "key 0 at offset 24: a key of");
    expect_refused(one_key("a.b", test::kString).put(length).fill(100), "key 'a.b' at offset 24: a string of");
    expect_refused(one_key("a.b", test::kArray).put<uint32_t>(test::kString).put<uint64_t>(1).put(length).fill(100),
                   "key 'a.b' at offset 24: a string of");
    expect_refused(GgufBytes().header(1, 0).put(length).fill(100), "tensor 0 at offset 24: a tensor name of");
  }
}

TEST(HostileGguf, RefusesEmptyAndRepeatedKeys) {
  expect_refused(one_key("", test::kU8).fill(10), "key '' at offset 24: the key is empty");
  GgufBytes twice;
  twice.header(0, 3)
      .key("a", test::kU8)
      .put<uint8_t>(1)
      .key("b", test::kU8)
      .put<uint8_t>(2)
      .key("a", test::kU32)
      .fill(4);
  expect_refused(twice, "m.gguf: key 'a' is there twice, at offsets 24 and 52");
  expect_refused(one_key(std::string(65536, 'k'), test::kU8).fill(10), "a key of 65536 bytes at 32, at most 65535");
}

TEST(HostileGguf, RefusesUnknownValueTypes) {
  expect_refused(one_key("a", 13).fill(100), "key 'a' at offset 24: a value type 13 is unknown");
  expect_refused(one_key("a", 0xffffffff).fill(100), "a value type 4294967295 is unknown");
  expect_refused(one_key("a", test::kArray).put<uint32_t>(13).put<uint64_t>(1).fill(100),
                 "an element type 13 is unknown");
  expect_refused(one_key("a", test::kArray).put<uint32_t>(test::kArray).put<uint64_t>(1).fill(100),
                 "key 'a' at offset 24: arrays of arrays are not supported", ErrorCode::kUnsupported);
}

TEST(HostileGguf, RefusesArraysLargerThanTheFile) {
  for (const uint32_t type : {test::kU8, test::kF32, test::kF64, test::kBool, test::kString}) {
    for (const uint64_t count :
         {uint64_t{101}, uint64_t{1} << 31, uint64_t{1} << 61, uint64_t{1} << 62, ~uint64_t{0}}) {
      GgufBytes file;
      file.header(0, 1).array("a", type, count).fill(100, 0);
      expect_refused(file, fmt::format("key 'a' at offset 24: array of {} x ", count));
    }
  }
}

TEST(HostileGguf, RefusesBoolsThatAreNeither) {
  expect_refused(one_key("a", test::kBool).put<uint8_t>(2), "bool byte 2 at 37 is neither 0 nor 1");
  GgufBytes file;
  file.header(0, 1).array("a", test::kBool, 2).put<uint8_t>(1).put<uint8_t>(255);
  expect_refused(file, "bool byte 255 at 50");
}

TEST(HostileGguf, RefusesAlignmentsThatCannotBe) {
  expect_refused(one_key("general.alignment", test::kU64).put<uint64_t>(32), "is u64, it must be u32");
  expect_refused(one_key("general.alignment", test::kString).text("32"), "is string, it must be u32");
  for (const uint32_t alignment : {0u, 1u, 4u, 24u, 33u, 0xffffffffu}) {
    expect_refused(one_key("general.alignment", test::kU32).put(alignment),
                   fmt::format("key 'general.alignment' at offset 24: is {}, it must be a power of two", alignment));
  }
  GgufBytes huge;
  huge.header(2, 1).key("general.alignment", test::kU32).put<uint32_t>(1u << 31);
  huge.tensor("a", {1}, 0, 0).tensor("b", {1}, 0, uint64_t{1} << 31).fill(100);
  expect_refused(huge, "tensor 'b' at offset 90: data starts at 2147483648 or later");
}

TEST(HostileGguf, RefusesTensorNamesThatAreEmptyLongOrTaken) {
  expect_refused(GgufBytes().header(1, 0).tensor("", {1}, 0, 0).pad().fill(32),
                 "tensor '' at offset 24: the name is empty");
  expect_refused(GgufBytes().header(1, 0).tensor(std::string(64, 'n'), {1}, 0, 0).pad().fill(32),
                 "a tensor name of 64 bytes at 32, at most 63 are allowed");
  expect_refused(GgufBytes().header(2, 0).tensor("a", {1}, 0, 0).tensor("a", {1}, 0, 32).pad().fill(64),
                 "tensor 'a' is there twice, at offset 96 of shard 1 and 128 of shard 1");
}

TEST(HostileGguf, RefusesShapesThatOverflow) {
  expect_refused(one_tensor({1, 1, 1, 1, 1}, 0), "tensor 'blk.0.attn_q.weight' at offset 24: 5 dimensions");
  expect_refused(one_tensor({-1}, 0), "extent -1 in [-1] is negative");
  expect_refused(one_tensor({2, std::numeric_limits<int64_t>::min()}, 0), "is negative");
  const std::string_view elements = "has more than 2^63 elements";
  expect_refused(one_tensor({kMaxInt64, 2}, 0), elements);
  expect_refused(one_tensor({int64_t{1} << 32, int64_t{1} << 32}, 0), elements);
  expect_refused(one_tensor({2, int64_t{1} << 31, int64_t{1} << 31, 4}, 0), elements);
  expect_refused(one_tensor({0, kMaxInt64, 2}, 0), elements);  // a zero must not hide the others
  expect_refused(one_tensor({kMaxInt64, 2, 0}, 0), elements);
  expect_refused(one_tensor({kMaxInt64}, 0), "has more than 2^63 bytes");
  expect_refused(one_tensor({0, kMaxInt64}, 28), "has more than 2^63 bytes");
  expect_refused(one_tensor({kMaxInt64 / 8}, 0), "bytes, the file only");
  expect_refused(one_tensor({33}, 8), "rows of 33 elements are not whole blocks of 32 (Q8_0)");
  expect_refused(one_tensor({}, 8), "rows of 1 elements are not whole blocks of 32 (Q8_0)");
}

TEST(HostileGguf, RefusesTypesThatAreNotInTheTable) {
  for (const uint32_t type : {4u, 5u, 31u, 33u, 36u, 137u, 1000u, 0xffffffffu}) {
    expect_refused(
        one_tensor({256}, type),
        fmt::format("tensor 'blk.0.attn_q.weight' at offset 24: tensor type {}: {}", type, describe_unknown_type(type)),
        ErrorCode::kUnsupported);
  }
}

TEST(HostileGguf, RefusesOffsetsWithGapsOverlapsOrWrapping) {
  expect_refused(one_tensor({8}, 0, 8), "data offset 8 is not a multiple of 32");
  expect_refused(one_tensor({8}, 0, 32), "data offset 32 does not follow the tensor before it, which ends at 0");
  expect_refused(one_tensor({8}, 0, ~uint64_t{31}), "data offset 18446744073709551584 does not follow");
  const auto second_at = [](uint64_t offset) {
    return GgufBytes().header(2, 0).tensor("a", {9}, 0, 0).tensor("b", {1}, 0, offset).pad().fill(4096);
  };
  EXPECT_EQ(try_parse(second_at(64).bytes()), "");
  expect_refused(second_at(0), "tensor 'b' at offset 57: data offset 0 does not follow");
  expect_refused(second_at(32), "data offset 32 does not follow the tensor before it, which ends at 64");
  expect_refused(second_at(96), "data offset 96 does not follow");
}

TEST(HostileGguf, SaysWhereATensorEndsThatTheFileDoesNotHold) {
  GgufBytes file;
  file.header(1, 0).tensor("a", {1024}, 0, 0).pad().fill(4095);
  expect_refused(file, "m.gguf: tensor 'a' at offset 64: ends at 4160, file has 4159 bytes");
}

TEST(HostileGguf, RefusesAShardInMemory) {
  GgufBytes file;
  file.header(0, 3).key("split.no", test::kU16).put<uint16_t>(0).key("split.count", test::kU16).put<uint16_t>(2);
  file.key("split.tensors.count", test::kI32).put<int32_t>(0);
  expect_refused(file, "is one of 2 shards", ErrorCode::kUnsupported);
}

TEST(HostileGguf, IsRefusedWhereverItIsCut) {
  const GgufBytes file = sample_file();
  for (size_t length = 0; length < file.size(); ++length) {
    const auto cut = file.bytes().first(length);
    const std::vector<std::byte> exact(cut.begin(), cut.end());  // so that a sanitizer sees a read past the end
    const std::string message = try_parse(exact);
    // The last tensor is empty and lies after the last padding, so every byte is needed.
    EXPECT_TRUE(message.starts_with("m.gguf: ")) << "cut to " << length << " bytes: " << message;
  }
  EXPECT_EQ(try_parse(file.bytes()), "");
}

// Every bit, and every byte as 0, 0x7f, 0x80 and 0xff.
TEST(HostileGguf, SurvivesEveryChangedByte) {
  const GgufBytes file = sample_file();
  const size_t header_bytes = file.size() - 320;
  int refused = 0;
  int accepted = 0;
  std::vector<std::byte> bytes(file.bytes().begin(), file.bytes().end());
  for (size_t i = 0; i < header_bytes; ++i) {
    const std::byte original = bytes[i];
    std::vector<std::byte> changes;
    for (int bit = 0; bit < 8; ++bit) changes.push_back(original ^ static_cast<std::byte>(1 << bit));
    for (const int value : {0, 0x7f, 0x80, 0xff}) changes.push_back(static_cast<std::byte>(value));
    for (const std::byte change : changes) {
      bytes[i] = change;
      std::string message;
      const size_t peak = peak_of([&] { message = try_parse(bytes); });
      EXPECT_LT(peak, 64 * 1024u) << "byte " << i << " changed to " << static_cast<int>(change);
      ++(message.empty() ? accepted : refused);
    }
    bytes[i] = original;
  }
  EXPECT_GT(refused, 3000);   // lengths, types, counts, extents
  EXPECT_GT(accepted, 1000);  // values and letters of names
}

TEST(HostileGguf, TakesMemoryInProportionToTheFile) {
  constexpr uint64_t kCount = 20000;
  GgufBytes bytes, texts, keys, tensors;
  bytes.header(0, 1).array("a", test::kU8, kCount * 8).fill(kCount * 8);
  texts.header(0, 1).array("a", test::kString, kCount).fill(kCount * 8, 0);
  keys.header(0, kCount);
  tensors.header(kCount, 0);
  for (uint64_t i = 0; i < kCount; ++i) {
    const std::string name = fmt::format("{:x}", i);
    keys.key(name, test::kU8).put<uint8_t>(0);
    tensors.tensor(name, {}, 24, i * 32);
  }
  tensors.pad().fill(kCount * 32);
  for (const GgufBytes* file : {&bytes, &texts, &keys, &tensors}) {
    std::string message;
    const size_t peak = peak_of([&] { message = try_parse(file->bytes()); });
    EXPECT_EQ(message, "");
    EXPECT_LT(peak, 20 * file->size());
  }
}

TEST(HostileGguf, RefusesMetadataThatDecodesToMoreThanAGibibyte) {
  constexpr uint64_t kCount = (uint64_t{1} << 27) + 1;  // 8 bytes of memory each
  GgufBytes start;
  start.header(0, 1).array("a", test::kU8, kCount);
  const size_t size = start.size() + kCount;
  // Pages of zeros that take no memory until somebody writes to them.
  void* pages = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(pages, MAP_FAILED);
  std::memcpy(pages, start.string().data(), start.size());
  const std::span<const std::byte> file(static_cast<const std::byte*>(pages), size);
  std::string message;
  EXPECT_LT(peak_of([&] { message = try_parse(file); }), 64 * 1024u);
  EXPECT_EQ(message, "m.gguf: key 'a' at offset 24: keys and tensor names take more than 1024 MiB of memory");
  ::munmap(pages, size);
}

}  // namespace
}  // namespace ingle
