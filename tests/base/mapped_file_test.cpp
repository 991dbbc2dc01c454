#include "base/mapped_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

#include "ingle/error.h"

namespace ingle {
namespace {

// A folder that goes with the test.
class MappedFileTest : public ::testing::Test {
 protected:
  MappedFileTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "ingle-test-XXXXXX").native();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~MappedFileTest() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path write(std::string_view name, std::string_view bytes) const {
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
    return folder_ / name;
  }

  static void expect_error(const std::filesystem::path& path, ErrorCode code, const std::string& message) {
    try {
      MappedFile::open(path);
      ADD_FAILURE() << "opened " << path;
    } catch (const Error& error) {
      EXPECT_EQ(static_cast<int>(error.code()), static_cast<int>(code));
      EXPECT_EQ(std::string(error.what()), message);
    }
  }

  std::filesystem::path folder_;
};

std::string_view as_text(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

TEST_F(MappedFileTest, ShowsTheBytesOfTheFile) { EXPECT_EQ(as_text(MappedFile::open(write("a", "hello"))), "hello"); }

// 1 GiB of holes, and half of that left to map.
TEST_F(MappedFileTest, WithoutAddressSpaceMemoryIsWhatIsMissing) {
  const std::filesystem::path path = write("a", "");
  std::filesystem::resize_file(path, size_t{1} << 30);
  size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  ::rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_AS, &before), 0);
  const ::rlimit small{pages * static_cast<size_t>(::sysconf(_SC_PAGESIZE)) + (size_t{1} << 29), before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &small), 0);
  expect_error(path, ErrorCode::kOutOfMemory,
               path.native() + ": no address space for its 1073741824 bytes; ulimit -v shows whether it is limited");
  ::setrlimit(RLIMIT_AS, &before);
}

TEST_F(MappedFileTest, StaysWhereItIsWhenMoved) {
  MappedFile first = MappedFile::open(write("a", "first"));
  const std::byte* data = first.bytes().data();
  MappedFile second = std::move(first);
  EXPECT_EQ(second.bytes().data(), data);
  EXPECT_TRUE(first.bytes().empty());
  first = MappedFile::open(write("b", "other"));
  EXPECT_EQ(as_text(first), "other");
  EXPECT_EQ(as_text(second), "first");
}

TEST_F(MappedFileTest, CanReadAgainWhatWasDropped) {
  std::string bytes(3 * 65536 + 100, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i % 251);
  const MappedFile file = MappedFile::open(write("a", bytes));
  file.drop(10, 200000);
  EXPECT_TRUE(as_text(file) == bytes);
  file.drop(0, bytes.size());
  file.drop(bytes.size() - 1, ~size_t{0});  // no more than there is
  file.drop(bytes.size(), 1);
  file.drop(~size_t{0}, 1);
  EXPECT_TRUE(as_text(file) == bytes);
}

// In a process of its own: what was taken from the list is never freed.
TEST_F(MappedFileTest, AHandlerLearnsWhoseAddressItIs) {
  const std::filesystem::path path = write("a", "bytes");
  MappedFile moved = MappedFile::open(path);
  const MappedFile file = std::move(moved);
  const MappedFile other = MappedFile::open(write("b", "others"));
  const auto ask = [&] {
    const char* name = MappedFile::name_at(file.bytes().data() + 4);
    std::_Exit(name != nullptr && name == path.native() ? 0 : 1);
  };
  EXPECT_EXIT(ask(), testing::ExitedWithCode(0), "");
}

TEST_F(MappedFileTest, WhatIsNoLongerMappedIsNobodys) {
  const std::byte* address = MappedFile::open(write("a", "bytes")).bytes().data();
  EXPECT_EQ(MappedFile::name_at(address), nullptr);
}

TEST_F(MappedFileTest, SaysWhatItCannotMap) {
  const std::string folder = folder_.native();
  expect_error(folder_ / "none", ErrorCode::kNotFound, folder + "/none: no such file");
  expect_error(write("a", "x") / "b", ErrorCode::kNotFound, folder + "/a/b: no such file");
  expect_error(folder_, ErrorCode::kInvalidFile, folder + ": is a directory");
  expect_error(write("empty", ""), ErrorCode::kInvalidFile, folder + "/empty: is empty");
  ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);  // and it does not wait for a writer
  expect_error(folder_ / "pipe", ErrorCode::kInvalidFile, folder + "/pipe: is not a regular file");
  expect_error("/dev/zero", ErrorCode::kInvalidFile, "/dev/zero: is not a regular file");
  ASSERT_EQ(::symlink("loop", (folder_ / "loop").c_str()), 0);
  expect_error(folder_ / "loop", ErrorCode::kIo, folder + "/loop: cannot open: Too many levels of symbolic links");
}

}  // namespace
}  // namespace ingle
