// RWKV's greedy tokenizer: by hand, and what must hold for any bytes.
#include "text/rwkv.h"

#include "tests/text/text_support.h"

namespace ingle {
namespace {

using test::encode_texts;
using Texts = std::vector<std::string>;

// Id 0 is a control token; then every byte; then the given tokens.
Vocabulary vocabulary(const std::vector<std::string>& more) {
  Vocabulary v;
  v.model = "rwkv";
  v.tokens = {"<s>"};
  v.kinds = {TokenKind::kControl};
  for (int b = 0; b < 256; ++b) {
    constexpr char kHex[] = "0123456789abcdef";
    v.tokens.push_back(std::string("\\x") + kHex[b / 16] + kHex[b % 16]);
  }
  v.tokens.insert(v.tokens.end(), more.begin(), more.end());
  v.kinds.resize(v.tokens.size(), TokenKind::kNormal);
  return v;
}

TEST(Rwkv, EscapesAreThoseOfAPythonLiteral) {
  EXPECT_EQ(unescape_rwkv(R"(a\tb\nc\rd\\e\'f\"g)"), "a\tb\nc\rd\\e'f\"g");
  EXPECT_EQ(unescape_rwkv(R"(\x00\xFf\x7e)"), std::string("\0\xFF~", 3));
  EXPECT_EQ(unescape_rwkv(R"(\xg0 \x1)"), "xg0 x1");
  EXPECT_EQ(unescape_rwkv("end\\"), "end\\");
}

TEST(Rwkv, TheLongestTokenIsTakenEvenWhenAShorterOneWouldLeadFurther) {
  const auto t = Tokenizer::create(vocabulary({"ab", "abc", "cdef", R"(\n\n)", R"(\xe4\xb8)"}));
  EXPECT_EQ(encode_texts(*t, "abcdef"), (Texts{"abc", R"(\x64)", R"(\x65)", R"(\x66)"}));
  EXPECT_EQ(encode_texts(*t, "\n\n\n"), (Texts{R"(\n\n)", R"(\x0a)"}));
  EXPECT_EQ(encode_texts(*t, "\xE4\xB8\xAD"), (Texts{R"(\xe4\xb8)", R"(\xad)"}));
}

TEST(Rwkv, NothingIsAddedAndControlTokensAreTextUnlessAskedFor) {
  const auto t = Tokenizer::create(vocabulary({}));
  EXPECT_TRUE(t->encode("").empty());
  EXPECT_EQ(t->encode("<s>").size(), 3u);
  EXPECT_EQ(t->encode("<s>", {.parse_special = true}), std::vector<TokenId>{0});
}

TEST(Rwkv, AByteWithoutATokenIsUnknown) {
  Vocabulary v = vocabulary({"<unk>"});
  v.tokens[1 + 'z'] = "zz";
  v.kinds.back() = TokenKind::kUnknown;
  v.unknown = 257;
  const auto t = Tokenizer::create(v);
  EXPECT_EQ(encode_texts(*t, "zzz"), (Texts{"zz", "<unk>"}));
}

TEST(Rwkv, AnyBytesComeBack) {
  std::mt19937 random(3);
  std::vector<std::string> more;
  for (int i = 0; i < 200; ++i) {
    std::string escaped;
    for (int n = 2 + static_cast<int>(random() % 4); n > 0; --n) {
      constexpr char kHex[] = "0123456789abcdef";
      const unsigned b = random() % 256;
      escaped += std::string("\\x") + kHex[b / 16] + kHex[b % 16];
    }
    more.push_back(escaped);
  }
  const auto t = Tokenizer::create(vocabulary(more));
  for (int round = 0; round < 300; ++round) {
    std::string text = test::random_bytes(random, random() % 60);
    for (int i = 0; i < 3; ++i) text += unescape_rwkv(more[random() % more.size()]);
    const std::vector<TokenId> ids = t->encode(text);
    EXPECT_EQ(t->decode(ids), text);
    std::string joined;
    for (TokenId id : ids) joined += t->piece(id);
    EXPECT_EQ(joined, text);
    EXPECT_LE(ids.size(), text.size());
  }
}

}  // namespace
}  // namespace ingle
