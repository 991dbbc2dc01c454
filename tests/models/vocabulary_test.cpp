// Real vocabularies against published token ids and against Hugging Face. The files are not part of the repository;
// what is not there is skipped.
#include "models/vocabulary.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "gguf/writer.h"
#include "ingle/error.h"
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

// A file of byte-level BPE with a pre-tokeniser nobody knows, in a place that goes with the test.
class WrittenVocabulary : public ::testing::Test {
 protected:
  std::filesystem::path write(const char* model, const char* pre) {
    const Vocabulary v = test::byte_vocabulary({"a b"});
    const std::filesystem::path path = ::testing::TempDir() + "/ingle_written_vocabulary.gguf";
    GgufWriter writer(path);
    writer.set<std::string>("general.architecture", "llama");
    writer.set<std::string>("tokenizer.ggml.model", model);
    writer.set<std::string>("tokenizer.ggml.pre", pre);
    writer.set_array<std::string>("tokenizer.ggml.tokens", v.tokens);
    writer.set_array<std::string>("tokenizer.ggml.merges", v.merges);
    writer.set<bool>("tokenizer.ggml.remove_extra_whitespaces", false);
    writer.set<bool>("tokenizer.ggml.normalizer.lowercase", false);
    writer.set_array<uint8_t>("tokenizer.ggml.precompiled_charsmap", {4, 0, 0, 0, 0xFF, 0, 0x80, 1, 'x', 0});
    writer.finish();
    return path;
  }
};

TEST_F(WrittenVocabulary, AnUnknownPreTokeniserIsRefusedWithThoseThatAreKnownAndCanBeReplaced) {
  const GgufFile file = GgufFile::open(write("gpt2", "never-heard-of"));
  try {
    Tokenizer::create(load_vocabulary(file));
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
    const std::string text = error.what();
    for (const char* part : {"\"never-heard-of\"", "afmoe", "llama-bpe", "qwen2", "--pre-tokenizer"}) {
      EXPECT_EQ(text.find(part) != text.npos, part != std::string("afmoe")) << part << ": " << text;
    }
  }
  const auto tokenizer = Tokenizer::create(load_vocabulary(file, "gpt-2"));
  EXPECT_EQ(tokenizer->encode("ab c", {.add_special = false}), (std::vector<TokenId>{256, ' ', 'c'}));
  EXPECT_THROW(Tokenizer::create(load_vocabulary(file, "nor-of-this")), Error);
}

TEST_F(WrittenVocabulary, AModelThatCutsNoWordsHasNoPreTokeniserToChoose) {
  const GgufFile file = GgufFile::open(write("llama", "default"));
  EXPECT_EQ(load_vocabulary(file).pre, "default");
  EXPECT_THROW(load_vocabulary(file, "gpt-2"), Error);
}

TEST_F(WrittenVocabulary, KeysOfOtherModelsAreRead) {
  const Vocabulary v = load_vocabulary(GgufFile::open(write("t5", "")));
  EXPECT_EQ(v.remove_extra_whitespaces, false);
  EXPECT_EQ(v.lowercase, false);
  EXPECT_FALSE(v.strip_accents || v.add_separator || v.cls);
  EXPECT_EQ(v.precompiled_charsmap, std::string("\x04\0\0\0\xFF\0\x80\1x\0", 10));
}

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
