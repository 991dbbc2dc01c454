// tokenizer.json against Hugging Face's `tokenizers` on the torture corpus: 21,000 texts that tokenizers get wrong. All
// of them for the three real files beside the checkout, a part of them for some hundred small files that use every
// component.
#include <boost/json.hpp>

#include "tests/text/shared_data.h"
#include "tests/text/text_support.h"
#include "text/hf_description.h"
#include "text/hf_tokenizer.h"
#include "text/tokenizer_base.h"

namespace ingle {
namespace {

std::filesystem::path data_file(const char* name) { return std::string(INGLE_SOURCE_DIR) + "/tests/text/data/" + name; }

std::vector<std::string> corpus() {
  std::vector<std::string> texts;
  std::istringstream lines(test::unpacked(data_file("hf_corpus.xz")));
  for (std::string line; std::getline(lines, line);) texts.push_back(test::unescape(line));
  return texts;
}

// FNV-1a over the ids of texts, each as four bytes, and an end mark after each text.
class Digest {
 public:
  void add(const std::vector<TokenId>& ids) {
    for (TokenId id : ids) add(static_cast<uint32_t>(id));
    add(0xFFFFFFFFu);
  }
  uint64_t value() const { return value_; }

 private:
  void add(uint32_t word) {
    for (int i = 0; i < 4; ++i, word >>= 8) value_ = (value_ ^ (word & 0xFF)) * 0x100000001B3u;
  }

