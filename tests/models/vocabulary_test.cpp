// Real vocabularies against published token ids and against Hugging Face. The files are not part of the repository;
// what is not there is skipped.
#include "models/vocabulary.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/text/text_support.h"

namespace ingle {
namespace {

std::filesystem::path vocabulary_folder() {
  const char* shared = std::getenv("INGLE_SHARED");
  return std::filesystem::path(shared ? shared : INGLE_SOURCE_DIR "/../shared") / "data/vocab";
}

std::filesystem::path model_file() {
  if (const char* file = std::getenv("INGLE_TEST_MODEL")) return file;
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  const std::filesystem::path root = cache ? cache : std::filesystem::path(home ? home : "") / ".cache";
  return root / "ingle/models/smollm2-135m-instruct.gguf";
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class PublishedVocabulary : public ::testing::TestWithParam<const char*> {};

TEST_P(PublishedVocabulary, GivesThePublishedIdsOfEveryText) {
  const std::filesystem::path file = vocabulary_folder() / (std::string("ggml-vocab-") + GetParam() + ".gguf");
  if (!std::filesystem::exists(file)) GTEST_SKIP() << file << " is not there";
  const auto tokenizer = Tokenizer::create(load_vocabulary(GgufFile::open(file)));
  const std::string texts = read_file(file.string() + ".inp");
  const std::string separator = "\n__ggml_vocab_test__\n";
  std::ifstream expected(file.string() + ".out");
  size_t begin = 0, compared = 0;
  for (std::string line; std::getline(expected, line);) {
    const size_t end = std::min(texts.find(separator, begin), texts.size());
    const std::string text = texts.substr(begin, end - begin);
    begin = std::min(end + separator.size(), texts.size());
    const std::vector<TokenId> ids = tokenizer->encode(text, {.add_special = false});
    EXPECT_EQ(std::vector<int64_t>(ids.begin(), ids.end()), test::numbers(line)) << text;
    const bool reversible = GetParam() != std::string("bert-bge");  // it loses letter case and white space
    EXPECT_TRUE(!reversible || tokenizer->decode(ids) == text) << text;
    ++compared;
  }
  EXPECT_GE(compared, 46u);
}

INSTANTIATE_TEST_SUITE_P(Files, PublishedVocabulary,
                         ::testing::Values("gpt-2", "mpt", "refact", "deepseek-coder", "llama-spm", "phi-3",
                                           "bert-bge"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::erase(name, '-');
                           return name;
                         });

class SmolLm2Vocabulary : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(model_file())) GTEST_SKIP() << model_file() << " is not there";
    tokenizer_ = Tokenizer::create(load_vocabulary(GgufFile::open(model_file())));
  }
  std::unique_ptr<const Tokenizer> tokenizer_;
};

TEST_F(SmolLm2Vocabulary, GivesTheIdsHuggingFaceGives) {
  size_t compared = 0;
  for (const std::string& line : test::data_lines("smollm_expected.txt")) {
    const size_t tab = line.rfind('\t');
    const std::string text = test::unescape(std::string_view(line).substr(2, tab - 2));
    const std::vector<TokenId> ids = tokenizer_->encode(text, {.add_special = false, .parse_special = line[0] == 's'});
    EXPECT_EQ(std::vector<int64_t>(ids.begin(), ids.end()), test::numbers(line.substr(tab))) << line;
    ++compared;
  }
  EXPECT_GT(compared, 300u);
}

TEST_F(SmolLm2Vocabulary, EveryTextItHasBytesForSurvives) {
  std::mt19937 random(4);
  for (int round = 0; round < 200; ++round) {
    std::string text = test::random_text(random, 40);
    std::erase_if(text, [&](char c) { return !tokenizer_->find(test::letter(static_cast<unsigned char>(c))); });
    EXPECT_EQ(tokenizer_->decode(tokenizer_->encode(text)), text);
  }
}

TEST_F(SmolLm2Vocabulary, KnowsItsTurns) {
  EXPECT_EQ(tokenizer_->text(tokenizer_->eot().value()), "<|im_end|>");
  EXPECT_TRUE(tokenizer_->is_end_of_generation(*tokenizer_->find("<|endoftext|>")));
  EXPECT_FALSE(tokenizer_->is_end_of_generation(*tokenizer_->find("<|im_start|>")));
}

}  // namespace
}  // namespace ingle
