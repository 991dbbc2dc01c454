// BERT's WordPiece: against Hugging Face with a part of a real vocabulary, and by hand.
#include "text/wpm.h"

#include "tests/text/text_support.h"
#include "text/clean_spaces.h"

namespace ingle {
namespace {

using test::encode_texts;
using Texts = std::vector<std::string>;

TEST(Wpm, EveryTextIsCutAsHuggingFaceDoes) {
  Vocabulary v;
  v.model = "bert";
  std::unique_ptr<const Tokenizer> tokenizer;
  std::string setting;
  size_t compared = 0;
  for (const std::string& line : test::data_lines("word_piece.txt")) {
    if (line[0] == 'V') {
      v.tokens.push_back(test::unescape(std::string_view(line).substr(3)));
      v.kinds.push_back(line[1] == 'c'   ? TokenKind::kControl
                        : line[1] == 'k' ? TokenKind::kUnknown
                                         : TokenKind::kNormal);
      const auto id = static_cast<int64_t>(v.tokens.size()) - 1;
      if (v.tokens.back() == "[UNK]") v.unknown = id;
      if (v.tokens.back() == "[CLS]") v.cls = id;
      if (v.tokens.back() == "[SEP]") v.separator = id;
    } else if (line[0] == 'M') {
      setting = line;
      v.lowercase = line[2] == '1';
      v.strip_accents = line[4] == '1';
      tokenizer = Tokenizer::create(v);
    } else {
      const size_t tab = line.rfind('\t');
      const std::string text = test::unescape(std::string_view(line).substr(2, tab - 2));
      const std::vector<TokenId> ids = tokenizer->encode(text, {.add_special = false});
      EXPECT_EQ(std::vector<int64_t>(ids.begin(), ids.end()), test::numbers(line.substr(tab))) << setting << line;
      std::vector<TokenId> framed = {*tokenizer->bos()};
      framed.insert(framed.end(), ids.begin(), ids.end());
      framed.push_back(static_cast<TokenId>(*v.separator));
      EXPECT_EQ(tokenizer->encode(text), framed);
      ++compared;
    }
  }
  EXPECT_GT(compared, 300u);
}

// Ids 0-2: [UNK] [CLS] [SEP].
std::unique_ptr<const Tokenizer> tokenizer(const std::vector<std::string>& pieces) {
  return Tokenizer::create(test::word_piece_vocabulary(pieces));
}

TEST(Wpm, AWordWithAPlaceWithoutAPieceIsUnknownAsAWhole) {
  const auto t = tokenizer({"▁ab", "c", "▁a", "▁,"});
  EXPECT_EQ(encode_texts(*t, "abc, ad", {.add_special = false}), (Texts{"▁ab", "c", "▁,", "[UNK]"}));
  EXPECT_EQ(encode_texts(*t, "abcx"), (Texts{"[CLS]", "[UNK]", "[SEP]"}));
  EXPECT_EQ(encode_texts(*t, ""), (Texts{"[CLS]", "[SEP]"}));
}

TEST(Wpm, TheSpaceMarkIsAnOrdinaryCharacter) {
  const auto t = tokenizer({"▁▁", "▁a", "▁b", "b"});
  EXPECT_EQ(encode_texts(*t, "▁ a▁b", {.add_special = false}), (Texts{"▁▁", "[UNK]"}));
}

TEST(Wpm, ControlTokensAreTextUnlessAskedFor) {
  const auto t = tokenizer({"▁[", "▁]", "▁sep"});
  EXPECT_EQ(encode_texts(*t, "[SEP]", {.add_special = false}), (Texts{"▁[", "▁sep", "▁]"}));
  EXPECT_EQ(encode_texts(*t, "[SEP]", {.add_special = false, .parse_special = true}), (Texts{"[SEP]"}));
}

TEST(Wpm, DecodingAWholeTextCleansSpacesAndPiecesDoNot) {
  const auto t = tokenizer({"▁it", "▁'", "▁s", "▁up", "per", "▁.", "▁is"});
  const std::vector<TokenId> ids = t->encode("it is upper.", {.add_special = false});
  EXPECT_EQ(t->decode(ids), "it is upper.");
  EXPECT_EQ(t->piece(ids.back()), " .");
}

TEST(CleanSpaces, BeforeSignsAndAroundALoneApostrophe) {
  EXPECT_EQ(clean_spaces("a . b ! c ? d , e"), "a. b! c? d, e");
  EXPECT_EQ(clean_spaces("it 's I 'm you 're we 've"), "it's I'm you're we've");
  EXPECT_EQ(clean_spaces("rock ' n ' roll"), "rock'n'roll");
  EXPECT_EQ(clean_spaces("do n't ; he 'll 'd"), "do n't ; he 'll 'd");
  EXPECT_EQ(clean_spaces("  a  ."), "  a .");
}

}  // namespace
}  // namespace ingle
