// Folders that have a tokenizer.model alone.
#include "convert/sentencepiece.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>

#include "gguf/gguf.h"
#include "ingle/convert.h"
#include "ingle/prompt_template.h"
#include "models/vocabulary.h"
#include "tests/gguf/temporary_folder.h"
#include "tests/models/golden.h"

namespace ingle {
namespace {

namespace fs = std::filesystem;

fs::path data() { return fs::path(INGLE_SOURCE_DIR) / "tests/convert/sentencepiece"; }

std::string complaint(const std::string& bytes) {
  try {
    read_sentencepiece(bytes, "x");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

class SentencePieceFolder : public testing::TestWithParam<const char*> {
 protected:
  SentencePieceFolder() { convert_folder(data() / GetParam(), path_); }

  test::TemporaryFolder folder_;
  fs::path path_ = folder_ / "x.gguf";
};

TEST_P(SentencePieceFolder, CutsTextsAsSentencePieceDoes) {
  const auto tokenizer = Tokenizer::create(load_vocabulary(GgufFile::open(path_)));
  const boost::json::value rows = boost::json::parse(golden::read_file(data() / (std::string(GetParam()) + ".json")));
  ASSERT_GT(rows.as_array().size(), 100u);
  for (const boost::json::value& row : rows.as_array()) {
    const std::string text(row.at(0).as_string());
    EXPECT_EQ(tokenizer->encode(text, {.add_special = false}), boost::json::value_to<std::vector<TokenId>>(row.at(1)))
        << text;
  }
  EXPECT_TRUE(tokenizer->adds_bos());
}

TEST_P(SentencePieceFolder, TokensThatOtherFilesAddHaveTheirRoles) {
  const auto tokenizer = Tokenizer::create(load_vocabulary(GgufFile::open(path_)));
  const TokenId first = *tokenizer->find("<pad>");
  EXPECT_EQ(tokenizer->padding(), first);
  EXPECT_EQ(tokenizer->kind(first), TokenKind::kControl);
  EXPECT_EQ(tokenizer->kind(first + 1), TokenKind::kUserDefined);
  EXPECT_EQ(tokenizer->text(first + 1), "<extra>");
  EXPECT_EQ(tokenizer->kind(first + 2), TokenKind::kControl);
  EXPECT_EQ(tokenizer->bos(), 1);
  EXPECT_EQ(tokenizer->eos(), 2);
  EXPECT_EQ(tokenizer->encode("<|user|>", {.add_special = false, .parse_special = true}),
            std::vector<TokenId>{first + 2});
  const std::vector<TokenId> ends{2, first + 2, first + 3};
  EXPECT_TRUE(std::ranges::equal(tokenizer->end_of_generation(), ends));
}

TEST_P(SentencePieceFolder, TemplatesLicenceAndSamplingComeAlong) {
  const GgufFile file = GgufFile::open(path_);
  EXPECT_EQ(read_template(path_).text, "{{ messages[0].content }}");
  EXPECT_EQ(read_template(path_, "tool_use").text, "{{ tools }}");
  EXPECT_EQ(file.find_string("general.license"), "other");
  EXPECT_EQ(file.find_string("general.license.name"), "tiny-license");
  EXPECT_TRUE(std::ranges::equal(*file.find_strings("general.languages"), std::array{"en", "de"}));
  EXPECT_TRUE(std::ranges::equal(*file.find_strings("general.tags"), std::array{"tiny", "made up"}));
  EXPECT_EQ(file.find_float("general.sampling.temp"), 0.5);
  EXPECT_EQ(file.find_float("general.sampling.min_p"), 0.25);
  EXPECT_EQ(file.find_float("general.sampling.penalty_repeat"), 1.5);
}

INSTANTIATE_TEST_SUITE_P(Folders, SentencePieceFolder, testing::Values("pairs", "unigram"),
                         [](const auto& info) { return info.param; });

TEST(SentencePiece, WhatIsNoSuchFileIsSaidToBeNone) {
  EXPECT_EQ(complaint(""), "x: no pieces");
  EXPECT_EQ(complaint("{}"), "x: byte 1: a wire type that there is not");
  EXPECT_EQ(complaint("\x0a\x05"), "x: byte 2: cut short");
  EXPECT_EQ(complaint(std::string("\x0a\x02\x18\x09", 4)), "x: piece 0: kind 9; there are 1 to 6");
  EXPECT_EQ(complaint(std::string("\x0a\x03\x0a\x01"
                                  "a\x12\x03\xc0\x02\x05",
                                  10)),
            "x: id 5, there are 1 pieces");
  EXPECT_EQ(complaint(std::string("\x08\x01", 2)), "x: field 1 before byte 2 is of another type");
}

TEST(SentencePiece, AFileCutShortAnywhereIsAnErrorOrHasFewerPieces) {
  const std::string whole = golden::read_file(data() / "pairs/tokenizer.model");
  const size_t pieces = read_sentencepiece(whole, "x").pieces.size();
  for (size_t n = 0; n < whole.size(); n += 7) {
    try {
      EXPECT_LE(read_sentencepiece(whole.substr(0, n), "x").pieces.size(), pieces);
    } catch (const Error&) {
    }
  }
}

}  // namespace
}  // namespace ingle
