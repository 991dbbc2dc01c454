// Small parts: UTF-8, tables, statistics, files, lines that belong together, conversations.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "apps/ingle/chat/conversation.h"
#include "apps/ingle/chat/line_joiner.h"
#include "apps/ingle/files.h"
#include "apps/ingle/json_reading.h"
#include "apps/ingle/statistics.h"
#include "apps/ingle/table.h"
#include "apps/ingle/terminal.h"
#include "apps/ingle/utf8.h"
#include "ingle/error.h"

namespace ingle::app {
namespace {

using testing::HasSubstr;

TEST(Utf8, NamesTheFirstByteThatBelongsToNoCharacter) {
  EXPECT_EQ(find_invalid_utf8("grün, 日本, 🙂"), std::nullopt);
  EXPECT_EQ(find_invalid_utf8("ab\xff"
                              "c"),
            2u);
  EXPECT_EQ(find_invalid_utf8("\xc3"), 0u);              // cut off
  EXPECT_EQ(find_invalid_utf8("a\xc0\x80"), 1u);         // overlong
  EXPECT_EQ(find_invalid_utf8("\xed\xa0\x80"), 0u);      // a surrogate
  EXPECT_EQ(find_invalid_utf8("\xf4\x90\x80\x80"), 0u);  // above U+10FFFF
}

TEST(Utf8, BadBytesBecomeReplacementCharacters) { EXPECT_EQ(to_valid_utf8("a\xff\xc3z"), "a\ufffd\ufffdz"); }

TEST(Printable, ControlCharactersCannotReachTheTerminal) {
  EXPECT_EQ(printable("\x1b[31mred\n"), "\\x1b[31mred\\n");
  EXPECT_EQ(printable("\xc2\x9b"), "\\u{9b}");  // CSI in one character
  EXPECT_EQ(printable("a\u202e"
                      "b"),
            "a\\u{202e}b");  // right-to-left override
  EXPECT_EQ(printable("\xff"), "\\xff");
  EXPECT_EQ(printable("naïve 日本"), "naïve 日本");
}

TEST(DisplayWidth, WideCharactersTakeTwoColumns) {
  use_utf8_locale();
  EXPECT_EQ(display_width("abc"), 3);
  EXPECT_EQ(display_width("日本"), 4);
  EXPECT_EQ(display_width("e\u0301"), 1);
}

TEST(Wrap, BreaksAtSpacesAndIndents) {
  EXPECT_EQ(wrap("one two three", 8, 2), "one two\n  three");
  EXPECT_EQ(wrap("unbreakable", 4, 0), "unbreakable");
}

TEST(Format, BytesAndSecondsTakeTheUnitThatFits) {
  EXPECT_EQ(format_bytes(999), "999 B");
  EXPECT_EQ(format_bytes(98'900'000), "98.9 MB");
  EXPECT_EQ(format_bytes(999'999), "1.0 MB");
  EXPECT_EQ(format_seconds(0.0123), "12.3 ms");
  EXPECT_EQ(format_seconds(150), "2 min 30 s");
}

TEST(Table, ColumnsLineUp) {
  Table table({"name", "n"});
  table.add({"a", "100"});
  table.add({"long", "1"});
  EXPECT_EQ(table.text(), "name    n\na     100\nlong    1\n");
  EXPECT_EQ(table.markdown(), "| name | n |\n| --- | ---: |\n| a | 100 |\n| long | 1 |\n");
}

TEST(Statistics, QuartilesLieBetweenTheNearestRanks) {
  const Summary s = summarize({4, 1, 3, 2});
  EXPECT_DOUBLE_EQ(s.median, 2.5);
  EXPECT_DOUBLE_EQ(s.quartile_1, 1.75);
  EXPECT_DOUBLE_EQ(s.quartile_3, 3.25);
  EXPECT_DOUBLE_EQ(s.mean, 2.5);
  EXPECT_DOUBLE_EQ(s.stddev, std::sqrt(5.0 / 3));
  EXPECT_DOUBLE_EQ(s.least, 1);
  EXPECT_DOUBLE_EQ(s.most, 4);
}

TEST(Statistics, OneValueHasNoSpread) {
  const Summary s = summarize({7});
  EXPECT_DOUBLE_EQ(s.median, 7);
  EXPECT_DOUBLE_EQ(s.stddev, 0);
  EXPECT_DOUBLE_EQ(s.quartile_3, 7);
}

TEST(LineJoiner, APlainLineIsAMessage) {
  LineJoiner joiner;
  EXPECT_EQ(joiner.add("hello"), "hello");
  EXPECT_FALSE(joiner.pending());
}

TEST(LineJoiner, ABackslashAtTheEndGoesOn) {
  LineJoiner joiner;
  EXPECT_EQ(joiner.add("one\\"), std::nullopt);
  EXPECT_TRUE(joiner.pending());
  EXPECT_EQ(joiner.add("two\\"), std::nullopt);
  EXPECT_EQ(joiner.add("three"), "one\ntwo\nthree");
}

TEST(LineJoiner, QuotesHoldABlockOfLines) {
  LineJoiner joiner;
  EXPECT_EQ(joiner.add("\"\"\""), std::nullopt);
  EXPECT_EQ(joiner.add("one\\"), std::nullopt);
  EXPECT_EQ(joiner.add(""), std::nullopt);
  EXPECT_EQ(joiner.add("two"), std::nullopt);
  EXPECT_EQ(joiner.add("\"\"\""), "one\\\n\ntwo");
  EXPECT_EQ(joiner.add("after"), "after");
}

TEST(LineJoiner, ABlockMayBeginAndEndWithinLines) {
  LineJoiner joiner;
  EXPECT_EQ(joiner.add("\"\"\"one"), std::nullopt);
  EXPECT_EQ(joiner.add("two\"\"\""), "one\ntwo");
  EXPECT_EQ(joiner.add("\"\"\"all in one\"\"\""), "all in one");
}

TEST(LineJoiner, APasteOfSeveralLinesMayHoldAWholeBlock) {
  LineJoiner joiner;
  EXPECT_EQ(joiner.add("\"\"\"one\ntwo\"\"\""), "one\ntwo");
}

TEST(LineJoiner, APasteThatBeginsWithQuotesIsAMessageAsItIs) {
  for (const char* paste :
       {"\"\"\"Docstring.\"\"\"\ndef f():\n return 1", "\"\"\"a\"\"\"\nb = \"\"\"c\"\"\"", "\"\"\"\n\""}) {
    LineJoiner joiner;
    EXPECT_EQ(joiner.add(paste), paste);
    EXPECT_FALSE(joiner.pending());
  }
}

TEST(LineJoiner, AResetForgets) {
  LineJoiner joiner;
  joiner.add("\"\"\"one");
  joiner.reset();
  EXPECT_EQ(joiner.add("two"), "two");
}

TEST(Conversation, IsTheSameAfterSavingAndLoading) {
  const Conversation before{"Be \"brief\".", {{"user", "Hi\nthere \x01 日本"}, {"assistant", "Hello"}}};
  const Conversation after = parse_conversation(to_text(before), "kept.json");
  EXPECT_EQ(after.system, before.system);
  ASSERT_EQ(after.messages.size(), 2u);
  EXPECT_EQ(after.messages[0].content, "Hi\nthere \x01 日本");
  EXPECT_EQ(after.messages[1].role, "assistant");
}

TEST(Conversation, WhatIsNoneIsRefusedByName) {
  const auto complaint = [](std::string_view text) -> std::string {
    try {
      parse_conversation(text, "x.json");
    } catch (const Error& error) {
      return error.what();
    }
    return "(none)";
  };
  EXPECT_THAT(complaint(""), HasSubstr("x.json: not JSON"));
  EXPECT_THAT(complaint("{\n\n]"), HasSubstr("in line 3"));
  EXPECT_THAT(complaint("{} x"), HasSubstr("x.json: not JSON"));
  EXPECT_THAT(complaint("[]"), HasSubstr("no JSON object"));
  EXPECT_THAT(complaint("{\"format\": \"other\"}"), HasSubstr("format is not ingle-conversation"));
  EXPECT_THAT(complaint(R"({"format": "ingle-conversation", "version": 2})"), HasSubstr("another version"));
  EXPECT_THAT(
      complaint(
          R"({"format": "ingle-conversation", "version": 1, "system": "", "messages": [{"role": "king", "content": ""}]})"),
      HasSubstr("message 0 has the role 'king'"));
}

TEST(JsonReading, TheMembersOfAnObjectKeepTheirTexts) {
  using Members = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(json_members("{}"), Members());
  EXPECT_EQ(
      json_members(
          " { \"a\" : 0.9452706955539223 , \"b\":[1, {\"}\": \"],\\\"\"}] ,\"\\u0061\": -12345678901234567890123}\n"),
      (Members{{"a", "0.9452706955539223"}, {"b", "[1, {\"}\": \"],\\\"\"}]"}, {"a", "-12345678901234567890123"}}));
}

TEST(JsonReading, WhatTheLibraryReadsIsJson) {
  for (const char* text : {"1", "1e400", " null ", "\"x\"", "[12345678901234567890123]"})
    EXPECT_TRUE(is_json(text)) << text;
  for (const char* text : {"", "x", "1 2", "[1,]", "'x'"}) EXPECT_FALSE(is_json(text)) << text;
  EXPECT_TRUE(is_json(std::string(100, '[') + std::string(100, ']')));
  EXPECT_FALSE(is_json(std::string(101, '[') + std::string(101, ']')));
}

TEST(Conversation, UndoTakesBackAnExchange) {
  Conversation conversation{"", {{"user", "1"}, {"assistant", "2"}, {"user", "3"}, {"assistant", "4"}}};
  EXPECT_TRUE(conversation.undo());
  EXPECT_EQ(conversation.messages.size(), 2u);
  EXPECT_TRUE(conversation.undo());
  EXPECT_FALSE(conversation.undo());
}

TEST(Conversation, TheSystemTextComesFirst) {
  const Conversation conversation{"Be brief.", {{"user", "Hi"}}};
  const ChatRequest request = conversation.request();
  ASSERT_EQ(request.messages.size(), 2u);
  EXPECT_EQ(request.messages[0].role, "system");
  EXPECT_TRUE(request.add_generation_prompt);
}

class Files : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/ingle_files_XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  size_t entries() const {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(directory_), {}));
  }

