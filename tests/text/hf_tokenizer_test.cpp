// tokenizer.json: the real files of Qwen3, gpt-oss and Gemma 3 where they lie beside the checkout.
#include "text/hf_tokenizer.h"

#include <map>
#include "tests/text/shared_data.h"
#include "tests/text/text_support.h"

namespace ingle {
namespace {

using Ids = std::vector<TokenId>;

// Loaded once for all tests: a file takes a second.
const Tokenizer* real(const std::string& name) {
  static std::map<std::string, std::unique_ptr<const Tokenizer>> loaded;
  const auto folder = test::shared_data() / "tokenizer_json" / name;
  auto& tokenizer = loaded[name];
  if (tokenizer) return tokenizer.get();
  const std::string json = test::unpacked(folder / "tokenizer.json.xz");
  if (!json.empty()) tokenizer = read_tokenizer_json(json, test::file_bytes(folder / "tokenizer_config.json"));
  return tokenizer.get();
}

std::vector<std::string> split_by(std::string_view text, std::string_view separator) {
  std::vector<std::string> parts;
  for (size_t at = 0;; at += separator.size()) {
    const size_t end = std::min(text.find(separator, at), text.size());
    parts.emplace_back(text.substr(at, end - at));
    if (end == text.size()) return parts;
    at = end;
  }
}

// Texts of a published .inp file whose ids are not those of its .out file. Both end in an empty text without a line.
size_t differing(const Tokenizer& tokenizer, const std::string& name, size_t& texts) {
  const std::string base = (test::shared_data() / "vocab" / ("ggml-vocab-" + name + ".gguf")).string();
  const auto inputs = split_by(test::file_bytes(base + ".inp"), "\n__ggml_vocab_test__\n");
  const auto expected = split_by(test::file_bytes(base + ".out"), "\n");
  size_t differ = 0;
  texts = 0;
  for (size_t i = 0; i < std::min(inputs.size(), expected.size()); ++i, ++texts) {
    const Ids ids = tokenizer.encode(inputs[i], {.add_special = false});
    const auto wanted = test::numbers(expected[i]);
    differ += !std::equal(ids.begin(), ids.end(), wanted.begin(), wanted.end());
  }
  return differ;
}

TEST(TokenizerJson, Qwen3GivesThePublishedIdsButForDecomposedAccents) {
  const Tokenizer* tokenizer = real("qwen3");
  if (!tokenizer) GTEST_SKIP() << "no ../shared/data";
  size_t texts = 0;
  EXPECT_EQ(differing(*tokenizer, "qwen2", texts), 0u);
  EXPECT_GE(texts, 46u);
  // Made without NFC, which the file asks for.
  EXPECT_EQ(differing(*tokenizer, "qwen35", texts), 3u);
  EXPECT_GE(texts, 50u);
}

TEST(TokenizerJson, Gemma3GivesThePublishedIds) {
  const Tokenizer* tokenizer = real("gemma3");
  if (!tokenizer) GTEST_SKIP() << "no ../shared/data";
  size_t texts = 0;
  EXPECT_EQ(differing(*tokenizer, "gemma-4", texts), 0u);
  EXPECT_GE(texts, 46u);
}

// One test, for each file takes half a second to load.
TEST(TokenizerJson, KindsRolesAndWhatEncodingAddsAreTheFiles) {
  const Tokenizer* gemma = real("gemma3");
  const Tokenizer* qwen = real("qwen3");
  if (!gemma || !qwen) GTEST_SKIP() << "no ../shared/data";
  EXPECT_EQ(gemma->encode("hi").front(), gemma->find("<bos>"));
  EXPECT_EQ(gemma->encode(""), Ids{*gemma->find("<bos>")});
  EXPECT_TRUE(gemma->adds_bos());
  EXPECT_EQ(gemma->encode("hi", {.add_special = false}).size() + 1, gemma->encode("hi").size());
  EXPECT_EQ(qwen->encode(""), Ids{});
  EXPECT_FALSE(qwen->adds_bos());

  // Special tokens are text unless asked for, others always match.
  EXPECT_EQ(qwen->encode("<|im_end|>").size(), 6u);
  EXPECT_EQ(qwen->encode("<|im_end|>", {.parse_special = true}), Ids{151645});
  EXPECT_EQ(qwen->encode("<think>"), Ids{151667});
  EXPECT_EQ(qwen->kind(151645), TokenKind::kControl);
  EXPECT_EQ(qwen->kind(151667), TokenKind::kUserDefined);
  EXPECT_EQ(qwen->piece(151645), "");
  EXPECT_EQ(qwen->piece(151645, true), "<|im_end|>");

  // Roles come from the configuration.
  EXPECT_EQ(qwen->eos(), 151645);
  EXPECT_EQ(qwen->padding(), 151643);
  EXPECT_TRUE(qwen->is_end_of_generation(151645));
  EXPECT_EQ(gemma->bos(), 2);
  EXPECT_EQ(gemma->eos(), gemma->find("<end_of_turn>"));
  EXPECT_TRUE(gemma->is_end_of_generation(*gemma->find("<eos>")));
}

TEST(TokenizerJson, TextComesBack) {
  std::mt19937 random(5);
  for (const char* name : {"qwen3", "gptoss"}) {
    const Tokenizer* tokenizer = real(name);
    if (!tokenizer) GTEST_SKIP() << "no ../shared/data";
    for (int i = 0; i < 200; ++i) {
      std::string text = test::random_text(random, 40);
      if (std::string_view(name) == "qwen3") text = text + "e\u0301";  // composed on the way
      const std::string back = tokenizer->decode(tokenizer->encode(text, {.add_special = false}));
      if (std::string_view(name) != "qwen3") {
        EXPECT_EQ(back, text) << name;
      }
      EXPECT_EQ(tokenizer->encode(back), tokenizer->encode(text)) << name;
    }
  }
}

}  // namespace
}  // namespace ingle
