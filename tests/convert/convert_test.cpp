// Folders that transformers saved, converted: the logits must be the reference's.
#include "ingle/convert.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "gguf/gguf.h"
#include "ingle/ingle.h"
#include "tests/gguf/temporary_folder.h"
#include "tests/models/golden.h"

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

class ConvertedFolder : public testing::TestWithParam<std::string> {
 protected:
  test::TemporaryFolder folder_;
};

TEST_P(ConvertedFolder, GivesTheReferenceLogits) {
  const fs::path file = folder_ / "converted.gguf";
  convert_folder(data() / GetParam(), file, {.type = "f32", .threads = 1});
  const golden::Golden golden = golden::load(GetParam());
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
  const GgufFile ours = GgufFile::open(file), theirs = GgufFile::open(golden::load(GetParam()).file());
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
  EXPECT_EQ(static_cast<int64_t>(file.tensors().size()), report.tensors);
  EXPECT_EQ(file.find("blk.0.attn_norm.weight")->type, DType::kF32);
  EXPECT_EQ(file.find("blk.0.attn_q.weight")->type, DType::kF16);  // 40 columns are no blocks of 32
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

}  // namespace
}  // namespace ingle
