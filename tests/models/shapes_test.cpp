// The shapes of published models: sizes that their makers publish, and details that set the families apart.
#include "models/shapes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"

namespace ingle {
namespace {

const ShapeTensor* find(const ModelShape& shape, std::string_view name) {
  const auto found = std::ranges::find(shape.tensors, name, &ShapeTensor::name);
  return found == shape.tensors.end() ? nullptr : &*found;
}

const GgufValue* find_key(const ModelShape& shape, std::string_view key) {
  const auto found = std::ranges::find(shape.metadata, key, &std::pair<std::string, GgufValue>::first);
  return found == shape.metadata.end() ? nullptr : &found->second;
}

// Elements of the matrices of layers [first, last).
int64_t matrix_elements(const ModelShape& shape, int64_t first, int64_t last) {
  int64_t sum = 0;
  for (int64_t i = first; i < last; ++i)
    for (const ShapeTensor& t : shape.tensors)
      if (t.name.starts_with("blk." + std::to_string(i) + ".") && t.shape.rank > 1) sum += t.shape.elements();
  return sum;
}

TEST(Shapes, HaveTheParametersOfTheRealModels) {
  const std::map<std::string_view, double> published = {
      {"smollm2-135m", 134.5e6},  {"qwen3-0.6b", 596e6},        {"llama-1b", 1.236e9},    {"qwen3-4b", 4.022e9},
      {"mistral-7b", 7.248e9},    {"llama-8b", 8.03e9},         {"gemma4-e2b", 4.65e9},   {"gemma4-e4b", 7.52e9},
      {"gemma4-26b-a4b", 25.2e9}, {"gemma4-31b", 30.7e9},       {"gemma4-12b", 11.9e9},   {"gemma3n-e2b", 4.46e9},
      {"gemma3n-e4b", 6.87e9},    {"qwen3-30b-a3b", 30.53e9},   {"gemma3-1b", 1.0e9},     {"gemma2-2b", 2.614e9},
      {"olmo2-1b", 1.485e9},      {"granite-2b", 2.534e9},      {"phi3.5-mini", 3.821e9}, {"glm4-9b", 9.40e9},
      {"gpt-oss-20b", 20.91e9},   {"deepseek-v2-lite", 15.71e9}};
  for (const auto& [name, parameters] : published)
    EXPECT_NEAR(static_cast<double>(make_shape(name, false).parameters()), parameters, 0.005 * parameters) << name;
}

TEST(Shapes, NamesAndKeysAreThereOnce) {
  std::set<std::string_view> shapes;
  for (const std::string_view name : shape_names()) {
    EXPECT_TRUE(shapes.insert(name).second) << name;
    const ModelShape shape = make_shape(name, false);
    EXPECT_EQ(shape.name, name);
    std::set<std::string> names;
    for (const ShapeTensor& tensor : shape.tensors) EXPECT_TRUE(names.insert(tensor.name).second) << tensor.name;
    for (const auto& [key, value] : shape.metadata) EXPECT_TRUE(names.insert(key).second) << key;
  }
}

TEST(Shapes, TheVocabularyHasAsManyTokensAsTheEmbeddingHasRowsAllDifferent) {
  for (const std::string_view name : {"smollm2-135m", "gemma4-e2b"}) {
    const ModelShape shape = make_shape(name);
    const GgufValue* tokens = find_key(shape, "tokenizer.ggml.tokens");
    ASSERT_NE(tokens, nullptr);
    const auto& list = std::get<std::vector<std::string>>(std::get<GgufValue::Array>(tokens->value));
    EXPECT_EQ(static_cast<int64_t>(list.size()), find(shape, "token_embd.weight")->shape[0]);
    EXPECT_EQ(std::set<std::string>(list.begin(), list.end()).size(), list.size());
  }
}

TEST(Shapes, Gemma4E2bSharesItsLastTwentyLayersKeysAndStillHasTheTensors) {
  const ModelShape shape = make_shape("gemma4-e2b", false);
  // Figures of the specification: work per token before and after the last layer that writes keys; shared layers'
  // unused keys and values come on top.
  EXPECT_NEAR(static_cast<double>(matrix_elements(shape, 0, 15)), 564e6, 1e6);
  const int64_t unused = 16 * 2 * 1536 * 256 + 4 * 2 * 1536 * 512;
  EXPECT_NEAR(static_cast<double>(matrix_elements(shape, 15, 35) - unused), 1299e6, 1e6);
  EXPECT_NE(find(shape, "blk.34.attn_k.weight"), nullptr);
  EXPECT_EQ(find(shape, "blk.14.ffn_up.weight")->shape, (Shape{6144, 1536}));
  EXPECT_EQ(find(shape, "blk.15.ffn_up.weight")->shape, (Shape{12288, 1536}));
  EXPECT_EQ(find(shape, "blk.4.attn_q.weight")->shape, (Shape{8 * 512, 1536}));  // global
  EXPECT_EQ(find(shape, "blk.5.attn_q.weight")->shape, (Shape{8 * 256, 1536}));  // sliding
  EXPECT_EQ(find(shape, "per_layer_token_embd.weight")->shape, (Shape{262144, 35 * 256}));
  const GgufValue& d_ff = *find_key(shape, "gemma4.feed_forward_length");
  EXPECT_EQ(d_ff.type, GgufValue::Type::kArray);
  EXPECT_EQ(find_key(shape, "gemma4.attention.head_count_kv")->type, GgufValue::Type::kU32);
}

TEST(Shapes, LargeGemma4HasNoValuesOnGlobalLayers) {
  const ModelShape shape = make_shape("gemma4-12b", false);
  EXPECT_EQ(find(shape, "blk.5.attn_v.weight"), nullptr);
  EXPECT_EQ(find(shape, "blk.5.attn_k.weight")->shape, (Shape{512, 3840}));
  EXPECT_EQ(find(shape, "blk.4.attn_v.weight")->shape, (Shape{8 * 256, 3840}));
  EXPECT_EQ(find_key(shape, "gemma4.attention.head_count_kv")->type, GgufValue::Type::kArray);
}

TEST(Shapes, ASliceHasTheSameLayersAsTheWhole) {
  for (const auto& [part, all] : {std::pair{"gemma4-26b-slice", "gemma4-26b-a4b"},
                                  {"qwen3-30b-a3b-slice", "qwen3-30b-a3b"},
                                  {"gpt-oss-20b-slice", "gpt-oss-20b"},
                                  {"deepseek-v2-lite-slice", "deepseek-v2-lite"}}) {
    const ModelShape slice = make_shape(part, false), whole = make_shape(all, false);
    for (const ShapeTensor& tensor : slice.tensors) {
      ASSERT_NE(find(whole, tensor.name), nullptr) << tensor.name;
      EXPECT_EQ(find(whole, tensor.name)->shape, tensor.shape) << tensor.name;
    }
  }
  const ModelShape slice = make_shape("gemma4-26b-slice", false);
  EXPECT_EQ(find(slice, "blk.0.ffn_gate_up_exps.weight")->shape, (Shape{128, 1408, 2816}));
  EXPECT_EQ(find(slice, "blk.5.ffn_down_exps.scale")->shape, (Shape{128}));
  EXPECT_EQ(find(slice, "blk.6.attn_q.weight"), nullptr);
}

TEST(Shapes, Qwen3WithExpertsHasThemAndARouterInPlaceOfTheMlp) {
  const ModelShape shape = make_shape("qwen3-30b-a3b-slice", false);
  EXPECT_EQ(find(shape, "blk.3.ffn_gate_inp.weight")->shape, (Shape{128, 2048}));
  EXPECT_EQ(find(shape, "blk.3.ffn_gate_inp.weight")->storage, ShapeTensor::Storage::kFloat);
  EXPECT_EQ(find(shape, "blk.3.ffn_gate_exps.weight")->shape, (Shape{128, 768, 2048}));
  EXPECT_EQ(find(shape, "blk.3.ffn_up_exps.weight")->shape, (Shape{128, 768, 2048}));
  EXPECT_EQ(find(shape, "blk.3.ffn_down_exps.weight")->shape, (Shape{128, 2048, 768}));
  EXPECT_EQ(find(shape, "blk.3.ffn_down.weight"), nullptr);
  EXPECT_EQ(find(shape, "blk.4.attn_q.weight"), nullptr);
  EXPECT_EQ(find(shape, "output.weight")->shape, (Shape{151936, 2048}));
}

TEST(Shapes, DeepSeekHasOneDenseLayerAndMatricesOfLatentRows) {
  const ModelShape shape = make_shape("deepseek-v2-lite-slice", false);
  EXPECT_EQ(find(shape, "blk.0.ffn_up.weight")->shape, (Shape{10944, 2048}));
  EXPECT_EQ(find(shape, "blk.1.ffn_up.weight"), nullptr);
  EXPECT_EQ(find(shape, "blk.1.ffn_down_exps.weight")->shape, (Shape{64, 2048, 1408}));
  EXPECT_EQ(find(shape, "blk.1.ffn_down_shexp.weight")->shape, (Shape{2048, 2816}));
  EXPECT_EQ(find(shape, "blk.3.attn_k_b.weight")->shape, (Shape{16, 512, 128}));
  EXPECT_EQ(find(shape, "blk.3.attn_v_b.weight")->shape, (Shape{16, 128, 512}));
  EXPECT_EQ(find_key(shape, "deepseek2.attention.key_length_mla")->type, GgufValue::Type::kU32);
}

TEST(Shapes, AreStoredAsAskedWhereTheTypeFits) {
  const ModelShape shape = make_shape("gemma4-26b-slice", false);
  const auto type = [&](std::string_view name, DType asked) { return storage_type(*find(shape, name), asked); };
  EXPECT_EQ(type("blk.0.attn_q.weight", DType::kQ4_K), DType::kQ4_K);
  EXPECT_EQ(type("token_embd.weight", DType::kQ4_K), DType::kQ4_K);
  EXPECT_EQ(type("blk.0.ffn_down_exps.weight", DType::kQ4_K), DType::kQ8_0);  // rows of 704
  EXPECT_EQ(type("blk.0.ffn_down_exps.weight", DType::kQ4_0), DType::kQ4_0);
  EXPECT_EQ(type("blk.0.ffn_gate_inp.weight", DType::kQ4_0), DType::kF32);
  EXPECT_EQ(type("blk.0.attn_norm.weight", DType::kF16), DType::kF32);
}

TEST(Shapes, PerLayerMatricesHaveEightBitsAtLeast) {
  const ModelShape shape = make_shape("gemma4-e2b", false);
  for (const std::string_view name : {"blk.0.inp_gate.weight", "blk.0.proj.weight", "per_layer_model_proj.weight"}) {
    EXPECT_EQ(storage_type(*find(shape, name), DType::kQ4_0), DType::kQ8_0) << name;
    EXPECT_EQ(storage_type(*find(shape, name), DType::kQ6_K), DType::kQ8_0) << name;
    EXPECT_EQ(storage_type(*find(shape, name), DType::kBF16), DType::kBF16) << name;
  }
}

TEST(Shapes, RowsThatAreNoWholeBlocksAtAllBecomeHalves) {
  const ShapeTensor tensor{.name = "odd", .shape = {4, 40}, .storage = ShapeTensor::Storage::kMatrix};
  EXPECT_EQ(storage_type(tensor, DType::kQ4_0), DType::kF16);
  EXPECT_EQ(storage_type(tensor, DType::kF32), DType::kF32);
}

TEST(Shapes, LlamaStretchesOnlyLongWaves) {
  const ModelShape shape = make_shape("llama-8b", false);
  const std::vector<float>& divisors = find(shape, "rope_freqs.weight")->values;
  ASSERT_EQ(divisors.size(), 64u);
  EXPECT_EQ(divisors.front(), 1.0f);
  EXPECT_EQ(divisors.back(), 8.0f);
  EXPECT_TRUE(std::ranges::is_sorted(divisors));
}

TEST(Shapes, AnUnknownNameListsTheKnown) {
  try {
    make_shape("no-such-model");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_TRUE(
        std::string(error.what()).starts_with("there is no shape 'no-such-model'; known are smollm2-135m, qwen3-0.6b"));
  }
}

}  // namespace
}  // namespace ingle
