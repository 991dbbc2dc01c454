// Folders that transformers saved, converted: the logits must be the reference's.
#include "ingle/convert.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "convert/safetensors.h"
#include "gguf/gguf.h"
#include "ingle/ingle.h"
#include "tests/expect_error.h"
#include "tests/gguf/temporary_folder.h"
#include "tests/models/encoders.h"

namespace ingle {
namespace {

namespace fs = std::filesystem;

constexpr double kExactBound = 1e-5;

fs::path data() { return fs::path(INGLE_SOURCE_DIR) / "tests/convert/data"; }

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const auto& entry : fs::directory_iterator(data())) all.push_back(entry.path().filename().string());
  std::ranges::sort(all);
  return all;
}

// A model inside one that also sees is the model.
golden::Golden golden_of(std::string name) {
  constexpr std::string_view kWrapped = "wrapped_";
  return golden::load(name.starts_with(kWrapped) ? name.substr(kWrapped.size()) : name);
}

class ConvertedFolder : public testing::TestWithParam<std::string> {
 protected:
  test::TemporaryFolder folder_;
};

TEST_P(ConvertedFolder, GivesTheReferenceLogits) {
  const fs::path file = folder_ / "converted.gguf";
  convert_folder(data() / GetParam(), file, {.type = "f32", .threads = 1});
  const golden::Golden golden = golden_of(GetParam());
  Engine engine({.threads = 1, .isa = "", .exact = true, .log = {}});
  const Model model = Model::open(engine, file);
  Session session(model, {.context = 256});
  for (const golden::Prompt& prompt : golden.prompts) {
    golden::Rows rows;
    golden::read(session, session.create(), prompt.tokens, rows);
    for (size_t p = 0; p < prompt.tokens.size(); ++p)
      ASSERT_LE(golden::relative_error(rows[p], prompt.logits[p]), kExactBound) << "position " << p;
  }
}

// make_golden.py writes its file by way of the gguf package: what both write must be the same.
TEST_P(ConvertedFolder, SaysWhatTheFileMadeByTheGgufPackageSays) {
  const fs::path file = folder_ / "converted.gguf";
  convert_folder(data() / GetParam(), file, {.type = "f16", .threads = 1});
  const GgufFile ours = GgufFile::open(file), theirs = GgufFile::open(golden_of(GetParam()).file());
  if (theirs.find("blk.0.attn_kv_b.weight")) GTEST_SKIP() << "keys and values in one matrix, as old files have them";
  for (const GgufTensor& tensor : theirs.tensors()) {
    const auto found = ours.find(tensor.name);
    ASSERT_TRUE(found) << tensor.name;
    EXPECT_EQ(found->shape, tensor.view.shape) << tensor.name;
    if (found->type == tensor.view.type) {
      EXPECT_EQ(std::memcmp(found->data, tensor.view.data, found->bytes()), 0) << tensor.name;
    }
  }
  EXPECT_EQ(ours.tensors().size(), theirs.tensors().size());
  for (const char* key : {"tokenizer.ggml.tokens", "tokenizer.ggml.token_type", "tokenizer.ggml.merges",
                          "tokenizer.ggml.model", "tokenizer.ggml.pre", "tokenizer.ggml.bos_token_id",
                          "tokenizer.ggml.eos_token_id", "tokenizer.ggml.add_bos_token"})
    EXPECT_EQ(ours.find_value(key)->value, theirs.find_value(key)->value) << key;
}

INSTANTIATE_TEST_SUITE_P(Folders, ConvertedFolder, testing::ValuesIn(names()),
                         [](const auto& info) { return info.param; });

fs::path encoders() { return fs::path(INGLE_SOURCE_DIR) / "tests/convert/encoders"; }

std::vector<std::string> encoder_folders() {
  std::vector<std::string> all;
  for (const auto& entry : fs::directory_iterator(encoders())) all.push_back(entry.path().filename().string());
  std::ranges::sort(all);
  return all;
}

class ConvertedEncoder : public ConvertedFolder {};

TEST_P(ConvertedEncoder, GivesTheReferenceRowsAndScores) {
  const fs::path file = folder_ / "converted.gguf";
  convert_folder(encoders() / GetParam(), file, {.type = "f32", .threads = 1});
  const golden::Encoder golden = golden::load_encoder(GetParam());
  Engine engine({.threads = 1, .isa = "", .exact = true, .log = {}});
  const Model model = Model::open(engine, file);
  EXPECT_EQ(model.info().pooling, golden.pooling);
  EXPECT_EQ(model.info().labels, golden.labels);
  const Want standing = model.info().causal ? Want::kLast : Want::kFirst;
  Session session(model, {.sequences = 4});
  for (const golden::EncodedText& text : golden.texts) {
    const RunRequest run{.sequence = session.create(),
                         .tokens = text.tokens,
                         .want = Want::kNothing,
                         .hidden = Want::kAll,
                         .scores = golden.labels.empty() ? Want::kNothing : standing,
                         .second_text = text.second};
    session.evaluate({&run, 1}, [&](const ResultRow& row) {
      EXPECT_LE(golden::relative_error(row.hidden, text.rows[static_cast<size_t>(row.position)]), kExactBound);
      if (!row.scores.empty()) {
        EXPECT_LE(golden::relative_error(row.scores, text.scores), kExactBound);
      }
    });
  }
}

