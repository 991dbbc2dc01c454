// Long texts that repeat one thing, through every kind of tokenizer: they end, with no more ids than the text allows.
#include "ingle/error.h"
#include "tests/text/text_support.h"
#include "tests/text/tokenizer_kinds.h"

namespace ingle {
namespace {

// Times are never asserted: what is quadratic here takes minutes (bench/tokenizer_scaling prints how time grows).
TEST(LongTexts, EveryKindOfTokenizerEndsWithBoundedIds) {
  const auto texts = test::repeated_texts(1 << 16);
  for (const auto& [name, tokenizer, keeps_bytes] : test::one_of_each_kind()) {
    for (const auto& [what, text] : texts) {
      const std::vector<TokenId> ids = tokenizer->encode(text, {.parse_special = true});
      EXPECT_LE(ids.size(), text.size() * 3 + 3) << name << ": " << what;  // a bad byte may become three (U+FFFD)
      EXPECT_TRUE(!keeps_bytes || tokenizer->decode(ids, true) == text) << name << ": " << what;
    }
  }
}

TEST(LongTexts, AMegabyteOfEachIsNoTroubleForOneTokenizerOfEachModel) {
  const auto texts = test::repeated_texts(1 << 20);
  for (const auto& [name, tokenizer, keeps_bytes] : test::one_of_each_kind()) {
    if (name != "qwen2" && name != "gemma4" && name != "llama" && name != "bert" && name != "t5" && name != "rwkv")
      continue;
    for (const auto& [what, text] : texts) EXPECT_LE(tokenizer->encode(text).size(), text.size() + 3) << name << what;
  }
}

}  // namespace
}  // namespace ingle