  std::filesystem::path directory_;
};

TEST_F(Files, AnUncommittedFileLeavesNothing) {
  { AtomicFile(directory_ / "x").write("half"); }
  EXPECT_EQ(entries(), 0u);
}

TEST_F(Files, ACommittedFileReplacesTheOldOneWhole) {
  write_file(directory_ / "x", "old and longer");
  write_file(directory_ / "x", "new");
  EXPECT_EQ(read_file(directory_ / "x"), "new");
  EXPECT_EQ(entries(), 1u);
}

TEST_F(Files, AFailureKeepsWhatWasThere) {
  write_file(directory_ / "x", "old");
  { AtomicFile(directory_ / "x").write("half of the new"); }
  EXPECT_EQ(read_file(directory_ / "x"), "old");
  EXPECT_EQ(entries(), 1u);
}

TEST_F(Files, AReplacedFileKeepsItsPermissionsAndALinkLeadsToIt) {
  const auto permissions = [&](const char* name) {
    return static_cast<unsigned>(std::filesystem::status(directory_ / name).permissions());
  };
  const mode_t before = ::umask(022);
  write_file(directory_ / "new", "");
  write_file(directory_ / "owner's", "", std::filesystem::perms(0600));
  ::umask(before);
  EXPECT_EQ(permissions("new"), 0644u);
  EXPECT_EQ(permissions("owner's"), 0600u);
  std::filesystem::permissions(directory_ / "new", std::filesystem::perms(0664));
  std::filesystem::create_symlink("new", directory_ / "link");
  write_file(directory_ / "link", "through", std::filesystem::perms(0600));
  EXPECT_TRUE(std::filesystem::is_symlink(directory_ / "link"));
  EXPECT_EQ(permissions("new"), 0664u);
  EXPECT_EQ(read_file(directory_ / "new"), "through");
}

TEST_F(Files, AFullDiskIsAnErrorThatNamesTheFile) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full";
  try {
    write_file("/dev/full", std::string(1 << 20, 'x'));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kIo);
    EXPECT_THAT(error.what(), HasSubstr("/dev/full: No space left"));
  }
}

