// Mixes of types. What the first two models get is what llama.cpp's own quantiser (Python package 0.3.36, Q4_K_M) gives
// the same tensors.
#include "models/type_mix.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

namespace ingle {
namespace {

std::map<std::string, DType> types_of(std::string_view name, std::string_view mix = "q4_k_m") {
  const ModelShape shape = make_shape(name, false);
  const std::vector<DType> types = mixed_types(shape, *find_type_mix(mix));
  std::map<std::string, DType> result;
  for (size_t i = 0; i < types.size(); ++i) result[shape.tensors[i].name] = types[i];
  return result;
}

// One letter for each layer: + for the better type, - for the other.
std::string letters(const std::map<std::string, DType>& types, const std::string& part, int layers, DType better,
                    DType most) {
  std::string text;
  for (int i = 0; i < layers; ++i) {
    const DType type = types.at("blk." + std::to_string(i) + "." + part + ".weight");
    text += type == better ? '+' : type == most ? '-' : '?';
  }
  return text;
}

using enum DType;

TEST(TypeMix, RowsOf576AreNoWholeBlocksOf256) {
  const auto types = types_of("smollm2-135m");
  const std::string layers = "+++--+--+--+--+--+--+--+--++++";
  EXPECT_EQ(letters(types, "attn_v", 30, kQ8_0, kQ5_0), layers);
  EXPECT_EQ(letters(types, "ffn_down", 30, kQ6_K, kQ4_K), layers);  // rows of 1536
  EXPECT_EQ(types.at("token_embd.weight"), kQ8_0);                  // the output matrix too
  EXPECT_EQ(types.at("blk.0.attn_q.weight"), kQ5_0);
  EXPECT_EQ(types.at("blk.0.attn_norm.weight"), kF32);
}

TEST(TypeMix, CountsLayersInWhateverOrderAFileHasThem) {
  ModelShape shape = make_shape("smollm2-135m", false);
  const TypeMix& mix = *find_type_mix("q4_k_m");
  const std::map<std::string, DType> expected = types_of("smollm2-135m");
  std::ranges::sort(shape.tensors, {}, &ShapeTensor::name);  // 0, 1, 10, 11, ...
  const std::vector<DType> types = mixed_types(shape, mix);
  for (size_t i = 0; i < types.size(); ++i) EXPECT_EQ(types[i], expected.at(shape.tensors[i].name));
}

TEST(TypeMix, ExpertsAreMatricesOfTheirLayer) {
  const auto types = types_of("qwen3-30b-a3b-slice");
  EXPECT_EQ(letters(types, "attn_v", 4, kQ6_K, kQ4_K), "--++");
  EXPECT_EQ(letters(types, "ffn_down_exps", 4, kQ6_K, kQ4_K), "--++");
  EXPECT_EQ(letters(types, "ffn_up_exps", 4, kQ6_K, kQ4_K), "----");
  EXPECT_EQ(types.at("output.weight"), kQ6_K);
  EXPECT_EQ(types.at("token_embd.weight"), kQ4_K);
  EXPECT_EQ(types.at("blk.0.ffn_gate_inp.weight"), kF32);
}

TEST(TypeMix, LayersWithoutValuesAreNotCounted) {
  const auto types = types_of("gemma4-26b-slice");  // layers 0 to 4 have attn_v; rows of experts are 704
  EXPECT_EQ(letters(types, "attn_v", 5, kQ6_K, kQ4_K), "--+-+");
  EXPECT_EQ(letters(types, "ffn_down_exps", 6, kQ8_0, kQ5_0), "--+--+");
}

TEST(TypeMix, OfTwoBitsKeepsWhatSuffersMost) {
  const auto types = types_of("qwen3-30b-a3b-slice", "iq2_xs");  // eight heads share keys and values
  EXPECT_EQ(letters(types, "attn_v", 4, kQ4_K, kQ4_K), "++++");
  EXPECT_EQ(letters(types, "ffn_down_exps", 4, kQ2_K, kIQ2_XS), "----");  // an eighth of four layers is none
  EXPECT_EQ(types.at("output.weight"), kQ5_K);
  EXPECT_EQ(types.at("token_embd.weight"), kQ2_K);
  EXPECT_EQ(types.at("blk.0.attn_output.weight"), kIQ2_XS);
  EXPECT_EQ(types_of("qwen3-30b-a3b-slice", "iq1_s").at("blk.0.attn_output.weight"), kIQ2_XXS);
  EXPECT_EQ(types_of("qwen3-30b-a3b-slice", "iq2_m").at("blk.0.attn_output.weight"), kIQ3_S);
}

TEST(TypeMix, OfThreeBitsSparesTheFirstAndLastLayers) {
  const auto types = types_of("smollm2-135m", "iq3_xs");
  EXPECT_EQ(letters(types, "ffn_down", 30, kIQ3_S, kIQ3_S), std::string(30, '+'));  // rows of 1536
  EXPECT_EQ(letters(types, "ffn_up", 30, kIQ4_NL, kIQ4_NL), std::string(30, '+'));  // of 576
  const auto wide = types_of("llama-1b", "iq3_xs");
  EXPECT_EQ(letters(wide, "ffn_up", 16, kIQ3_S, kIQ3_XXS), "++------------++");
  EXPECT_EQ(letters(wide, "attn_q", 16, kIQ3_XXS, kIQ3_S), std::string(16, '+'));
}

TEST(TypeMix, EveryWayDownOfQ3_K_M_HasMoreThanThreeBits) {
  const auto types = types_of("llama-1b", "q3_k_m");
  EXPECT_EQ(letters(types, "ffn_down", 16, kQ5_K, kQ4_K), "+---------------");
  EXPECT_EQ(letters(types, "attn_v", 16, kQ5_K, kQ4_K), "++--------------");
  EXPECT_EQ(types.at("blk.3.ffn_up.weight"), kQ3_K);
}

TEST(TypeMix, OnlyExpertsBecomeFp4) {
  const auto types = types_of("qwen3-30b-a3b-slice", "mxfp4_moe");
  EXPECT_EQ(letters(types, "ffn_up_exps", 4, kMXFP4, kQ8_0), "++++");
  EXPECT_EQ(letters(types, "ffn_down_exps", 4, kMXFP4, kQ8_0), "++++");
  EXPECT_EQ(letters(types, "attn_v", 4, kMXFP4, kQ8_0), "----");
  EXPECT_EQ(types.at("output.weight"), kQ8_0);
}

TEST(TypeMix, AnUnknownNameIsNone) { EXPECT_EQ(find_type_mix("q4_k_x"), nullptr); }

}  // namespace
}  // namespace ingle
