#include "base/read_ahead.h"

#include <gtest/gtest.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "base/mapped_file.h"

namespace ingle {
namespace {

constexpr size_t kMegabyte = size_t{1} << 20;

// A mapped file of zeros that goes with the test.
class ReadAheadTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string path = (std::filesystem::temp_directory_path() / "ingle-test-XXXXXX").native();
    const int file = ::mkstemp(path.data());
    EXPECT_EQ(::ftruncate(file, static_cast<off_t>(24 * kMegabyte)), 0);
    struct statfs system = {};
    EXPECT_EQ(::fstatfs(file, &system), 0);
    ::close(file);
    file_ = MappedFile::open(path);
    std::filesystem::remove(path);
    if (system.f_type == TMPFS_MAGIC) GTEST_SKIP() << "files in memory are not read ahead";
    if (resident_pages(file_.bytes()) != 0) GTEST_SKIP() << "the system does not say what is in memory";
  }

  std::span<const std::byte> part(size_t offset, size_t bytes) const { return file_.bytes().subspan(offset, bytes); }

  // Pages of `bytes` that are in memory.
  static size_t resident_pages(std::span<const std::byte> bytes) {
    const size_t page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
    std::vector<unsigned char> pages((bytes.size() + page - 1) / page);
    EXPECT_EQ(::mincore(const_cast<std::byte*>(bytes.data()), bytes.size(), pages.data()), 0);
    return static_cast<size_t>(std::ranges::count_if(pages, [](unsigned char state) { return (state & 1) != 0; }));
  }

  static void expect_resident(std::span<const std::byte> bytes) {
    const size_t all = bytes.size() / static_cast<size_t>(::sysconf(_SC_PAGESIZE));
    size_t resident = 0;
    for (int i = 0; i < 1000 && resident < all; ++i) {
      resident = resident_pages(bytes);
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    EXPECT_EQ(resident, all);
  }

  MappedFile file_;
};

TEST_F(ReadAheadTest, WhatIsWantedComesIntoMemory) {
  ReadAhead ahead;
  ahead.want(part(0, 6 * kMegabyte));
  expect_resident(part(0, 6 * kMegabyte));
}

TEST_F(ReadAheadTest, RequestsMayOverlapAndGoBack) {
  ReadAhead ahead;
  ahead.want(part(8 * kMegabyte, 4 * kMegabyte));
  expect_resident(part(8 * kMegabyte, 4 * kMegabyte));
  ahead.want(part(10 * kMegabyte, 4 * kMegabyte));
  expect_resident(part(12 * kMegabyte, 2 * kMegabyte));
  ahead.want(part(0, 2 * kMegabyte));
  expect_resident(part(0, 2 * kMegabyte));
  ahead.want(part(20 * kMegabyte + 1, 2 * kMegabyte));
  expect_resident(part(20 * kMegabyte, 2 * kMegabyte));
}

TEST_F(ReadAheadTest, EndsWhateverIsLeft) {
  for (int i = 0; i < 20; ++i) {
    ReadAhead ahead;
    ahead.want({});
    ahead.want(file_.bytes());
  }
}

}  // namespace
}  // namespace ingle
