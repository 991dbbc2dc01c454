#include "apps/ingle/chat/history_file.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/gguf/temporary_folder.h"

namespace ingle::app {
namespace {

using test::read_bytes;
using test::TemporaryFolder;

int size(const HistoryFile& history) {
  HistEvent event;
  ::history(history.lines(), &event, H_GETSIZE);
  return event.num;
}

TEST(HistoryFile, ALineIsInTheFileAtOnceAndReadAgain) {
  const TemporaryFolder folder;
  HistoryFile history(folder / "a folder/history");
  history.add("two\nlines, \xc3\xa9");
  history.add("one");
  const HistoryFile later(folder / "a folder/history");
  HistEvent event;
  ASSERT_EQ(size(later), 2);
  ::history(later.lines(), &event, H_LAST);
  EXPECT_STREQ(event.str, "two\nlines, \xc3\xa9");
}

TEST(HistoryFile, OfTheFileTheNewestLinesStay) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "history";
  {
    HistoryFile history(path);
    for (int i = 0; i < HistoryFile::kLines; ++i) history.add(std::to_string(i));
    HistoryFile other(path);
    other.add("other");
    history.add("last");
    EXPECT_EQ(size(history), HistoryFile::kLines);
  }
  const std::string text = read_bytes(path);
  EXPECT_EQ(std::ranges::count(text, '\n'), 1 + HistoryFile::kLines);
  EXPECT_TRUE(text.starts_with("_HiStOrY_V2_\n2\n3\n")) << text.substr(0, 40);
  EXPECT_TRUE(text.ends_with("\n999\nother\nlast\n"));
}

TEST(HistoryFile, IsNobodyElsesBusiness) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.write("history", "_HiStOrY_V2_\n");
  std::filesystem::permissions(path, std::filesystem::perms(0644));
  HistoryFile(path).add("a secret");
  EXPECT_EQ(std::filesystem::status(path).permissions(), std::filesystem::perms(0600));
}

TEST(HistoryFile, OneThatCannotBeWrittenIsNotKept) {
  HistoryFile history("/dev/null/history");
  history.add("one");
  EXPECT_EQ(size(history), 1);
}

}  // namespace
}  // namespace ingle::app