TEST_P(ConvertedEncoder, HasTheTensorsOfTheFileMadeByTheGgufPackage) {
  const fs::path file = folder_ / "converted.gguf";
  convert_folder(encoders() / GetParam(), file, {.type = "f16", .threads = 1});
  const GgufFile ours = GgufFile::open(file), theirs = GgufFile::open(golden::load_encoder(GetParam()).file());
  for (const GgufTensor& tensor : theirs.tensors()) {
    const auto found = ours.find(tensor.name);
    ASSERT_TRUE(found) << tensor.name;
    EXPECT_EQ(found->shape, tensor.view.shape) << tensor.name;
  }
  EXPECT_EQ(ours.tensors().size(), theirs.tensors().size());
  for (const char* key : {"tokenizer.ggml.tokens", "tokenizer.ggml.model"})
    EXPECT_EQ(ours.find_value(key)->value, theirs.find_value(key)->value) << key;
  EXPECT_EQ(ours.find_string("tokenizer.chat_template.rerank"), theirs.find_string("tokenizer.chat_template.rerank"));
}

INSTANTIATE_TEST_SUITE_P(Folders, ConvertedEncoder, testing::ValuesIn(encoder_folders()),
                         [](const auto& info) { return info.param; });

// RoBERTa's pairs have two tokens between their texts, BERT's one.
TEST(ConvertedPairs, HaveTheMarksOfTheFolder) {
  test::TemporaryFolder folder;
  for (const auto& [name, tokens] : {std::pair{"bert_rerank", 7}, {"roberta_labels", 8}}) {
    convert_folder(encoders() / name, folder / "converted.gguf", {.type = "f32", .threads = 1});
    Engine engine({.threads = 1, .isa = "", .exact = true, .log = {}});
    const Model model = Model::open(engine, folder / "converted.gguf");
    EXPECT_EQ(model.tokenize_pair("the cat", "sat on").tokens.size(), static_cast<size_t>(tokens)) << name;
    EXPECT_EQ(model.tokenize("the cat").size(), 4) << name;
  }
}

// A value of a JSON file made another one; `pointer` is where it lies ("/rope_parameters/factor").
void set_value(const fs::path& file, const std::string& pointer, std::string_view value) {
  boost::json::value root = boost::json::parse(golden::read_file(file));
  root.at_pointer(pointer) = boost::json::parse(value);
  std::ofstream(file, std::ios::binary) << root;
}

// Each tensor's entry in the header of a safetensors file, changed; the data, which then begin where is returned, stay.
uint64_t edit_header(const fs::path& path, const std::function<void(std::string_view, boost::json::object&)>& edit) {
  const std::string file = golden::read_file(path);
  uint64_t size = 0;
  std::memcpy(&size, file.data(), sizeof size);
  boost::json::object header = boost::json::parse(file.substr(sizeof size, size)).as_object();
  header.erase("__metadata__");
  for (auto& [name, tensor] : header) edit(name, tensor.as_object());
  const std::string text = boost::json::serialize(header);
  const uint64_t written = text.size();
  std::ofstream(path, std::ios::binary) << std::string_view(reinterpret_cast<const char*>(&written), sizeof written)
                                        << text << std::string_view(file).substr(sizeof size + size);
  return sizeof written + written;
}

class Convert : public testing::Test {
 protected:
  // A copy of a folder, to be spoilt.
  fs::path copy(const std::string& name) {
    const fs::path to = folder_ / name;
    fs::copy(data() / name, to);
    return to;
  }
  void replace(const fs::path& file, const std::string& from, const std::string& to) {
    std::string text = golden::read_file(file);
    const size_t at = text.find(from);
    ASSERT_NE(at, text.npos) << from;
    text.replace(at, from.size(), to);
    std::ofstream(file, std::ios::binary) << text;
  }
  std::string complaint(const fs::path& folder, ConvertOptions options = {}) {
    try {
      convert_folder(folder, folder_ / "out.gguf", options);
    } catch (const Error& error) {
      EXPECT_FALSE(fs::exists(folder_ / "out.gguf"));
      return error.what();
    }
    return "";
  }
  static bool has(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }

  test::TemporaryFolder folder_;
};

