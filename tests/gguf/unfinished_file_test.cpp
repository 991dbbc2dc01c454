#include "ingle/unfinished_file.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "gguf/atomic_file.h"
#include "tests/gguf/temporary_folder.h"

namespace ingle {
namespace {

using test::TemporaryFolder;
using Names = std::vector<std::string>;

TEST(UnfinishedFile, GoesWithItsObjectUnlessItWasFinished) {
  const TemporaryFolder folder;
  {
    const UnfinishedFile left(folder.write("left", ""));
    UnfinishedFile kept(folder.write("kept", ""));
    UnfinishedFile moved(std::move(kept));
    moved.finished();
  }
  EXPECT_EQ(folder.names(), Names({"kept"}));
}

// In a process of its own: what was taken from the list is never freed.
TEST(UnfinishedFile, AllOfAProcessGoAtOnce) {
  const TemporaryFolder folder;
  const auto end_early = [&] {
    std::vector<UnfinishedFile> files;
    for (const char* name : {"a", "b", "c"}) files.emplace_back(folder.write(name, ""));
    files.pop_back();
    files[0].finished();
    files.emplace_back(folder.write("d", ""));
    remove_unfinished_files();
    const bool gone = folder.names() == Names({"a"});
    folder.write("b", "somebody else's");
    remove_unfinished_files();
    std::_Exit(gone ? 0 : 1);
  };
  EXPECT_EXIT(end_early(), testing::ExitedWithCode(0), "");
  EXPECT_EQ(folder.names(), Names({"a", "b"}));
}

TEST(UnfinishedFile, AnAtomicFileIsOneUntilItHasItsName) {
  const TemporaryFolder folder;
  const auto end_early = [&] {
    gguf::AtomicFile first(folder / "first"), second(folder / "second");
    first.close();
    first.commit();
    remove_unfinished_files();
    std::_Exit(0);
  };
  EXPECT_EXIT(end_early(), testing::ExitedWithCode(0), "");
  EXPECT_EQ(folder.names(), Names({"first"}));
}

}  // namespace
}  // namespace ingle