  uint64_t value_ = 0xCBF29CE484222325u;
};

uint64_t hex(std::string_view text) { return std::stoull(std::string(text), nullptr, 16); }

// Lines "qwen3 text 100 HASH": of texts 100 to 199, special tokens as text or parsed.
void compare_with_real(const std::string& name) {
  const std::vector<std::string> texts = corpus();
  if (texts.empty()) GTEST_SKIP() << "no program xz";
  const auto folder = test::shared_data() / "tokenizer_json" / name;
  const std::string json = test::unpacked(folder / "tokenizer.json.xz");
  if (json.empty()) GTEST_SKIP() << "no ../shared/data";
  const auto tokenizer = read_tokenizer_json(json);
  size_t compared = 0;
  for (const std::string& line : test::data_lines("hf_real.txt")) {
    std::istringstream fields(line);
    std::string of, mode, hash;
    size_t start = 0;
    fields >> of >> mode >> start >> hash;
    if (of != name) continue;
    Digest digest;
    for (size_t i = start; i < std::min(start + 100, texts.size()); ++i, ++compared) {
      digest.add(tokenizer->encode(texts[i], {.parse_special = mode == "parse"}));
    }
    EXPECT_EQ(digest.value(), hex(hash)) << name << ", " << mode << ", one of texts " << start << " to " << start + 99;
  }
  EXPECT_EQ(compared, 2 * texts.size());
  EXPECT_GE(texts.size(), 20000u);
}

TEST(TokenizerJsonCorpus, Qwen3) { compare_with_real("qwen3"); }
TEST(TokenizerJsonCorpus, GptOss) { compare_with_real("gptoss"); }
TEST(TokenizerJsonCorpus, Gemma3) { compare_with_real("gemma3"); }

// What a GGUF file of the same model says: kinds by the flags, merges as lines, or as scores for SentencePiece.
Vocabulary gguf_form(const HfDescription& d, const char* model, const char* pre) {
  Vocabulary v;
  v.model = model;
  v.pre = pre;
  v.tokens = d.tokens;
  v.kinds.assign(d.tokens.size(), TokenKind::kNormal);
  for (size_t i = 0; i < d.tokens.size(); ++i) {
    if (d.model.byte_fallback && parse_byte_token(d.tokens[i])) v.kinds[i] = TokenKind::kByte;
  }
  for (const HfAddedToken& token : d.added) {
    v.kinds[static_cast<size_t>(token.id)] = token.special ? TokenKind::kControl : TokenKind::kUserDefined;
  }
  v.scores.assign(d.tokens.size(), 0.0f);
  for (size_t rank = d.model.merges.size(); rank-- > 0;) {
    const BpeMerge& merge = d.model.merges[rank];
    v.scores[static_cast<size_t>(merge.result)] = -static_cast<float>(rank);
  }
  for (const BpeMerge& merge : d.model.merges) {
    v.merges.push_back(d.tokens[static_cast<size_t>(merge.left)] + " " + d.tokens[static_cast<size_t>(merge.right)]);
  }
  v.add_space_prefix = false;
  return v;
}

size_t differences(const Tokenizer& a, const Tokenizer& b, const std::vector<std::string>& texts, size_t step) {
  size_t differ = 0;
  for (size_t i = 0; i < texts.size(); i += step) {
    if (texts[i].find("\u2581") != std::string::npos) continue;  // SentencePiece cannot tell it from a space
    const EncodeOptions options{.add_special = false, .parse_special = true};
    differ += a.encode(texts[i], options) != b.encode(texts[i], options);
  }
  return differ;
}

TEST(TokenizerJsonCorpus, Gemma3AsGgufGivesTheSameIdsBothWaysItCanBeStored) {
  const std::vector<std::string> texts = corpus();
  const std::string json = test::unpacked(test::shared_data() / "tokenizer_json" / "gemma3" / "tokenizer.json.xz");
  if (json.empty() || texts.empty()) GTEST_SKIP() << "no ../shared/data, or no program xz";
  const JsonDocument document(json, "tokenizer.json");
  const HfDescription description = describe_tokenizer(document.root(), {});
  const auto ours = read_tokenizer_json(json);
  EXPECT_EQ(differences(*ours, *Tokenizer::create(gguf_form(description, "llama", "")), texts, 5), 0u);
  EXPECT_EQ(differences(*ours, *Tokenizer::create(gguf_form(description, "gemma4", "")), texts, 5), 0u);
}

TEST(TokenizerJsonCorpus, SmallFilesOfEveryComponent) {
  const std::vector<std::string> texts = corpus();
  if (texts.empty()) GTEST_SKIP() << "no program xz";
  const boost::json::value golden = boost::json::parse(test::unpacked(data_file("hf_small.json.xz")));
  const auto step = golden.at("step").to_number<size_t>();
  size_t n = 0, shown = 0;
  for (const boost::json::value& entry : golden.at("cases").as_array()) {
    const std::string name(entry.at("name").as_string());
    std::vector<bool> left_out(texts.size());
    for (const auto& i : entry.at("left_out").as_array()) left_out.at(i.to_number<size_t>()) = true;
    const std::string json = boost::json::serialize(entry.at("tokenizer"));
    const auto tokenizer = read_tokenizer_json(json);
    const auto general = read_tokenizer_json(json, {}, {.general_only = true});
    for (const auto& example : entry.at("shown").as_array()) {
      const std::string& text = texts.at(example.at(0).to_number<size_t>());
      const auto wanted = boost::json::value_to<std::vector<TokenId>>(example.at(1));
      EXPECT_EQ(tokenizer->encode(text, {.parse_special = true}), wanted) << name << ": " << text;
      ++shown;
    }
    Digest text, parse, general_parse;
    for (size_t i = n % step; i < texts.size(); i += step) {
      if (left_out[i]) continue;
      text.add(tokenizer->encode(texts[i]));
      parse.add(tokenizer->encode(texts[i], {.parse_special = true}));
      general_parse.add(general->encode(texts[i], {.parse_special = true}));
    }
    EXPECT_EQ(text.value(), hex(std::string_view(entry.at("text").as_string()))) << name;
    EXPECT_EQ(parse.value(), hex(std::string_view(entry.at("parse").as_string()))) << name;
    EXPECT_EQ(general_parse.value(), parse.value()) << name;
    ++n;
  }
  EXPECT_GE(n, 90u);
  EXPECT_GE(shown, 1000u);
}

}  // namespace
}  // namespace ingle