TEST_F(Convert, QuantisesOnTheWayAndSplits) {
  const ConvertReport report = convert_folder(data() / "mistral_window", folder_ / "q.gguf",
                                              {.type = "q8_0", .max_shard_bytes = 20000, .threads = 2});
  EXPECT_GT(report.files.size(), 2u);
  EXPECT_EQ(report.architecture, "llama");
  const GgufFile file = GgufFile::open(report.files[0]);
  EXPECT_EQ(file.tensors().size(), report.tensors.size());
  EXPECT_EQ(file.find("blk.0.attn_norm.weight")->type, DType::kF32);
  EXPECT_EQ(file.find("blk.0.attn_q.weight")->type, DType::kF16);  // 40 columns are no blocks of 32
}

TEST_F(Convert, NoFileOfTheFolderIsReplacedButOneOfGguf) {
  fs::copy(data() / "llama_tied", folder_ / "model");
  const fs::path folder = folder_ / "model", blob = folder_ / "blob", made = folder / "model.gguf";
  fs::rename(folder / "model.safetensors", blob);  // as caches of models keep it
  fs::create_symlink(blob, folder / "model.safetensors");
  for (const fs::path& target :
       {folder / "config.json", folder / "tokenizer.json", folder / "model.safetensors", blob}) {
    const std::string before = test::read_bytes(target);
    test::expect_error([&] { convert_folder(folder, target, {.threads = 1}); }, ErrorCode::kInvalidArgument,
                       "it cannot be the one to write");
    EXPECT_TRUE(test::read_bytes(target) == before) << target;
  }
  convert_folder(folder, made, {.threads = 1});
  EXPECT_NO_THROW(convert_folder(folder, made, {.threads = 1}));  // again
}

TEST_F(Convert, ATensorThatIsMissingOrTooMuchIsNamed) {
  const fs::path missing = copy("qwen2_tiny");
  replace(missing / "model.safetensors", "model.layers.1.mlp.up_proj.weight", "model.layers.1.mlp.up_proj.weighs");
  EXPECT_TRUE(has(complaint(missing), "tensor model.layers.1.mlp.up_proj.weight is missing")) << complaint(missing);
  const fs::path more = copy("llama_tied");
  replace(more / "config.json", "\"num_hidden_layers\": 3", "\"num_hidden_layers\": 2");
  EXPECT_TRUE(has(complaint(more), "tensors that llama has no place for: model.layers.2.")) << complaint(more);
}

TEST_F(Convert, AShapeThatDoesNotFitTheSettingsIsNamed) {
  const fs::path folder = copy("qwen3_tiny");
  replace(folder / "config.json", "\"intermediate_size\": 56", "\"intermediate_size\": 57");
  EXPECT_TRUE(has(complaint(folder), "blk.0.ffn_gate.weight")) << complaint(folder);
}

TEST_F(Convert, ModelsAndTypesThatAreNotKnownGetTheListOfThose) {
  const fs::path folder = copy("qwen3_tiny");
  EXPECT_TRUE(has(complaint(folder, {.type = "q9"}), "known are f32, ")) << complaint(folder, {.type = "q9"});
  replace(folder / "config.json", "Qwen3ForCausalLM", "Qwen9ForCausalLM");
  EXPECT_TRUE(has(complaint(folder), "\"Qwen9ForCausalLM\" cannot be converted; known are LlamaForCausalLM"))
      << complaint(folder);
}

TEST_F(Convert, SettingsThatNothingHereComputesAreRefused) {
  const fs::path folder = copy("llama3_rope");
  replace(folder / "config.json", "\"llama3\"", "\"spiral\"");
  EXPECT_TRUE(has(complaint(folder), "a rope of type \"spiral\"")) << complaint(folder);
  const fs::path other = copy("llama_tied");
  replace(other / "config.json", "\"silu\"", "\"relu\"");
  EXPECT_TRUE(has(complaint(other), "\"hidden_act\" is \"relu\", it must be silu")) << complaint(other);
}

TEST_F(Convert, EyesAreLeftOutAndCounted) {
  for (const char* name : {"wrapped_gemma3_tiny", "wrapped_mistral_window"}) {
    const ConvertReport report = convert_folder(data() / name, folder_ / "x.gguf");
    const GgufFile file = GgufFile::open(report.files[0]);
    EXPECT_EQ(report.tensors.size(), file.tensors().size());
    EXPECT_GT(report.left_out, 10) << name;
  }
  EXPECT_EQ(convert_folder(data() / "llama_tied", folder_ / "x.gguf").left_out, 0);
}

TEST_F(Convert, ExpertsInFourBitsStayInThemWhateverTheTypeOfTheFile) {
  convert_folder(data() / "gptoss_fp4", folder_ / "x.gguf", {.type = "q8_0", .threads = 2});
  const GgufFile file = GgufFile::open(folder_ / "x.gguf");
  EXPECT_EQ(file.find("blk.0.ffn_up_exps.weight")->type, DType::kMXFP4);
  EXPECT_EQ(file.find("blk.1.ffn_down_exps.weight")->type, DType::kMXFP4);
  EXPECT_EQ(file.find("blk.0.attn_q.weight")->type, DType::kQ8_0);
  EXPECT_EQ(file.find_int("general.file_type"), 38);
}

