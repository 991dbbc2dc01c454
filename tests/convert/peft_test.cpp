// Folders of adapters as the PEFT library saves them, converted.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "convert/hf_folder.h"
#include "gguf/gguf.h"
#include "ingle/ingle.h"
#include "tests/convert/safetensors_text.h"
#include "tests/expect_error.h"
#include "tests/gguf/temporary_folder.h"
#include "tests/models/golden.h"

namespace ingle {
namespace {

namespace fs = std::filesystem;
using test::expect_error;
using test::NamedMatrix;
using test::TemporaryFolder;
using test::zeros;

fs::path published(const std::string& name) { return fs::path(INGLE_SOURCE_DIR) / "tests/convert/peft" / name; }
fs::path expected(const std::string& name) {
  return fs::path(INGLE_SOURCE_DIR) / "tests/models/lora" / (name + ".one.gguf");
}

// make_lora_golden.py wrote the file by way of the gguf package; tests/models/lora_test.cpp compares its logits.
TEST(PeftFolder, BecomesTheFileThatTheGgufPackageWrites) {
  for (const std::string name : {"llama_wide", "qwen3moe_tiny"}) {
    const TemporaryFolder folder;
    const ConvertReport report = convert_adapter(published(name), golden::path(name + ".gguf"), folder / "a.gguf",
                                                 {.type = "f32", .threads = 1});
    const GgufFile ours = GgufFile::open(folder / "a.gguf"), theirs = GgufFile::open(expected(name));
    EXPECT_EQ(report.tensors.size(), theirs.tensors().size());
    EXPECT_EQ(report.bytes, fs::file_size(folder / "a.gguf"));
    ASSERT_EQ(ours.tensors().size(), theirs.tensors().size());
    for (const GgufTensor& tensor : theirs.tensors()) {
      const auto found = ours.find(tensor.name);
      ASSERT_TRUE(found) << tensor.name;
      ASSERT_EQ(found->shape, tensor.view.shape) << tensor.name;
      EXPECT_EQ(std::memcmp(found->data, tensor.view.data, found->bytes()), 0) << tensor.name;
    }
    for (const char* key : {"general.type", "general.architecture", "adapter.type"})
      EXPECT_EQ(ours.get_string(key), theirs.get_string(key));
    EXPECT_EQ(ours.get_float("adapter.lora.alpha"), theirs.get_float("adapter.lora.alpha"));
  }
}

TEST(PeftFolder, InHalfPrecisionItCanBeApplied) {
  const TemporaryFolder folder;
  convert_adapter(published("llama_wide"), golden::path("llama_wide.gguf"), folder / "a.gguf");
  Engine engine({.threads = 1, .log = {}});
  const Model model = Model::open(engine, golden::path("llama_wide.gguf"));
  EXPECT_EQ(Adapter::open(model, folder / "a.gguf").info().name, "llama_wide");
}

TEST(PeftFolder, NeitherItsFilesNorItsModelAreReplaced) {
  const TemporaryFolder folder;
  fs::copy(published("llama_wide"), folder / "adapter");
  fs::copy_file(golden::path("llama_wide.gguf"), folder / "base.gguf");
  for (const char* name : {"base.gguf", "adapter/adapter_config.json", "adapter/adapter_model.safetensors"}) {
    const std::string before = test::read_bytes(folder / name);
    expect_error([&] { convert_adapter(folder / "adapter", folder / "base.gguf", folder / name); },
                 ErrorCode::kInvalidArgument, "it cannot be the one to write");
    EXPECT_TRUE(test::read_bytes(folder / name) == before) << name;
  }
}

TEST(PeftFolder, ADryRunWritesNothing) {
  const TemporaryFolder folder;
  const ConvertReport report =
      convert_adapter(published("llama_wide"), golden::path("llama_wide.gguf"), folder / "a.gguf", {.dry_run = true});
  EXPECT_EQ(report.architecture, "llama");
  EXPECT_EQ(report.tensors.front().name, "token_embd.weight.lora_a");
  EXPECT_EQ(report.tensors.front().shape, "[133, 3]");
  EXPECT_TRUE(report.files.empty());
  EXPECT_TRUE(folder.names().empty());
}

fs::path models() { return fs::path(INGLE_SOURCE_DIR) / "tests/convert/data"; }

std::vector<std::string> model_names() {
  std::vector<std::string> all;
  for (const auto& entry : fs::directory_iterator(models())) all.push_back(entry.path().filename().string());
  std::ranges::sort(all);
  return all;
}

// Every matrix of a model's folder that an adapter may stand beside.
std::vector<std::string> modules_of(const HfFolder& folder) {
  constexpr std::string_view kParts[] = {"q_proj",
                                         "k_proj",
                                         "v_proj",
                                         "o_proj",
                                         "qkv_proj",
                                         "q_a_proj",
                                         "q_b_proj",
                                         "gate_proj",
                                         "up_proj",
                                         "gate",
                                         "router",
                                         "kv_a_proj_with_mqa",
                                         "down_proj",
                                         "gate_up_proj",
                                         "layer",
                                         "lm_head",
                                         "w1",
                                         "w2",
                                         "w3",
                                         "per_layer_input_gate",
                                         "per_layer_projection",
                                         "shared_expert_gate"};
  constexpr std::string_view kWeight = ".weight";
  std::vector<std::string> modules;
  for (std::string_view name : folder.names()) {
    if (!name.ends_with(kWeight) || name.find("vision") != name.npos || folder.find(name)->shape.rank != 2) continue;
    name.remove_suffix(kWeight.size());
    if (std::ranges::count(kParts, name.substr(name.rfind('.') + 1)) > 0) modules.emplace_back(name);
  }
  return modules;
}

class PeftOfFamily : public testing::TestWithParam<std::string> {};

// A = 1 and B = W: what becomes of B is what became of W when the model itself was converted.
TEST_P(PeftOfFamily, RowsOfBGoWhereTheModelsOwnWent) {
  const TemporaryFolder folder;
  convert_folder(models() / GetParam(), folder / "base.gguf", {.type = "f32", .threads = 1});
  const HfFolder model = HfFolder::open(models() / GetParam());
  std::vector<NamedMatrix> matrices;
  for (const std::string& module : modules_of(model)) {
    const SafeTensor& w = *model.find(module + ".weight");
    const int64_t out = w.shape[0], in = w.shape[1];
    NamedMatrix a = zeros("base_model.model." + module + ".lora_A.weight", in, in);
    for (int64_t i = 0; i < in; ++i) a.numbers[static_cast<size_t>(i * in + i)] = 1;
    NamedMatrix b = zeros("base_model.model." + module + ".lora_B.weight", out, in);
    w.read(0, out * in, b.numbers.data());
    matrices.push_back(std::move(a));
    matrices.push_back(std::move(b));
  }
  ASSERT_GE(matrices.size(), 8u);
  folder.write("adapter_config.json", R"({"peft_type": "LORA", "lora_alpha": 1})");
  folder.write("adapter_model.safetensors", test::safetensors_text(matrices));
  convert_adapter(folder / "", folder / "base.gguf", folder / "a.gguf", {.type = "f32", .threads = 1});

  const GgufFile base = GgufFile::open(folder / "base.gguf"), adapter = GgufFile::open(folder / "a.gguf");
  for (const GgufTensor& b : adapter.tensors()) {
    constexpr std::string_view kB = ".lora_b";
    if (!b.name.ends_with(kB)) continue;
    const auto w = base.find(b.name.substr(0, b.name.size() - kB.size()));
    ASSERT_TRUE(w) << b.name;
    ASSERT_EQ(b.view.shape.elements(), w->shape.elements()) << b.name;
    EXPECT_EQ(std::memcmp(b.view.data, w->data, w->bytes()), 0) << b.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Folders, PeftOfFamily, testing::ValuesIn(model_names()),
                         [](const auto& info) { return info.param; });

class ChangedPeft : public testing::Test {
 protected:
  ChangedPeft() {
    for (const auto& entry : fs::directory_iterator(published("llama_wide")))
      fs::copy(entry.path(), folder_ / entry.path().filename().string());
  }
  void set(std::string_view from, std::string_view to) const {
    std::string text = test::read_bytes(folder_ / "adapter_config.json");
    const size_t at = text.find(from);
    ASSERT_NE(at, text.npos);
    folder_.write("adapter_config.json", text.replace(at, from.size(), to));
  }
  // Of layer 0 of the model.
  void write(std::vector<NamedMatrix> matrices) const {
    for (NamedMatrix& m : matrices) m.name = "base_model.model.model.layers.0." + m.name;
    folder_.write("adapter_model.safetensors", test::safetensors_text(matrices));
  }
  void refused(ErrorCode code, std::string_view message, const std::string& base = "llama_wide",
               const char* type = "f32") const {
    expect_error(
        [&] {
          convert_adapter(folder_ / "", golden::path(base + ".gguf"), folder_ / "a.gguf", {.type = type, .threads = 1});
        },
        code, message);
    EXPECT_FALSE(fs::exists(folder_ / "a.gguf"));
  }

  const TemporaryFolder folder_;
};

TEST_F(ChangedPeft, OtherMethodsAreNamed) {
  const std::pair<const char*, const char*> changes[] = {
      {R"("use_dora": true)", "\"use_dora\": DoRA (it scales every row of the sum) cannot be converted"},
      {R"("use_qalora": true)", "\"use_qalora\": QALoRA"},
      {R"("lora_bias": true)", "\"lora_bias\": biases beside B"},
      {R"("alpha_pattern": {"q_proj": 3})", "\"alpha_pattern\": another alpha for some modules"},
      {R"("target_parameters": ["mlp.experts.gate_up_proj"])", "\"target_parameters\""},
      {R"("layer_replication": [[0, 2], [1, 2]])", "\"layer_replication\""},
      {R"("bias": "all")", "\"bias\" is \"all\""},
      {R"("init_lora_weights": "pissa")", "\"init_lora_weights\" is \"pissa\": it changed the model's own weights"},
      {R"("peft_type": "IA3")", "\"peft_type\" is \"IA3\"; LORA can be converted"},
  };
  for (const auto& [setting, message] : changes) {
    const std::string comma = std::string_view(setting).starts_with("\"peft_type") ? "" : R"("peft_type": "LORA", )";
    folder_.write("adapter_config.json", "{" + comma + setting + R"(, "lora_alpha": 5})");
    refused(ErrorCode::kUnsupported, message);
  }
}

TEST_F(ChangedPeft, ABeginningThatLeavesTheModelAsItIsIsAsGoodAsNone) {
  set("\"use_dora\": false", "\"init_lora_weights\": \"gaussian\"");
  convert_adapter(folder_ / "", golden::path("llama_wide.gguf"), folder_ / "a.gguf", {.type = "f32", .threads = 1});
}

TEST_F(ChangedPeft, AConfigThatSaysNothingUsefulIsRefused) {
  for (const auto& [text, message] : {std::pair{"", "not a JSON object"},
                                      {"[1]", "not a JSON object"},
                                      {"{}", "no \"peft_type\""},
                                      {R"({"peft_type": 3})", "\"peft_type\" is 3, it must be a text"},
                                      {R"({"peft_type": "LORA"})", "no \"lora_alpha\""},
                                      {R"({"peft_type": "LORA", "lora_alpha": 0})", "\"lora_alpha\" is 0"},
                                      {R"({"peft_type": "LORA", "lora_alpha": 1e30})", "from 1e-20 to 1e20"}}) {
    folder_.write("adapter_config.json", text);
    refused(ErrorCode::kInvalidFile, message);
  }
}

TEST_F(ChangedPeft, WhatTheModelDoesNotHaveIsListed) {
  refused(ErrorCode::kUnsupported, "no place for", "qwen3moe_tiny");
  refused(ErrorCode::kInvalidFile, "beside the model's", "llama_yarn");
  write({zeros("self_attn.w_proj.lora_A.weight", 2, 64), zeros("mlp.experts.3.up_proj.lora_B.weight", 64, 2),
         zeros("self_attn.v_proj.weight", 64, 64), zeros("mlp.up_proj.lora_embedding_A", 2, 64)});
  refused(ErrorCode::kUnsupported, "4 tensors that");
}

TEST_F(ChangedPeft, HalvesThatDoNotFitTogetherAreNamed) {
  write({zeros("self_attn.v_proj.lora_A.weight", 2, 64)});
  refused(ErrorCode::kInvalidFile, "layers.0.self_attn.v_proj.lora_A.weight is without its other half");
  write({zeros("self_attn.v_proj.lora_B.weight", 64, 2)});
  refused(ErrorCode::kInvalidFile, "layers.0.self_attn.v_proj.lora_B.weight is without its other half");
  write({zeros("self_attn.v_proj.lora_A.weight", 2, 64), zeros("self_attn.v_proj.lora_B.weight", 64, 3)});
  refused(ErrorCode::kInvalidFile, "they are not of one rank");
  write({zeros("self_attn.v_proj.lora_A.weight", 2, 63), zeros("self_attn.v_proj.lora_B.weight", 64, 2)});
  refused(ErrorCode::kInvalidFile, "blk.0.attn_v.weight.lora_a is [2, 63]; beside the model's");
  write({zeros("self_attn.q_proj.lora_A.weight", 2, 64), zeros("self_attn.q_proj.lora_B.weight", 7, 2)});
  refused(ErrorCode::kInvalidFile, "its rows do not divide into");
}

TEST_F(ChangedPeft, AModuleThatIsThereTwiceIsNamed) {
  const std::vector<NamedMatrix> matrices = {zeros("model.layers.0.mlp.up_proj.lora_A.weight", 2, 64),
                                             zeros("model.layers.0.mlp.up_proj.lora_B.weight", 96, 2),
                                             zeros("layers.0.mlp.up_proj.lora_A.weight", 2, 64)};
  folder_.write("adapter_model.safetensors", test::safetensors_text(matrices));
  refused(ErrorCode::kInvalidFile, "are both for blk.0.ffn_up.weight");
}

// The last three of seven layers read the keys and values of earlier ones.
TEST_F(ChangedPeft, KeysOfLayersThatHaveNoneAreLeftOutWithANote) {
  const std::string layers = "base_model.model.model.language_model.layers.";
  std::vector<NamedMatrix> matrices;
  for (const char* module : {"0.self_attn.k_proj", "4.self_attn.k_proj", "6.self_attn.v_proj"}) {
    matrices.push_back(zeros(layers + module + ".lora_A.weight", 2, 40));
    matrices.push_back(zeros(layers + module + ".lora_B.weight", 24, 2));
  }
  folder_.write("adapter_model.safetensors", test::safetensors_text(matrices));
  const ConvertReport report = convert_adapter(folder_ / "", golden::path("gemma4_ple.gguf"), "", {.dry_run = true});
  EXPECT_EQ(report.tensors.size(), 2u);
  EXPECT_EQ(report.notes,
            std::vector<std::string>{"4 matrices for keys and values that the model does not compute are left out"});
}

TEST_F(ChangedPeft, SomeExpertsOnlyAreTooFew) {
  write({zeros("mlp.experts.1.up_proj.lora_A.weight", 2, 64), zeros("mlp.experts.1.up_proj.lora_B.weight", 32, 2)});
  refused(ErrorCode::kInvalidFile, "experts, of which 1 are adapted", "qwen3moe_tiny");
}

TEST_F(ChangedPeft, TypesOfBlocksAreTooLongForItsRows) {
  refused(ErrorCode::kInvalidArgument, "an adapter is stored as f32, f16 or bf16", "llama_wide", "q8_0");
}

TEST_F(ChangedPeft, ItsFolderIsNotTakenForAModels) {
  expect_error([&] { convert_folder(folder_ / "", folder_ / "a.gguf"); }, ErrorCode::kInvalidFile,
               "is an adapter's folder");
}

TEST_F(ChangedPeft, AMissingFileIsNamed) {
  fs::remove(folder_ / "adapter_model.safetensors");
  refused(ErrorCode::kNotFound, "adapter_model.safetensors");
  fs::remove(folder_ / "adapter_config.json");
  refused(ErrorCode::kNotFound, "adapter_config.json");
}

TEST_F(ChangedPeft, TheRootOfTheRankGoesIntoB) {
  set("\"use_rslora\": false", "\"use_rslora\": true");
  convert_adapter(folder_ / "", golden::path("llama_wide.gguf"), folder_ / "a.gguf", {.type = "f32", .threads = 1});
  const GgufFile ours = GgufFile::open(folder_ / "a.gguf"), plain = GgufFile::open(expected("llama_wide"));
  for (const char* name : {"blk.0.attn_v.weight.lora_b", "blk.0.attn_q.weight.lora_b", "token_embd.weight.lora_b"}) {
    const ConstTensorView changed = *ours.find(name), original = *plain.find(name);
    for (int64_t i = 0; i < changed.shape.elements(); ++i) {
      float x, y;
      std::memcpy(&x, changed.data + static_cast<size_t>(i) * sizeof x, sizeof x);
      std::memcpy(&y, original.data + static_cast<size_t>(i) * sizeof y, sizeof y);
      ASSERT_FLOAT_EQ(x, y * std::sqrt(3.0f)) << name;
    }
  }
}

}  // namespace
}  // namespace ingle
