// Stop strings: where a text ends, and what may be shown before that is known.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ingle/error.h"
#include "runtime/random.h"
#include "runtime/sampler.h"

namespace ingle {
namespace {

// What is shown after each piece, then after "stop N" or "end"; the rest is dropped.
std::vector<std::string> shown(std::vector<std::string> stops, const std::vector<std::string>& pieces) {
  StopMatcher matcher(std::move(stops));
  std::vector<std::string> result;
  for (const std::string& piece : pieces) {
    const StopMatcher::Result r = matcher.push(piece);
    result.push_back(r.text);
    if (r.stop) {
      result.push_back("stop " + std::to_string(*r.stop));
      return result;
    }
  }
  result.push_back(matcher.finish());
  result.push_back("end");
  return result;
}

using Strings = std::vector<std::string>;

TEST(StopMatcher, StopsInsideAPiece) { EXPECT_EQ(shown({"STOP"}, {"one STOP two"}), (Strings{"one ", "stop 0"})); }

TEST(StopMatcher, StopsAcrossPieces) {
  EXPECT_EQ(shown({"STOP"}, {"one S", "T", "OP two"}), (Strings{"one ", "", "", "stop 0"}));
}

TEST(StopMatcher, ReleasesWhatTurnsOutToBeNoStop) {
  EXPECT_EQ(shown({"STOP"}, {"one STO", "RM", " ST"}), (Strings{"one ", "STORM", " ", "ST", "end"}));
}

TEST(StopMatcher, HoldsOnlyWhatCanStillBecomeAStop) {
  // After "aab" + "aa" the longest beginning of the stop is "aabaa"; the b that follows makes it "aab".
  EXPECT_EQ(shown({"aabaac"}, {"aab", "aa", "b", "aac."}), (Strings{"", "", "aab", "", "stop 0"}));
}

TEST(StopMatcher, WithoutStopsPassesEverythingOn) {
  EXPECT_EQ(shown({}, {"a", "", "b"}), (Strings{"a", "", "b", "", "end"}));
}

TEST(StopMatcher, TheStopThatIsCompleteFirstWins) {
  EXPECT_EQ(shown({"zebra", "lion"}, {"a lion and a zebra"}), (Strings{"a ", "stop 1"}));
  // "bc" is complete while "abcd" is not, whether or not the d has arrived.
  EXPECT_EQ(shown({"abcd", "bc"}, {"abcd"}), (Strings{"a", "stop 1"}));
  EXPECT_EQ(shown({"abcd", "bc"}, {"a", "b", "c", "d"}), (Strings{"", "", "a", "stop 1"}));
}

TEST(StopMatcher, OfStopsThatEndTogetherTheLongestWins) {
  EXPECT_EQ(shown({"\n", "\n\n", "Q:\n\n"}, {"A\n"}), (Strings{"A", "stop 0"}));
  EXPECT_EQ(shown({"bc", "abc", "c"}, {"xabc"}), (Strings{"x", "stop 1"}));
}

TEST(StopMatcher, OfEqualStopsTheFirstIsNamed) { EXPECT_EQ(shown({"x", "y", "y"}, {"ay"}), (Strings{"a", "stop 1"})); }

TEST(StopMatcher, FindsAStopInsideTheBeginningOfAnother) {
  EXPECT_EQ(shown({"</answer>", "ans"}, {"</", "answ"}), (Strings{"", "</", "stop 1"}));
}

TEST(StopMatcher, AStopThatIsTheEndOfAFailedOneIsFound) {
  EXPECT_EQ(shown({"aaab", "aac"}, {"aaa", "c"}), (Strings{"", "a", "stop 1"}));
}

TEST(StopMatcher, WholeCharactersInGiveWholeCharactersOut) {
  // é is C3 A9, è is C3 A8: the shared first byte is held with its character, never cut off.
  EXPECT_EQ(shown({"é!"}, {"caf", "é", "è", "é", "!"}), (Strings{"caf", "", "éè", "", "", "stop 0"}));
  EXPECT_EQ(shown({"終わり"}, {"日本", "終わ", "る", "終", "わ", "り"}),
            (Strings{"日本", "", "終わる", "", "", "", "stop 0"}));
}

TEST(StopMatcher, AStopMayComeInPartsOfACharacter) {
  EXPECT_EQ(shown({"🦙"}, {"a\xF0\x9F", "\xA6", "\x99z"}), (Strings{"a", "", "", "stop 0"}));
  EXPECT_EQ(shown({"🦙"}, {"a\xF0\x9F", "\xA6", "\x98"}), (Strings{"a", "", "🦘", "", "end"}));
}

TEST(StopMatcher, ZeroBytesAreBytes) {
  const std::string stop("\0x", 2);
  EXPECT_EQ(shown({stop}, {std::string("a\0", 2), std::string("\0x", 2)}),
            (Strings{"a", std::string("\0", 1), "stop 0"}));
}

TEST(StopMatcher, StartsOverAfterAStopAndAfterTheEnd) {
  StopMatcher matcher({"ab"});
  EXPECT_EQ(matcher.push("1ab2").stop, 0u);
  EXPECT_EQ(matcher.push("b3a").text, "b3");  // no memory of the dropped text
  EXPECT_EQ(matcher.finish(), "a");
  EXPECT_EQ(matcher.finish(), "");
  EXPECT_EQ(matcher.push("b").text, "b");  // nor of the held a
}

TEST(StopMatcher, RefusesAnEmptyStop) {
  try {
    StopMatcher matcher({"a", "", "b"});
    FAIL() << "an empty stop string was taken";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::kInvalidArgument);
    EXPECT_STREQ(e.what(), "stop string 2 of 3 is empty");
  }
}

TEST(StopMatcher, TakesThousandsOfStops) {
  Strings stops;
  for (int i = 0; i < 5000; ++i) stops.push_back("<stop " + std::to_string(i) + ">");
  EXPECT_EQ(shown(stops, {"text <st", "op 49", "99 <stop 4321", ">"}),
            (Strings{"text ", "", "<stop 4999 ", "", "stop 4321"}));
}

// The definition: the first byte at which some stop ends; of those that end there the longest, of equals the first.
std::pair<std::string, std::optional<size_t>> by_definition(const Strings& stops, const std::string& text) {
  for (size_t end = 1; end <= text.size(); ++end) {
    std::optional<size_t> found;
    for (size_t i = 0; i < stops.size(); ++i)
      if (text.substr(0, end).ends_with(stops[i]) && (!found || stops[i].size() > stops[*found].size())) found = i;
    if (found) return {text.substr(0, end - stops[*found].size()), found};
  }
  return {text, std::nullopt};
}

TEST(StopMatcher, DoesWhatTheDefinitionSaysHoweverTheTextIsCut) {
  Random random(4);
  const auto word = [&](size_t least, size_t most) {
    std::string result;
    for (size_t n = least + random.next() % (most - least + 1); n > 0; --n)
      result += static_cast<char>('a' + random.next() % 2);
    return result;
  };
  int stopped = 0;
  for (int round = 0; round < 5000; ++round) {
    Strings stops;
    for (size_t n = random.next() % 4; n > 0; --n) stops.push_back(word(1, 7));
    const std::string text = word(0, 30);
    const auto [wanted_text, wanted_stop] = by_definition(stops, text);
    StopMatcher matcher(stops);
    std::string got_text;
    std::optional<size_t> got_stop;
    for (size_t begin = 0; begin < text.size() && !got_stop;) {
      const size_t length = 1 + random.next() % 5;
      const StopMatcher::Result r = matcher.push(std::string_view(text).substr(begin, length));
      got_text += r.text;
      got_stop = r.stop;
      begin += length;
    }
    got_text += matcher.finish();
    ASSERT_EQ(got_text, wanted_text) << "text " << text << ", stops " << ::testing::PrintToString(stops);
    ASSERT_EQ(got_stop, wanted_stop) << "text " << text << ", stops " << ::testing::PrintToString(stops);
    stopped += got_stop.has_value();
  }
  EXPECT_GT(stopped, 1000);
}

}  // namespace
}  // namespace ingle