TEST_F(Convert, FoldersOfQuantisedWeightsSayWhatTheyAre) {
  const fs::path folder = copy("llama_tied");
  replace(folder / "config.json", "\"vocab_size\"",
          "\"quantization_config\": {\"quant_method\": \"gptq\", \"bits\": 4}, \"vocab_size\"");
  EXPECT_TRUE(has(complaint(folder), "the weights are quantised (quant_method \"gptq\", 4 bits), which is not read; "))
      << complaint(folder);
  const fs::path other = copy("gptoss_fp4");
  replace(other / "config.json", "\"mxfp4\"", "\"fp8\"");
  EXPECT_TRUE(has(complaint(other), "(quant_method \"fp8\"), which is not read (but \"mxfp4\" is)"))
      << complaint(other);
}

TEST_F(Convert, SettingsThatAreNoObjectAreNotCalledASuccess) {
  const fs::path folder = copy("llama_tied");
  std::ofstream(folder / "config.json") << "[]";
  EXPECT_EQ(complaint(folder), (folder / "config.json").native() + ": not a JSON object (but another value)");
}

TEST_F(Convert, BlocksWithoutTheirScalesAreNamed) {
  const fs::path folder = copy("gptoss_fp4");
  replace(folder / "model.safetensors", "model.layers.1.mlp.experts.down_proj_scales",
          "model.layers.1.mlp.experts.down_proj_scalez");
  EXPECT_TRUE(has(complaint(folder), "model.layers.1.mlp.experts.down_proj_scales is missing")) << complaint(folder);
}

TEST_F(Convert, WhatIsNoModelsFolderIsSaidToBeNone) {
  EXPECT_TRUE(has(complaint(folder_ / "absent"), "no such folder"));
  fs::create_directory(folder_ / "empty");
  EXPECT_TRUE(has(complaint(folder_ / "empty"), "config.json: no such file")) << complaint(folder_ / "empty");
  const fs::path folder = copy("qwen2_tiny");
  fs::remove(folder / "model.safetensors");
  EXPECT_TRUE(has(complaint(folder), "no weights: neither model.safetensors nor"));
  std::ofstream(folder / "model.safetensors.index.json") << R"({"weight_map": {"a": "../model.safetensors"}})";
  EXPECT_TRUE(has(complaint(folder), "is not the name of a file in the folder")) << complaint(folder);
}

TEST_F(Convert, ADryRunSaysWhatWouldBeWrittenAndWritesNothing) {
  const ConvertOptions options{.type = "q8_0", .threads = 1};
  ConvertOptions dry = options;
  dry.dry_run = true;
  const ConvertReport planned = convert_folder(data() / "llama_biases", folder_ / "x.gguf", dry);
  EXPECT_FALSE(fs::exists(folder_ / "x.gguf"));
  const ConvertReport written = convert_folder(data() / "llama_biases", folder_ / "x.gguf", options);
  const GgufFile file = GgufFile::open(folder_ / "x.gguf");
  ASSERT_EQ(planned.tensors.size(), file.tensors().size());
  for (size_t i = 0; i < planned.tensors.size(); ++i) {
    EXPECT_EQ(planned.tensors[i].name, file.tensors()[i].name);
    EXPECT_EQ(planned.tensors[i].bytes, file.tensors()[i].view.bytes());
  }
  EXPECT_EQ(planned.parameters, written.parameters);
  EXPECT_LT(planned.bytes, written.bytes);
}

// Numbers that would end in a division, an allocation or a loop.
TEST_F(Convert, CountsThatCannotBeAreNamed) {
  const auto spoilt = [&](const std::string& name, const std::string& key, const std::string& value) {
    fs::remove_all(folder_ / name);
    const fs::path folder = copy(name);
    set_value(folder / "config.json", key, value);
    return complaint(folder);
  };
  const std::tuple<const char*, const char*, const char*, const char*> cases[] = {
      {"llama_tied", "/num_key_value_heads", "0", "must be from 1 to "},
      {"llama_tied", "/num_key_value_heads", "3", "must be a divisor of num_attention_heads"},
      {"granite_tiny", "/num_key_value_heads", "0", "must be from 1 to "},
      {"mistral_window", "/num_hidden_layers", "4294967295", "the folder has no more tensors"},
      {"llama3_rope", "/head_dim", "4294967295", "must be from 2 to 65536"},
      {"deepseek2_lite", "/n_routed_experts", "0", "must be from 1 to "},
      {"deepseek3_tiny", "/num_nextn_predict_layers", "4000000000", "the folder has no more tensors"},
      {"gemma3n_tiny", "/vocab_size", "4294967295", "as many as embed_tokens.weight has rows"},
      {"gemma3n_tiny", "/intermediate_size", "1e300", "32 bits"},
      {"gemma4_moe", "/per_layer_config/2/head_dim", "4294967295", "must be from 2 to 65536"},
      {"llama_tied", "/rms_norm_eps", "1e39", "must be a number that 32 bits can hold"},
  };
  for (const auto& [name, key, value, must] : cases) {
    const std::string said = spoilt(name, key, value);
    EXPECT_TRUE(has(said, must)) << name << key << " " << value << ": " << said;
  }
}

