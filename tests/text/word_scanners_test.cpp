// Scanners written by hand against the expressions they stand for, in PCRE2.
#include "text/word_scanners.h"

#include "tests/text/text_support.h"
#include "text/regex_splitter.h"
#include "text/unicode_classes.h"

namespace ingle {
namespace {

std::vector<size_t> ends_of(const RegexSplitter& splitter, std::string_view text, size_t begin, size_t end) {
  RegexSplitter::Scratch scratch;
  std::vector<size_t> ends;
  splitter.split(text, begin, end, scratch, ends);
  return ends;
}

// Characters that the two Unicode versions put into the same classes.
class KnownCharacters {
 public:
  KnownCharacters() : known_(0x110000) {
    const std::pair<const char*, CategoryMask> classes[] = {
        {R"(\p{L})", kLetters},
        {R"(\p{N})", kNumbers},
        {R"(\p{M})", kMarks},
        {R"([\p{Lu}\p{Lt}])", bit(Category::kLu) | bit(Category::kLt)},
        {R"(\p{Ll})", bit(Category::kLl)},
        {R"(\s)", kWhiteSpace},
    };
    std::string text;  // every character twice: where it is in a class, and there alone, a piece ends between the two
    std::vector<std::pair<char32_t, size_t>> middles;
    for (char32_t c = 0; c < 0x110000; ++c) {
      known_[c] = c < 0xD800 || c >= 0xE000;
      if (!known_[c]) continue;
      append_utf8(text, c);
      middles.emplace_back(c, text.size());
      append_utf8(text, c);
    }
    for (const auto& [expression, set] : classes) {
      const RegexSplitter splitter(expression, false, RegexSplitter::Engine::kRegex);
      std::vector<bool> ends(text.size() + 1);
      for (size_t end : ends_of(splitter, text, 0, text.size())) ends[end] = true;
      for (const auto& [c, middle] : middles) {
        if (ends[middle] != is_in(c, set)) known_[c] = false;
      }
    }
    different_ = static_cast<size_t>(std::count(known_.begin(), known_.end(), false)) - 0x800;
  }

  bool all_in(std::string_view text) const {
    for (size_t i = 0; i < text.size();) {
      const Utf8Step step = decode_utf8(text.substr(i));
      if (!known_[step.code]) return false;
      i += step.length;
    }
    return true;
  }
  size_t different() const { return different_; }

 private:
  std::vector<bool> known_;
  size_t different_ = 0;
};

const KnownCharacters& known() {
  static const KnownCharacters characters;
  return characters;
}

TEST(WordScanners, OfAllCharactersOnlyNewOnesHaveOtherClassesInPcre2) { EXPECT_LT(known().different(), 20000u); }

TEST(WordScanners, TheTableOfIdeographsHoldsThoseThatScannersTakeForGranted) {
  for (char32_t c = 0x5000; c < 0xA000; ++c) EXPECT_EQ(category(c), Category::kLo) << std::hex << uint32_t{c};
}

// Characters that expressions treat differently, so that short random texts meet every branch.
std::string mixed_text(std::mt19937& random, size_t characters) {
  static const std::vector<std::string> kPieces = {"a",       "b",
                                                   "s",       "t",
                                                   "re",      "ve",
                                                   "ll",      "d",
                                                   "m",       "A",
                                                   "B",       "S",
                                                   "'",       "'",
                                                   "'s",      "'Re",
                                                   "'\u017F", "\u017F",
                                                   "\u01C5",  "\u02B0",
                                                   "\u0301",  "\u0903",
                                                   "\u4E2D",  "\u6587",
                                                   "\u3042",  "\u0416",
                                                   "\u0436",  "\u00DF",
                                                   "\u00E9",  "0",
                                                   "7",       "12345",
                                                   "\u0664",  "\u2167",
                                                   "\u00BD",  " ",
                                                   " ",       "  ",
                                                   "\t",      "\n",
                                                   "\r",      "\r\n",
                                                   "\v",      "\u0085",
                                                   "\u00A0",  "\u3000",
                                                   "\u2028",  "/",
                                                   "//",      ".",
                                                   ",",       "!",
                                                   "-",       "_",
                                                   "$",       "\u3002",
                                                   "\u20AC",  "\U0001F600",
                                                   "\u200D",  "\uFE0F",
                                                   "\uFFFD",  std::string(1, '\0'),
                                                   "\u0378"};
  std::string out;
  while (characters-- > 0) out += kPieces[random() % kPieces.size()];
  return out;
}

TEST(WordScanners, CutAsTheirExpressionsDo) {
  std::vector<std::string> texts;
  for (const std::string& line : test::data_lines("pre_tokenizer_splits.txt")) {
    if (line.starts_with("T ")) texts.push_back(test::unescape(std::string_view(line).substr(2)));
  }
  std::mt19937 random(8);
  for (int i = 0; i < 6000; ++i) texts.push_back(mixed_text(random, 1 + random() % 14));
  for (int i = 0; i < 300; ++i) texts.push_back(test::random_text(random, 30));
  for (int i = 0; i < 30; ++i) texts.push_back(mixed_text(random, 400));
  std::erase_if(texts, [](const std::string& text) { return text.empty() || !known().all_in(text); });
  EXPECT_GT(texts.size(), 6000u);
  for (std::string_view expression : scanned_expressions()) {
    const RegexSplitter scanner(expression), regex(expression, false, RegexSplitter::Engine::kRegex);
    for (const std::string& text : texts) {
      ASSERT_EQ(ends_of(scanner, text, 0, text.size()), ends_of(regex, text, 0, text.size()))
          << expression << "\n"
          << ::testing::PrintToString(text);
    }
  }
}

TEST(WordScanners, APartIsCutByItself) {
  for (std::string_view expression : scanned_expressions()) {
    const RegexSplitter scanner(expression), regex(expression, false, RegexSplitter::Engine::kRegex);
    const std::string text = "ab 'd12  cd\n 'llx";
    for (size_t begin = 0; begin < text.size(); ++begin) {
      for (size_t end = begin + 1; end <= text.size(); ++end) {
        EXPECT_EQ(ends_of(scanner, text, begin, end), ends_of(regex, text, begin, end)) << expression << begin << end;
      }
    }
  }
}

}  // namespace
}  // namespace ingle
