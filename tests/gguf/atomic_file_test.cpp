#include "gguf/atomic_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/gguf/temporary_folder.h"

namespace ingle::gguf {
namespace {

namespace fs = std::filesystem;
using test::read_bytes;
using test::TemporaryFolder;

void write(const fs::path& target, std::string_view text, Readers readers = Readers::kAsUsual) {
  AtomicFile file(target, readers);
  file.write(std::as_bytes(std::span(text)));
  file.close();
  file.commit();
}

unsigned permissions(const fs::path& path) { return static_cast<unsigned>(fs::status(path).permissions()); }

TEST(AtomicFile, ReplacedKeepsItsPermissions) {
  const TemporaryFolder folder;
  for (const unsigned kept : {0600u, 0666u, 0440u}) {
    fs::permissions(folder.write("a", "old"), fs::perms(kept));
    for (const Readers readers : {Readers::kAsUsual, Readers::kOwner}) {
      write(folder / "a", "new", readers);
      EXPECT_EQ(permissions(folder / "a"), kept);
    }
    EXPECT_EQ(read_bytes(folder / "a"), "new");
    fs::remove(folder / "a");
  }
}

TEST(AtomicFile, NewHasThoseOfTheUmaskOrIsForItsOwner) {
  const TemporaryFolder folder;
  const mode_t before = ::umask(022);
  write(folder / "model", "");
  write(folder / "state", "", Readers::kOwner);
  ::umask(before);
  EXPECT_EQ(permissions(folder / "model"), 0644u);
  EXPECT_EQ(permissions(folder / "state"), 0600u);
}

TEST(AtomicFile, ThroughLinksTheFileTheyLeadToIsReplaced) {
  const TemporaryFolder folder;
  fs::create_directory(folder / "far");
  folder.write("far/there", "old");
  fs::create_symlink("far/there", folder / "second");
  fs::create_symlink(folder / "second", folder / "first");
  fs::create_symlink("far/absent", folder / "dangling");
  write(folder / "first", "new");
  write(folder / "dangling", "made");
  EXPECT_EQ(fs::read_symlink(folder / "first"), folder / "second");
  EXPECT_EQ(fs::read_symlink(folder / "second"), "far/there");
  EXPECT_EQ(read_bytes(folder / "far/there"), "new");
  EXPECT_EQ(read_bytes(folder / "far/absent"), "made");
  EXPECT_TRUE(fs::is_symlink(folder / "dangling"));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder / "far"), {}), 2);
}

TEST(AtomicFile, TakenBackTheOldFileIsThereAgain) {
  const TemporaryFolder folder;
  folder.write("old", "old");
  for (const char* name : {"old", "absent"}) {
    AtomicFile file(folder / name);
    file.close();
    file.keep_old();
    file.commit();
    EXPECT_EQ(read_bytes(folder / name), "");
    file.take_back();
  }
  EXPECT_EQ(folder.names(), std::vector<std::string>{"old"});
  EXPECT_EQ(read_bytes(folder / "old"), "old");
}

}  // namespace
}  // namespace ingle::gguf