TEST_F(Convert, SamplingThatAFileHasNoNumberForIsNamed) {
  const fs::path folder = copy("llama_tied");
  std::ofstream(folder / "generation_config.json") << R"({"do_sample": true, "top_k": 5000000000})";
  EXPECT_TRUE(has(complaint(folder), "\"top_k\" is 5000000000")) << complaint(folder);
  std::ofstream(folder / "generation_config.json") << R"({"do_sample": true, "temperature": 1e39})";
  EXPECT_TRUE(has(complaint(folder), "\"temperature\" is 1E39")) << complaint(folder);
}

struct TokenizerPart {
  const char *pointer, *value, *said;  // said: "" where a file can say it
};

// Each part alone in a tokenizer.json that can be converted.
void expect_said(const std::function<std::string(const TokenizerPart&)>& complaint_with,
                 std::span<const TokenizerPart> parts) {
  for (const TokenizerPart& part : parts) {
    const std::string said = complaint_with(part);
    if (*part.said == '\0') {
      EXPECT_EQ(said, "") << part.value;
    } else {
      EXPECT_NE(said.find(part.said), said.npos) << part.pointer << " " << part.value << ": " << said;
    }
  }
}

// What a file has no words for must not get lost: its ids would be others.
TEST_F(Convert, PartsOfATokenizerThatAFileCannotSayAreRefused) {
  const auto in_copy_of = [&](const fs::path& from, std::vector<TokenizerPart> basis) {
    return [this, from, basis = std::move(basis)](const TokenizerPart& part) {
      const fs::path folder = folder_ / "tokenizer";
      fs::remove_all(folder);
      fs::copy(from, folder, fs::copy_options::recursive);
      for (const TokenizerPart& set : basis) set_value(folder / "tokenizer.json", set.pointer, set.value);
      set_value(folder / "tokenizer.json", part.pointer, part.value);
      return complaint(folder, {.threads = 1, .dry_run = true});
    };
  };
  const TokenizerPart bytes[] = {
      {"/normalizer", R"({"type": "NFC"})", ""},
      {"/normalizer", R"({"type": "Sequence", "normalizers": []})", ""},
      {"/normalizer", R"({"type": "Lowercase"})", "normalizer: Lowercase has no form in GGUF"},
      {"/normalizer", R"({"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Lowercase"}]})",
       "normalizer.normalizers[1]: Lowercase has no form"},
      {"/normalizer", R"({"type": "Replace", "pattern": {"String": " "}, "content": "_"})", "Replace has no form"},
      {"/normalizer", R"({"type": "Prepend", "prepend": " "})", "Prepend has no form"},
      {"/normalizer", R"({"type": "Strip", "strip_left": true, "strip_right": true})", "Strip has no form"},
      {"/model/unk_token", R"("<unk>")", "in GGUF they are left out, here they become \"<unk>\""},
      {"/model/end_of_word_suffix", R"("</w>")", "model.end_of_word_suffix"},
  };
  expect_said(in_copy_of(data() / "llama_tied", {}), bytes);
  const TokenizerPart characters[] = {
      {"/pre_tokenizer", "null", ""},
      {"/pre_tokenizer", R"({"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious",
                             "invert": false})",
       ""},
      {"/normalizer", R"({"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"},
                          {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]})",
       ""},
      {"/normalizer", R"({"type": "Replace", "pattern": {"String": " "}, "content": "_"})", "Replace has no form"},
      {"/normalizer", R"({"type": "NFKC"})", "NFKC has no form"},
      {"/normalizer", "null", "neither writes U+2581 for spaces"},
      {"/pre_tokenizer", R"({"type": "WhitespaceSplit"})", "pre_tokenizer: "},
  };
  const std::vector<TokenizerPart> of_characters = {
      {"/model/byte_fallback", "true", ""},
      {"/pre_tokenizer", "null", ""},
      {"/normalizer", R"({"type": "Replace", "pattern": {"String": " "}, "content": "▁"})", ""}};
  expect_said(in_copy_of(data() / "llama_tied", of_characters), characters);
  const TokenizerPart pieces[] = {
      {"/normalizer", R"({"type": "Strip", "strip_left": false, "strip_right": true})", ""},
      {"/normalizer", R"({"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "})", ""},
      {"/normalizer", R"({"type": "Replace", "pattern": {"String": "''"}, "content": "\""})", "Replace has no form"},
      {"/pre_tokenizer", R"({"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"},
                             {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"}]})",
       ""},
      {"/pre_tokenizer", R"({"type": "WhitespaceSplit"})", "neither writes U+2581 for spaces"},
  };
  const std::vector<TokenizerPart> of_pieces = {
      {"/model", R"({"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0], ["a", -1], ["b", -2]]})", ""},
      {"/added_tokens", "[]", ""},
      {"/pre_tokenizer", R"({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"})", ""}};
  expect_said(in_copy_of(data() / "llama_tied", of_pieces), pieces);
  const TokenizerPart words[] = {
      {"/normalizer/handle_chinese_chars", "false", "normalizer.handle_chinese_chars: false has no form"},
      {"/normalizer/clean_text", "false", "normalizer.clean_text: false has no form"},
      {"/normalizer", "null", "GGUF has one BertNormalizer"},
      {"/pre_tokenizer", R"({"type": "WhitespaceSplit"})", "pre_tokenizer: is not BertPreTokenizer"},
      {"/model/max_input_chars_per_word", "3", "model.max_input_chars_per_word: 3"},
  };
  expect_said(in_copy_of(encoders() / "bert_tiny", {}), words);
}

