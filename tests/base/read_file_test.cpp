#include "base/read_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/expect_error.h"
#include "tests/gguf/temporary_folder.h"

namespace ingle {
namespace {

class ReadFile : public ::testing::Test {
 protected:
  void expect_error(const std::filesystem::path& path, size_t most_bytes, ErrorCode code, const std::string& message) {
    test::expect_error([&] { read_file(path, most_bytes); }, code, message);
  }
  const test::TemporaryFolder folder_;
};

TEST_F(ReadFile, GivesTheBytesAsTheyAre) {
  std::string bytes(300000, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 7 % 251);
  EXPECT_TRUE(read_file(folder_.write("a", bytes)) == bytes);
  EXPECT_EQ(read_file(folder_.write("empty", "")), "");
}

TEST_F(ReadFile, ReadsFilesThatDoNotTellTheirSize) { EXPECT_NE(read_file("/proc/self/status"), ""); }

TEST_F(ReadFile, ReadsNoMoreThanIsAllowed) {
  const std::filesystem::path path = folder_.write("a", "12345");
  EXPECT_EQ(read_file(path, 5), "12345");
  expect_error(path, 4, ErrorCode::kInvalidFile, path.native() + ": 5 bytes, at most 4 are read");
  expect_error("/proc/self/status", 4, ErrorCode::kInvalidFile, "bytes, at most 4 are read");
  std::filesystem::resize_file(path, uintmax_t{1} << 40);  // a hole: nothing of it is read
  expect_error(path, kMostTextBytes, ErrorCode::kInvalidFile, ": 1099511627776 bytes, at most 536870912 are read");
}

TEST_F(ReadFile, SaysWhatItCannotRead) {
  const auto refused = [&](const std::filesystem::path& path, ErrorCode code, const std::string& what) {
    expect_error(path, 100, code, path.native() + what);
    test::expect_error([&] { begins_with(path, "x"); }, code, path.native() + what);
  };
  refused(folder_ / "none", ErrorCode::kNotFound, ": no such file");
  refused(folder_.write("a", "x") / "b", ErrorCode::kNotFound, ": no such file");
  refused(folder_ / "", ErrorCode::kInvalidFile, ": is a directory");
  ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  refused(folder_ / "pipe", ErrorCode::kInvalidFile, ": is not a regular file");
  if (::geteuid() == 0) return;  // who may read everything
  ASSERT_EQ(::chmod((folder_ / "a").c_str(), 0), 0);
  refused(folder_ / "a", ErrorCode::kIo, ": cannot open: Permission denied");
}

TEST_F(ReadFile, KnowsHowAFileBegins) {
  EXPECT_TRUE(begins_with(folder_.write("a", "GGUF..."), "GGUF"));
  EXPECT_TRUE(begins_with(folder_.write("b", "GGUF"), "GGUF"));
  EXPECT_FALSE(begins_with(folder_.write("c", "GGU"), "GGUF"));
  EXPECT_FALSE(begins_with(folder_.write("d", "<svg>GGUF"), "GGUF"));
}

}  // namespace
}  // namespace ingle
