#include "ingle/input_files.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/expect_error.h"
#include "tests/gguf/temporary_folder.h"

namespace ingle {
namespace {

namespace fs = std::filesystem;
using test::expect_error;
using test::TemporaryFolder;

TEST(InputFiles, OfAWholeModelAreItself) { EXPECT_EQ(model_files("a/m.gguf"), std::vector<fs::path>{"a/m.gguf"}); }

TEST(InputFiles, OfAShardAreAllShards) {
  const std::vector<fs::path> files = model_files("a/m-00001-of-00003.gguf");
  EXPECT_EQ(files,
            (std::vector<fs::path>{"a/m-00001-of-00003.gguf", "a/m-00002-of-00003.gguf", "a/m-00003-of-00003.gguf"}));
}

TEST(InputFiles, AreKnownByEveryName) {
  const TemporaryFolder folder;
  const fs::path input = folder.write("in", "x");
  fs::create_symlink("in", folder / "symbolic");
  fs::create_hard_link(input, folder / "hard");
  fs::create_directory(folder / "inner");
  for (const fs::path& target : {folder / "symbolic", folder / "hard", folder / "inner/../in", fs::relative(input)}) {
    expect_error(
        [&] {
          refuse_to_replace(target, {{folder / "other", input}});
        },
        ErrorCode::kInvalidArgument,
        target.native() + ": is the file " + input.native() + ", which is read; it cannot be the one to write");
  }
  expect_error([&] { refuse_to_replace(input, {{input}}); }, ErrorCode::kInvalidArgument,
               input.native() + ": is a file to read, it cannot be the one to write");
}

TEST(InputFiles, AreNotWhatIsAbsentOrAnotherFileOrADevice) {
  const TemporaryFolder folder;
  folder.write("in", "x");
  folder.write("out", "x");
  EXPECT_NO_THROW(refuse_to_replace(folder / "out", {{folder / "in"}}));
  EXPECT_NO_THROW(refuse_to_replace(folder / "absent", {{folder / "absent", folder / "in"}}));
  EXPECT_NO_THROW(refuse_to_replace("/dev/null", {{"/dev/null"}}));
}

}  // namespace
}  // namespace ingle