TEST_F(Convert, WhatFewTextsGetFromATokenizerAndNotFromAFileIsNoted) {
  const auto notes = [&](const char* pointer, const char* value) {
    fs::remove_all(folder_ / "llama_tied");
    const fs::path folder = copy("llama_tied");
    set_value(folder / "tokenizer.json", pointer, value);
    return convert_folder(folder, folder_ / "out.gguf", {.threads = 1}).notes;
  };
  EXPECT_TRUE(notes("/normalizer", R"({"type": "NFC"})").empty());
  EXPECT_TRUE(notes("/post_processor", "null").empty());
  const auto around = notes("/post_processor", R"({"type": "TemplateProcessing", "pair": [],
      "single": [{"SpecialToken": {"id": "x", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
      "special_tokens": {"x": {"id": "x", "ids": [3, 4], "tokens": ["x", "y"]}}})");
  ASSERT_EQ(around.size(), 1u);
  EXPECT_TRUE(has(around[0], "puts 2 tokens before a text, a file only")) << around[0];
  const auto composing =
      notes("/pre_tokenizer", R"({"type": "Sequence", "pretokenizers": [
      {"type": "Split", "invert": false, "behavior": "Isolated", "pattern": {"Regex": "(?i:'s|'t|'re|'ve|'m|'ll|'d)|)"
                              R"([^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}| ?[^\\s\\p{L}\\p{M}\\p{N}]+)"
                              R"([\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"}},
      {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false}]})");
  ASSERT_EQ(composing.size(), 1u);
  EXPECT_TRUE(has(composing[0], "\"qwen35\" in a file does")) << composing[0];
}

// Phi 3's tokens take a line break along, whatever the folder is called.
TEST_F(Convert, WhiteSpaceThatAddedTokensTakeAlongIsKeptOrNoted) {
  const auto convert = [&](const char* name, const char* token) {
    const fs::path folder = copy(name);
    for (const char* end : {"/lstrip", "/single_word", "/rstrip"})
      set_value(folder / "tokenizer.json", std::string("/added_tokens/0") + end,
                end == std::string_view(token) ? "true" : "false");
    const ConvertReport report = convert_folder(folder, folder_ / "out.gguf", {.threads = 1});
    fs::remove_all(folder);
    return report.notes;
  };
  EXPECT_TRUE(convert("llama_tied", "").empty());
  for (const char* flag : {"/lstrip", "/rstrip"}) {
    const std::vector<std::string> notes = convert("llama_tied", flag);
    ASSERT_EQ(notes.size(), 1u) << flag;
    EXPECT_TRUE(has(notes[0], "1 added tokens take the white space beside them along, which a file cannot say"))
        << notes[0];
  }
  EXPECT_EQ(convert("llama_tied", "/single_word").size(), 1u);
}

TEST_F(Convert, PositionsBeforeTheFirstAreRefused) {
  const fs::path folder = folder_ / "roberta";
  fs::copy(encoders() / "roberta_labels", folder, fs::copy_options::recursive);
  set_value(folder / "config.json", "/pad_token_id", "-9");
  EXPECT_TRUE(has(complaint(folder), "\"pad_token_id\" is -9")) << complaint(folder);
}

TEST_F(Convert, ExpertsThatAreNoMatricesAreNamed) {
  const fs::path folder = copy("mixtral_tiny");
  edit_header(folder / "model.safetensors", [](std::string_view name, boost::json::object& tensor) {
    if (name.find(".experts.") != name.npos) tensor.at("shape").as_array().push_back(1);
  });
  EXPECT_TRUE(has(complaint(folder), "it must be a matrix")) << complaint(folder);
}

