// Where words are cut: against Hugging Face's engine for every family, and within bounds on long texts.
#include <map>

#include "ingle/error.h"
#include "tests/text/text_support.h"
#include "text/pre_tokenizers.h"

namespace ingle {
namespace {

using test::repeat;

std::vector<std::string> split(const PreTokenizer& pre, std::string_view text) {
  PreTokenizer::Scratch scratch;
  std::vector<size_t> ends;
  pre.split(text, scratch, ends);
  std::vector<std::string> pieces;
  size_t begin = 0;
  for (size_t end : ends) {
    pieces.emplace_back(text.substr(begin, end - begin));
    begin = end;
  }
  return pieces;
}

std::vector<std::string> split(std::string_view pre, std::string_view text) {
  return split(PreTokenizer::create(pre), text);
}

using Pieces = std::vector<std::string>;

TEST(PreTokenizer, EveryFamilyCutsAsHuggingFaceDoes) {
  std::vector<std::string> texts;
  std::string family;
  std::unique_ptr<PreTokenizer> pre;
  size_t next = 0, families = 0, compared = 0;
  for (const std::string& line : test::data_lines("pre_tokenizer_splits.txt")) {
    if (line.starts_with("T ")) {
      texts.push_back(test::unescape(std::string_view(line).substr(2)));
    } else if (line.starts_with("F ")) {
      family = line.substr(2);
      pre = std::make_unique<PreTokenizer>(PreTokenizer::create(family));
      next = 0;
      ++families;
    } else {
      const std::string& text = texts.at(next++);
      std::vector<int64_t> lengths;
      for (const std::string& piece : split(*pre, text)) lengths.push_back(static_cast<int64_t>(piece.size()));
      EXPECT_EQ(lengths, test::numbers(line)) << family << ": " << text;
      ++compared;
    }
  }
  EXPECT_GE(families, 22u);
  EXPECT_EQ(compared, families * texts.size());
}

TEST(PreTokenizer, ASpaceGoesWithTheWordAfterIt) {
  EXPECT_EQ(split("gpt-2", "a  b"), (Pieces{"a", " ", " b"}));
  EXPECT_EQ(split("llama-bpe", "a\tb"), (Pieces{"a", "\tb"}));
}

TEST(PreTokenizer, MongolianVowelSeparatorIsNoWhiteSpace) {
  EXPECT_EQ(split("gpt-2", " \u180E"), (Pieces{" \u180E"}));
  EXPECT_EQ(split("gpt-2", "\u00A0\u3000"), (Pieces{"\u00A0\u3000"}));
}

TEST(PreTokenizer, ALongSEndsAContractionToo) {
  EXPECT_EQ(split("qwen2", "it'\u017F"), (Pieces{"it", "'\u017F"}));
  EXPECT_EQ(split("gpt-2", "it'S"), (Pieces{"it", "'", "S"}));
}

TEST(PreTokenizer, DigitsAreGroupedFromTheRightOnlyBeforeAWordBoundary) {
  EXPECT_EQ(split("tiny_aya", "1234567"), (Pieces{"1", "234", "567"}));
  EXPECT_EQ(split("tiny_aya", "123456"), (Pieces{"123", "456"}));
  EXPECT_EQ(split("tiny_aya", "1234a"), (Pieces{"123", "4", "a"}));
}

// Not among the compared families, because their expressions are those of others with small changes.
TEST(PreTokenizer, DeepSeekLlmKnowsItsLetters) {
  EXPECT_EQ(split("deepseek-llm", "ab \u0416\u10D0"), (Pieces{"ab", " \u0416", "\u10D0"}));
  EXPECT_EQ(split("deepseek-llm", "a  "), (Pieces{"a", "  "}));
  EXPECT_EQ(split("deepseek-llm", "12  34"), (Pieces{"12", "  ", "34"}));
}

TEST(PreTokenizer, AnUnknownNameIsRefusedByName) {
  for (const char* name :
       {"nonsense", "", "chameleon", "youtu", "afmoe", "granite-embed-multi-97m", "llama", "llama-bpe llama3"}) {
    try {
      PreTokenizer::create(name);
      ADD_FAILURE() << name;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
      EXPECT_NE(std::string(error.what()).find(name), std::string::npos);
    }
  }
}

TEST(PreTokenizer, NoNameIsListedTwice) {
  std::map<std::string_view, int> count;
  for (std::string_view name : PreTokenizer::names()) EXPECT_EQ(++count[name], 1) << name;
  EXPECT_GE(count.size(), 80u);
}

// A megabyte of anything is split in bounded time and memory: none of the expressions may go back over its text for
// each match. The bound is generous, a quadratic expression takes minutes.
TEST(PreTokenizer, AMegabyteOfOneKindIsSplitByEveryFamily) {
  const std::vector<std::string> units = {"a",      "A",   " ",       "\n", "7",  "-", "\u0301",
                                          "\u4E2D", " \n", "A\u0301", "'s", "a ", "1a"};
  std::vector<PreTokenizer> all;
  std::map<std::string, std::string> first_of;  // one name stands for all that cut alike
  for (std::string_view name : PreTokenizer::names()) {
    std::string key;
    const PreTokenizer pre = PreTokenizer::create(name);
    for (const std::string& piece : split(pre, "aB's 12345 \n \u0E01\u0E31 [x]\u4E2D\u1100!/\u00BD  1"))
      key += piece + "|";
    first_of.try_emplace(key, name);
  }
  EXPECT_GE(first_of.size(), 15u);
  for (const auto& [key, name] : first_of) {
    const PreTokenizer pre = PreTokenizer::create(name);
    for (const std::string& unit : units) {
      for (const char* tail : {"", "x", "7", "\u0301"}) {
        const std::string text = repeat(unit, (1 << 20) / unit.size()) + tail;
        PreTokenizer::Scratch scratch;
        std::vector<size_t> ends;
        pre.split(text, scratch, ends);
        ASSERT_FALSE(ends.empty());
        EXPECT_EQ(ends.back(), text.size()) << name << " " << unit << "+" << tail;
      }
    }
  }
}

}  // namespace
}  // namespace ingle