TEST_F(Files, ATextThatIsNotUtf8NamesTheByte) {
  write_file(directory_ / "x",
             "abc\xe9"
             "def");
  try {
    read_text((directory_ / "x").string());
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(error.what(), HasSubstr("byte 0xe9 at offset 3"));
  }
}

TEST_F(Files, AFileThatNeverEndsIsReadToTheLimit) {
  write_file(directory_ / "x", "12345678");
  EXPECT_EQ(read_text((directory_ / "x").string(), 8), "12345678");
  for (const std::string& file : {(directory_ / "x").string(), std::string("/dev/zero")}) {
    try {
      read_text(file, 7);
      ADD_FAILURE() << file;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
      EXPECT_EQ(error.what(), file + ": more than 7 bytes, the most that is read; give a part of it");
    }
  }
}

TEST(ParseJson, ANumberAloneIsJsonAndACutOneIsNot) {
  EXPECT_EQ(parse_json("5", "x.json"), 5);
  EXPECT_EQ(parse_json(" 5\n", "x.json"), 5);
  const std::vector<std::pair<const char*, const char*>> broken = {
      {"[5", "ends too early in line 1"}, {"\n", "ends too early in line 2"}, {"5 6", "something follows in line 1"}};
  for (const auto& [text, what] : broken) {
    try {
      parse_json(text, "x.json");
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.what(), std::string("x.json: not JSON: ") + what);
    }
  }
}

TEST(ParseJson, RefusesMoreThanItsValuesMayTake) {
  const std::string large(size_t{65} << 20, ' ');
  try {
    parse_json(large, "x.json");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_STREQ(error.what(), "x.json: 68157440 bytes of JSON, at most 67108864 are read");
  }
}

TEST_F(Files, AMissingFileAndADirectoryAreToldApart) {
  const auto code = [](const std::filesystem::path& path) {
    try {
      read_file(path);
    } catch (const Error& error) {
      return error.code();
    }
    return ErrorCode::kInternal;
  };
  EXPECT_EQ(code(directory_ / "absent"), ErrorCode::kNotFound);
  EXPECT_EQ(code(directory_), ErrorCode::kInvalidFile);
}

TEST_F(Files, ADirectoryIsNoPlaceToWriteAFileTo) {
  try {
    write_file(directory_, "x");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_EQ(error.what(), directory_.string() + ": is a directory");
  }
}

}  // namespace
}  // namespace ingle::app