// The last number of a tensor of halves made NaN.
TEST_F(Convert, WeightsThatAreNotFiniteAreNamed) {
  const fs::path folder = copy("qwen3_tiny");
  std::string file = golden::read_file(folder / "model.safetensors");
  const SafeTensorsFile weights = SafeTensorsFile::parse(std::as_bytes(std::span(file)), "weights");
  const auto& tensor = *std::ranges::find(weights.tensors(), "model.layers.1.mlp.down_proj.weight", &SafeTensor::name);
  ASSERT_EQ(tensor.type, "F16");
  file[static_cast<size_t>(tensor.bytes.data() - std::as_bytes(std::span(file)).data()) + tensor.bytes.size() - 1] =
      0x7E;
  std::ofstream(folder / "model.safetensors", std::ios::binary) << file;
  for (const char* type : {"f16", "f32", "q8_0"}) {
    const std::string said = complaint(folder, {.type = type, .threads = 1});
    EXPECT_TRUE(has(said, "blk.1.ffn_down.weight: row 39: column 55 is nan")) << type << ": " << said;
  }
}

// Every number of a config.json in turn made one that is too small, too large, or no whole one: converted or refused.
class ConfigOfFolder : public testing::TestWithParam<std::string> {};

void numbers_of(const boost::json::value& value, const std::string& pointer, std::vector<std::string>& found) {
  if (value.is_number()) found.push_back(pointer);
  if (const auto* object = value.if_object())
    for (const auto& [key, inner] : *object) numbers_of(inner, pointer + '/' + std::string(key), found);
}

