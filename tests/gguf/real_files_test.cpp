// Files written by others. They are not part of the repository; without them these tests are skipped.
#include <gtest/gtest.h>

#include <cstdlib>

#include "gguf/gguf.h"
#include "gguf/writer.h"
#include "tests/gguf/fuzz/walk.h"
#include "tests/gguf/temporary_folder.h"

namespace ingle {
namespace {

std::vector<std::filesystem::path> vocabulary_files() {
  const char* shared = std::getenv("INGLE_SHARED");
  const std::filesystem::path root = shared != nullptr ? shared : INGLE_SOURCE_DIR "/../shared";
  std::vector<std::filesystem::path> paths;
  std::error_code missing;
  for (const auto& entry : std::filesystem::directory_iterator(root / "data/vocab", missing)) {
    if (entry.path().extension() == ".gguf") paths.push_back(entry.path());
  }
  return paths;
}

TEST(RealGgufFiles, VocabulariesOpenAndAreConsistent) {
  const auto paths = vocabulary_files();
  if (paths.empty()) GTEST_SKIP() << "no vocabulary files";
  for (const auto& path : paths) {
    SCOPED_TRACE(path.native());
    const GgufFile file = GgufFile::open(path);
    test::walk(file);
    EXPECT_TRUE(file.tensors().empty());
    EXPECT_FALSE(file.get_string("general.architecture").empty());
    const auto tokens = file.find_strings("tokenizer.ggml.tokens");
    ASSERT_TRUE(tokens);
    EXPECT_GT(tokens->size(), 1000u);
    if (const auto types = file.find_ints("tokenizer.ggml.token_type")) {
      EXPECT_EQ(types->size(), tokens->size());
    }
    if (const auto scores = file.find_floats("tokenizer.ggml.scores")) {
      EXPECT_EQ(scores->size(), tokens->size());
    }
  }
}

TEST(RealGgufFiles, VocabulariesAreTheSameAfterWritingThemAgain) {
  const auto paths = vocabulary_files();
  if (paths.empty()) GTEST_SKIP() << "no vocabulary files";
  const test::TemporaryFolder folder;
  for (const auto& path : paths) {
    SCOPED_TRACE(path.native());
    GgufWriter writer(folder / "copy.gguf");
    writer.copy_metadata(GgufFile::open(path));
    writer.finish();
    std::string original = test::read_bytes(path);
    original[4] = 3;  // the writer always writes version 3
    EXPECT_TRUE(test::read_bytes(folder / "copy.gguf") == original);
  }
}

}  // namespace
}  // namespace ingle
