// Pieces may cut characters anywhere; what comes out never does.
#include "tests/text/text_support.h"
#include "text/tokenizer.h"
#include "text/utf8.h"

namespace ingle {
namespace {

TEST(StreamingDecoder, HoldsABeginningUntilTheCharacterIsComplete) {
  StreamingDecoder decoder;
  EXPECT_EQ(decoder.push("a\xF0"), "a");
  EXPECT_EQ(decoder.push("\x9F\x98"), "");
  EXPECT_EQ(decoder.push("\x80 b"), "\U0001F600 b");
  EXPECT_EQ(decoder.finish(), "");
}

TEST(StreamingDecoder, ReplacesABadByteAtOnce) {
  StreamingDecoder decoder;
  EXPECT_EQ(decoder.push("\xFF"), "\uFFFD");
  EXPECT_EQ(decoder.push("\x80x"), "\uFFFDx");
  EXPECT_EQ(decoder.push("\xC0\xAF"), "\uFFFD\uFFFD");
}

TEST(StreamingDecoder, KeepsTheCharacterThatBreaksABeginning) {
  StreamingDecoder decoder;
  EXPECT_EQ(decoder.push("\xE2\x82"), "");
  EXPECT_EQ(decoder.push("\xE2\x82\xAC"), "\uFFFD\u20AC");
}

TEST(StreamingDecoder, TheEndReplacesAHeldTailOnce) {
  StreamingDecoder decoder;
  EXPECT_EQ(decoder.push("ok\xF0\x9F\x98"), "ok");
  EXPECT_EQ(decoder.finish(), "\uFFFD");
  EXPECT_EQ(decoder.finish(), "");
  EXPECT_EQ(decoder.push("again"), "again");
}

TEST(StreamingDecoder, GivesTheSameTextHoweverTheBytesAreCut) {
  std::mt19937 random(5);
  for (int round = 0; round < 500; ++round) {
    const std::string bytes =
        round % 2 ? test::random_bytes(random, 40) : test::random_text(random, 12).substr(round % 3);
    StreamingDecoder whole;
    std::string want = whole.push(bytes);
    want += whole.finish();
    EXPECT_EQ(valid_utf8_prefix(want), want.size());
    StreamingDecoder parts;
    std::string got;
    for (size_t i = 0; i < bytes.size();) {
      const size_t n = random() % 5;
      got += parts.push(std::string_view(bytes).substr(i, n));
      EXPECT_EQ(valid_utf8_prefix(got), got.size());
      i += n;
    }
    got += parts.finish();
    EXPECT_EQ(got, want);
  }
}

}  // namespace
}  // namespace ingle