TEST_P(ConfigOfFolder, IsConvertedOrRefusedWhateverItsNumbersAre) {
  test::TemporaryFolder temporary;
  const fs::path from = fs::exists(data() / GetParam()) ? data() : encoders(), folder = temporary / "spoilt";
  fs::copy(from / GetParam(), folder, fs::copy_options::recursive);
  std::vector<std::string> pointers;
  numbers_of(boost::json::parse(golden::read_file(folder / "config.json")), "", pointers);
  ASSERT_GT(pointers.size(), 5u);
  for (const std::string& pointer : pointers) {
    for (const char* number : {"0", "-1", "4294967295", "9223372036854775807", "1e300"}) {
      fs::copy_file(from / GetParam() / "config.json", folder / "config.json", fs::copy_options::overwrite_existing);
      set_value(folder / "config.json", pointer, number);
      try {
        convert_folder(folder, temporary / "out.gguf", {.threads = 1, .dry_run = true});
      } catch (const Error& error) {
        EXPECT_NE(error.code(), ErrorCode::kOutOfMemory) << pointer << " " << number << ": " << error.what();
        EXPECT_NE(error.code(), ErrorCode::kInternal) << pointer << " " << number << ": " << error.what();
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Families, ConfigOfFolder,
                         testing::Values("llama3_rope", "mistral_window", "mixtral_tiny", "qwen2moe_tiny",
                                         "gemma2_tiny", "gemma3_tiny", "gemma3n_tiny", "gemma4_moe", "gemma4_ple",
                                         "phi3_short", "olmo3_tiny", "glm4_tiny", "granite_moe", "gptoss_fp4",
                                         "deepseek3_tiny", "bert_rerank", "roberta_labels", "nomic_tiny"),
                         [](const auto& info) { return info.param; });

// Bytes of this process's memory that no file backs.
uint64_t own_memory() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (uint64_t kib = 0; word == "RssAnon:" && status >> kib) return kib * 1024;
  return 0;
}

// The feed-forward matrices of a folder made as many times as wide, all of it holes.
void widen(const fs::path& folder, int64_t times) {
  const fs::path file = folder / "model.safetensors";
  int64_t at = 0;
  const uint64_t header = edit_header(file, [&](std::string_view name, boost::json::object& tensor) {
    const bool wide = name.find(".mlp.") != name.npos;
    boost::json::value& extent = tensor.at("shape").as_array().at(name.find("down") != name.npos ? 1 : 0);
    if (wide) extent = extent.as_int64() * times;
    boost::json::array& place = tensor.at("data_offsets").as_array();
    const int64_t bytes = (place[1].as_int64() - place[0].as_int64()) * (wide ? times : 1);
    place = {at, at + bytes};
    at += bytes;
  });
  fs::resize_file(file, header);
  fs::resize_file(file, header + static_cast<uint64_t>(at));
}

TEST_F(Convert, MemoryHoldsAFewRowsOfATensorHoweverLargeItIs) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers keep memory of their own";
#endif
  constexpr int64_t kTimes = 4000;
  const fs::path folder = copy("qwen3_tiny");
  replace(folder / "config.json", "\"intermediate_size\": 56", "\"intermediate_size\": " + std::to_string(56 * kTimes));
  widen(folder, kTimes);
  const uint64_t before = own_memory();
  uint64_t most = before;
  const ConvertReport report = convert_folder(folder, folder_ / "out.gguf", {.threads = 1, .progress = [&](double) {
                                                                               most = std::max(most, own_memory());
                                                                               return true;
                                                                             }});
  EXPECT_GT(report.bytes, 100'000'000u);
  EXPECT_LT(most - before, 30'000'000u);  // a tensor has 36 MB in the folder
}

TEST_F(Convert, FewBitsWithoutImportanceAreCounted) {
  EXPECT_EQ(convert_folder(data() / "qwen3_tiny", folder_ / "x.gguf", {.type = "q8_0"}).unweighted, 0);
  EXPECT_EQ(convert_folder(data() / "qwen3_tiny", folder_ / "x.gguf", {.type = "iq2_xxs"}).unweighted,
            0);  // 40 columns
  const fs::path folder = copy("qwen3_tiny");
  replace(folder / "config.json", "\"intermediate_size\": 56", "\"intermediate_size\": " + std::to_string(56 * 32));
  widen(folder, 32);
  EXPECT_EQ(convert_folder(folder, folder_ / "x.gguf", {.type = "iq2_xxs"}).unweighted, 2);  // ffn_down of two layers
}

TEST_F(Convert, CancellingLeavesNoFile) {
  EXPECT_TRUE(has(complaint(data() / "qwen2_tiny", {.progress = [](double) { return false; }}), "cancelled"));
}

TEST_F(Convert, WeightsInSeveralFilesAreFoundByTheirIndex) {
  const fs::path folder = copy("qwen2_tiny");
  fs::rename(folder / "model.safetensors", folder / "model-00001-of-00001.safetensors");
  std::ofstream(folder / "model.safetensors.index.json")
      << R"({"weight_map": {"model.norm.weight": "model-00001-of-00001.safetensors"}})";
  EXPECT_EQ(complaint(folder), "");
}

TEST_F(Convert, PoolingThatAFileCannotSayIsRefused) {
  const fs::path folder = folder_ / "max";
  fs::copy(encoders() / "bert_tiny", folder, fs::copy_options::recursive);
  replace(folder / "1_Pooling/config.json", "pooling_mode_mean_tokens", "pooling_mode_max_tokens");
  EXPECT_TRUE(has(complaint(folder), "pools by max; GGUF has mean, cls and lasttoken")) << complaint(folder);
  replace(folder / "modules.json", "sentence_transformers.models.Normalize", "sentence_transformers.models.Dense");
  replace(folder / "1_Pooling/config.json", "pooling_mode_max_tokens", "pooling_mode_mean_tokens");
  EXPECT_TRUE(has(complaint(folder), "a module of type sentence_transformers.models.Dense has no form in GGUF"))
      << complaint(folder);
  replace(folder / "modules.json", "1_Pooling", "../1_Pooling");
  EXPECT_TRUE(has(complaint(folder), "not the name of a folder")) << complaint(folder);
}

// A folder of a reranker is told from any other of its kind by its page.
TEST_F(Convert, OfARerankerTheOutputLayersRowsOfYesAndNoAreKept) {
  const fs::path folder = folder_ / "reranker";
  fs::copy(encoders() / "qwen3_rerank", folder, fs::copy_options::recursive);
  const ConvertReport report = convert_folder(folder, folder_ / "x.gguf", {.type = "f32", .threads = 1});
  EXPECT_EQ(report.notes.size(), 1u);
  EXPECT_FALSE(GgufFile::open(folder_ / "x.gguf").find("output.weight"));

  replace(folder / "config.json", "\"tie_word_embeddings\": false", "\"tie_word_embeddings\": true");
  convert_folder(folder, folder_ / "x.gguf", {.type = "f32", .threads = 1});
  const GgufFile tied = GgufFile::open(folder_ / "x.gguf");
  const ConstTensorView rows = *tied.find("cls.output.weight"), embedding = *tied.find("token_embd.weight");
  EXPECT_EQ(std::memcmp(rows.data, embedding.row(131), rows.bytes()), 0);  // yes and no are its last two tokens

  std::ofstream(folder / "README.md") << "Not the heading: # Qwen3-Reranker\n";
  convert_folder(folder, folder_ / "plain.gguf", {.type = "f32", .threads = 1});
  EXPECT_FALSE(GgufFile::open(folder_ / "plain.gguf").find("cls.output.weight"));
}

TEST_F(Convert, ARerankerNeedsTokensForItsAnswers) {
  const fs::path folder = copy("qwen3_tiny");
  std::ofstream(folder / "README.md") << "# Qwen3-Reranker-0.6B\n";
  EXPECT_TRUE(has(complaint(folder), "the vocabulary has no \"yes\"")) << complaint(folder);
}

TEST_F(Convert, AnActivationThatAFileCannotSayIsRefused) {
  const fs::path folder = folder_ / "tanh";
  fs::copy(encoders() / "bert_tiny", folder, fs::copy_options::recursive);
  replace(folder / "config.json", "\"hidden_act\": \"gelu\"", "\"hidden_act\": \"gelu_new\"");
  EXPECT_TRUE(has(complaint(folder), "\"hidden_act\"")) << complaint(folder);
}

}  // namespace
}  // namespace ingle
