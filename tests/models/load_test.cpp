// Loading files that are not quite models: every complaint names the key or tensor, what it is and what it should be.
#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <optional>

#include "base/error.h"
#include "gguf/writer.h"
#include "models/model.h"
#include "tests/models/golden.h"

namespace ingle {
namespace {

// A golden model written again with something changed.
struct Change {
  std::function<void(GgufWriter&)> keys = [](GgufWriter&) {};
  std::string dropped_key = {};
  std::string dropped_tensor = {};
  std::string reshaped_tensor = {};  // gets one row less
  std::string narrowed_tensor = {};  // gets half of its columns
  bool no_tensors = false;
  std::string added_tensor = {};
  float added_value = 1;
};

class Load : public testing::Test {
 protected:
  ~Load() override { std::filesystem::remove(path_); }

  GgufFile write(const Change& change, const std::string& model = "llama_wide") {
    const GgufFile source = GgufFile::open(golden::path(model + ".gguf"));
    GgufWriter writer(path_);
    for (const auto& [key, value] : source.metadata()) {
      if (key != change.dropped_key && key != "general.alignment") writer.set(key, value);
    }
    change.keys(writer);
    if (!change.no_tensors) {
      for (const GgufTensor& tensor : source.tensors()) {
        if (tensor.name == change.dropped_tensor) continue;
        ConstTensorView view = tensor.view;
        if (tensor.name == change.reshaped_tensor) --view.shape.extent[0];
        if (tensor.name == change.narrowed_tensor) view.shape.extent[1] /= 2;
        writer.add_tensor(tensor.name, view.type, view.shape, {view.data, view.bytes()});
      }
    }
    const std::vector<float> numbers(64, change.added_value);
    if (!change.added_tensor.empty())
      writer.add_tensor(change.added_tensor, DType::kF32, {64}, std::as_bytes(std::span(numbers)));
    writer.finish();
    return GgufFile::open(path_);
  }

  // The message of the error, which must have this code and begin with the file; "" when it loads.
  std::string complaint(ErrorCode code, const Change& change, const std::string& model = "llama_wide") {
    const GgufFile file = write(change, model);
    try {
      load_model(file, *backend_, {});
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), code) << e.what();
      EXPECT_TRUE(std::string_view(e.what()).starts_with(path_.native() + ": ")) << e.what();
      return e.what();
    }
    ADD_FAILURE() << "it loads";
    return {};
  }
  std::string complaint_about_key(ErrorCode code, const std::function<void(GgufWriter&)>& keys) {
    return complaint(code, {.keys = keys});
  }

  const std::filesystem::path path_ =
      std::filesystem::path(testing::TempDir()) /
      (std::string("load_") + testing::UnitTest::GetInstance()->current_test_info()->name() + ".gguf");
  const std::unique_ptr<Backend> backend_ =
      make_backend("cpu", {.threads = 1, .isa = {}, .precision = Precision::kExact});
};

#define EXPECT_CONTAINS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

TEST_F(Load, AnUnchangedCopyLoads) {
  const GgufFile file = write({});
  const LoadedModel model = load_model(file, *backend_, {});
  EXPECT_EQ(model.graph->hparams().layer_count(), 2);
  EXPECT_EQ(model.graph->hparams().vocab, 133);
  ASSERT_EQ(model.graph->kv_groups().size(), 1u);
  EXPECT_EQ(model.graph->kv_groups()[0].k_dim, 32);
}

TEST_F(Load, AnUnknownArchitectureIsNamedWithTheKnownOnes) {
  const std::string text = complaint_about_key(
      ErrorCode::kUnsupported, [](GgufWriter& w) { w.set<std::string>("general.architecture", "mamba9"); });
  EXPECT_CONTAINS(text, "'mamba9'");
  EXPECT_CONTAINS(text, "llama, qwen2, qwen3");
}

TEST_F(Load, FilesThatAreNoModelSayWhatTheyAre) {
  using enum ErrorCode;
  const auto of_type = [&](const char* type) {
    return complaint_about_key(kUnsupported, [&](GgufWriter& w) { w.set<std::string>("general.type", type); });
  };
  EXPECT_CONTAINS(of_type("mmproj"), "projector");
  EXPECT_CONTAINS(of_type("adapter"), "adapter");
  EXPECT_CONTAINS(of_type("imatrix"), "imatrix");
  EXPECT_CONTAINS(complaint(kUnsupported, {.no_tensors = true}), "vocabulary");
}

TEST_F(Load, AHeadSizeMayHaveItsShortName) {
  const GgufFile file = write({.keys = [](GgufWriter& w) { w.set<uint32_t>("gemma3n.head_dim", 12); },
                               .dropped_key = "gemma3n.attention.key_length"},
                              "gemma3n_tiny");
  EXPECT_EQ(load_model(file, *backend_, {}).graph->hparams().layers[0].k_dim, 12);
}

TEST_F(Load, CachesThatCannotBeSharedAreRefused) {
  EXPECT_CONTAINS(complaint_about_key(ErrorCode::kUnsupported,
                                      [](GgufWriter& w) { w.set<uint32_t>("llama.attention.shared_kv_layers", 1); }),
                  "shared_kv_layers");
  const auto of_gemma = [&](auto shared) {
    return complaint(
        ErrorCode::kInvalidFile,
        {.keys = [&](GgufWriter& w) { w.set<decltype(shared)>("gemma4.attention.shared_kv_layers", shared); }},
        "gemma4_ple");
  };
  EXPECT_CONTAINS(of_gemma(2.5f), "whole number");
  EXPECT_CONTAINS(of_gemma(uint32_t{7}), "from 0 to 6");
  EXPECT_CONTAINS(of_gemma(uint32_t{6}), "none of the first 1");
}

TEST_F(Load, ARouterNeedsExperts) {
  EXPECT_CONTAINS(
      complaint(ErrorCode::kInvalidFile,
                {.keys = [](GgufWriter& w) { w.set<uint32_t>("gemma4.expert_used_count", 0); }}, "gemma4_moe"),
      "0 used");
}

TEST_F(Load, ExpertsAreChosenInWaysThatAreImplemented) {
  using enum ErrorCode;
  const auto with = [&](ErrorCode code, const char* key, auto value) {
    return complaint(code, {.keys = [&](GgufWriter& w) { w.set<decltype(value)>(key, value); }}, "qwen3moe_tiny");
  };
  EXPECT_CONTAINS(with(kUnsupported, "qwen3moe.expert_gating_func", uint32_t{9}), "'qwen3moe.expert_gating_func' is 9");
  EXPECT_CONTAINS(with(kInvalidFile, "qwen3moe.expert_group_count", uint32_t{7}), "expert_group_used_count");
  const auto groups = [&](uint32_t count, uint32_t used) {
    return complaint(kInvalidFile,
                     {.keys =
                          [&](GgufWriter& w) {
                            w.set<uint32_t>("qwen3moe.expert_group_count", count);
                            w.set<uint32_t>("qwen3moe.expert_group_used_count", used);
                          }},
                     "qwen3moe_tiny");
  };
  EXPECT_CONTAINS(groups(7, 2), "3 of 7 experts in 2 of 7 groups");
  EXPECT_CONTAINS(groups(2, 2), "3 of 7 experts in 2 of 2 groups");
  EXPECT_CONTAINS(with(kInvalidFile, "qwen3moe.expert_weights_scale", -1.0f), "above 0");
  EXPECT_CONTAINS(with(kInvalidFile, "qwen3moe.expert_used_count", uint32_t{8}), "from 0 to 7");
  EXPECT_CONTAINS(with(kInvalidFile, "qwen3moe.expert_count", uint32_t{6}), "blk.0.ffn_gate_inp.weight");
  EXPECT_CONTAINS(with(kInvalidFile, "qwen3moe.expert_feed_forward_length", uint32_t{13}),
                  "blk.0.ffn_gate_exps.weight");
}

TEST_F(Load, TheSizeOfExpertsMayBeLeftToTheirTensors) {
  const GgufFile file = write({.dropped_key = "qwen3moe.expert_feed_forward_length"}, "qwen3moe_tiny");
  EXPECT_EQ(load_model(file, *backend_, {}).graph->hparams().experts, 7);
  EXPECT_CONTAINS(complaint(ErrorCode::kInvalidFile, {.dropped_tensor = "blk.1.ffn_gate_exps.weight"}, "qwen3moe_tiny"),
                  "blk.1.ffn_gate_exps.weight: missing");
}

TEST_F(Load, MissingKeysAreNamed) {
  for (const char* key :
       {"llama.block_count", "llama.embedding_length", "llama.context_length", "llama.feed_forward_length",
        "llama.attention.head_count", "llama.attention.layer_norm_rms_epsilon"}) {
    EXPECT_CONTAINS(complaint(ErrorCode::kInvalidFile, {.dropped_key = key}), key);
  }
}

TEST_F(Load, NumbersThatMakeNoSenseAreRefused) {
  const auto integer = [&](const char* key, uint32_t value) {
    const std::string text =
        complaint_about_key(ErrorCode::kInvalidFile, [&](GgufWriter& w) { w.set<uint32_t>(key, value); });
    return text;
  };
  EXPECT_CONTAINS(integer("llama.block_count", 0), "'llama.block_count' is 0");
  EXPECT_CONTAINS(integer("llama.block_count", 513), "from 1 to 512");
  EXPECT_CONTAINS(integer("llama.block_count", 3), "blk.2.");
  EXPECT_CONTAINS(integer("llama.embedding_length", 0), "embedding_length");
  EXPECT_CONTAINS(integer("llama.embedding_length", 4294967295u), "embedding_length");
  EXPECT_CONTAINS(integer("llama.context_length", 0), "context_length");
  EXPECT_CONTAINS(integer("llama.attention.head_count", 0), "head_count");
  EXPECT_CONTAINS(integer("llama.attention.head_count", 3), "3 heads");
  EXPECT_CONTAINS(integer("llama.attention.head_count_kv", 0), "head_count_kv");
  EXPECT_CONTAINS(integer("llama.attention.key_length", 0), "key_length");
  EXPECT_CONTAINS(integer("llama.rope.dimension_count", 31), "even");
  EXPECT_CONTAINS(integer("llama.rope.dimension_count", 34), "from 2 to 32");
  EXPECT_CONTAINS(integer("llama.vocab_size", 132), "133 rows");
  const auto number = [&](const char* key, float value) {
    return complaint_about_key(ErrorCode::kInvalidFile, [&](GgufWriter& w) { w.set<float>(key, value); });
  };
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_CONTAINS(number("llama.attention.layer_norm_rms_epsilon", 0), "epsilon");
  EXPECT_CONTAINS(number("llama.attention.layer_norm_rms_epsilon", nan), "epsilon");
  EXPECT_CONTAINS(number("llama.rope.freq_base", -1), "freq_base");
  EXPECT_CONTAINS(number("llama.rope.freq_base", nan), "freq_base");
  EXPECT_CONTAINS(number("llama.rope.scaling.factor", -2), "factor");
  EXPECT_CONTAINS(number("llama.attention.scale", nan), "scale");
}

TEST_F(Load, AKeyOfTheWrongTypeNamesBothTypes) {
  const std::string text = complaint_about_key(ErrorCode::kInvalidFile,
                                               [](GgufWriter& w) { w.set<std::string>("llama.block_count", "two"); });
  EXPECT_CONTAINS(text, "llama.block_count");
  EXPECT_CONTAINS(text, "string");
}

TEST_F(Load, AListPerLayerMustHaveOneEntryPerLayer) {
  EXPECT_CONTAINS(complaint_about_key(ErrorCode::kInvalidFile,
                                      [](GgufWriter& w) {
                                        w.set_array<uint32_t>("llama.feed_forward_length", {96, 96, 96});
                                      }),
                  "3 elements");
  const GgufFile file = write({.keys = [](GgufWriter& w) {
    w.set_array<uint32_t>("llama.feed_forward_length", {96, 96});
  }});
  EXPECT_EQ(load_model(file, *backend_, {}).graph->hparams().layers[1].d_ff, 96);
}

TEST_F(Load, FeaturesNobodyImplementedAreNotIgnored) {
  EXPECT_CONTAINS(complaint_about_key(ErrorCode::kUnsupported,
                                      [](GgufWriter& w) { w.set<std::string>("llama.rope.scaling.type", "dynamic"); }),
                  "\"dynamic\"; known are none, linear, yarn, longrope");
  EXPECT_CONTAINS(complaint_about_key(ErrorCode::kInvalidFile,
                                      [](GgufWriter& w) { w.set<std::string>("llama.rope.scaling.type", "longrope"); }),
                  "rope_factors_short.weight is missing");
  EXPECT_CONTAINS(
      complaint_about_key(ErrorCode::kInvalidFile, [](GgufWriter& w) { w.set<uint32_t>("llama.expert_count", 8); }),
      "8 experts, 0 used");
}

TEST_F(Load, AttentionThatItsGraphDoesNotComputeIsRefused) {
  using enum ErrorCode;
  EXPECT_CONTAINS(complaint(kUnsupported,
                            {.keys = [](GgufWriter& w) { w.set<uint32_t>("deepseek2.attention.sliding_window", 16); }},
                            "deepseek2_lite"),
                  "key 'deepseek2.attention.sliding_window' is 16; sliding windows are not implemented for deepseek2");
  const auto of_both_directions = [&](const std::string& architecture, const std::string& model) {
    const std::string key = architecture + ".attention.causal";
    EXPECT_CONTAINS(
        complaint(kUnsupported,
                  {.keys = [&](GgufWriter& w) { w.set<bool>(key, false); },
                   .dropped_key = architecture + ".attention.sliding_window"},
                  model),
        fmt::format("key '{}' is false; reading in both directions is not implemented for {}", key, architecture));
  };
  of_both_directions("deepseek2", "deepseek2_lite");
  of_both_directions("gemma4", "gemma4_ple");
  of_both_directions("gemma3n", "gemma3n_tiny");
}

TEST_F(Load, KeysCanBeValuesOnlyOfTheirOwnSize) {
  EXPECT_CONTAINS(complaint(ErrorCode::kInvalidFile,
                            {.keys = [](GgufWriter& w) { w.set<uint32_t>("gemma4.attention.value_length", 10); },
                             .narrowed_tensor = "blk.2.attn_output.weight"},
                            "gemma4_kv_equal"),
                  "blk.2.attn_v.weight: missing");
}

TEST_F(Load, TensorsThatAreMissingOrOfAnotherShapeAreNamed) {
  using enum ErrorCode;
  EXPECT_CONTAINS(complaint(kInvalidFile, {.dropped_tensor = "token_embd.weight"}), "token_embd.weight");
  EXPECT_CONTAINS(complaint(kInvalidFile, {.dropped_tensor = "blk.1.ffn_up.weight"}),
                  path_.native() + ": blk.1.ffn_up.weight: missing");
  // Norms before a part may be missing only where there is one behind it.
  EXPECT_CONTAINS(complaint(kInvalidFile, {.dropped_tensor = "blk.1.ffn_norm.weight"}),
                  "blk.1.ffn_norm.weight: missing");
  const std::string text = complaint(kInvalidFile, {.reshaped_tensor = "blk.0.attn_q.weight"});
  EXPECT_CONTAINS(text, "blk.0.attn_q.weight");
  EXPECT_CONTAINS(text, "[127, 64]");
  EXPECT_CONTAINS(text, "[128, 64]");
  EXPECT_CONTAINS(complaint(kInvalidFile, {.reshaped_tensor = "output_norm.weight"}), "[63]");
  // A bias is optional, but when it is there it must fit: 64 numbers for 96 rows.
  EXPECT_CONTAINS(complaint(kInvalidFile, {.added_tensor = "blk.0.ffn_up.bias"}), "blk.0.ffn_up.bias: is [64]");
}

TEST_F(Load, ABiasThatIsNotANumberIsRefused) {
  EXPECT_CONTAINS(complaint(ErrorCode::kInvalidFile, {.added_tensor = "blk.0.attn_output.bias",
                                                      .added_value = std::numeric_limits<float>::infinity()}),
                  "not finite");
}

TEST_F(Load, TensorsNobodyAsksForAreAWarning) {
  const GgufFile file = write({.added_tensor = "blk.7.something.weight"});
  std::vector<std::string> warnings;
  load_model(file, *backend_, {.warn = [&](std::string_view text) { warnings.emplace_back(text); }});
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_CONTAINS(warnings[0], "blk.7.something.weight");
}

TEST_F(Load, ProgressRisesToOneAndCanCancel) {
  const GgufFile file = write({});
  std::vector<double> seen;
  load_model(file, *backend_, {.progress = [&](double fraction) {
               seen.push_back(fraction);
               return true;
             }});
  EXPECT_TRUE(std::ranges::is_sorted(seen));
  EXPECT_DOUBLE_EQ(seen.back(), 1.0);
  try {
    load_model(file, *backend_, {.progress = [](double fraction) { return fraction < 0.5; }});
    FAIL() << "it went on";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::kCancelled);
  }
}

TEST_F(Load, WithoutAnOutputMatrixTheEmbeddingIsUsedForBoth) {
  const auto count = [&](const LoadedModel& model, std::string_view name) {
    return std::ranges::count_if(model.weights->matrices, [&](const auto& m) { return m->name == name; });
  };
  const GgufFile untied_file = write({});
  const LoadedModel untied = load_model(untied_file, *backend_, {});
  EXPECT_EQ(count(untied, "token_embd.weight"), 1);
  EXPECT_EQ(count(untied, "output.weight"), 1);
  const GgufFile tied_file = write({.dropped_tensor = "output.weight"});
  const LoadedModel tied = load_model(tied_file, *backend_, {});
  EXPECT_EQ(count(tied, "token_embd.weight"), 2);  // a table for rows, and a matrix for logits
}

TEST_F(Load, WindowPatternsMakeGroupsOfLayers) {
  const GgufFile all = write({.keys = [](GgufWriter& w) { w.set<uint32_t>("llama.attention.sliding_window", 100); }});
  const LoadedModel sliding = load_model(all, *backend_, {});
  ASSERT_EQ(sliding.graph->kv_groups().size(), 1u);
  EXPECT_EQ(sliding.graph->kv_groups()[0].window, 100);
  const GgufFile every_second = write({.keys = [](GgufWriter& w) {
    w.set<uint32_t>("llama.attention.sliding_window", 100);
    w.set<uint32_t>("llama.attention.sliding_window_pattern", 2);
  }});
  const LoadedModel mixed = load_model(every_second, *backend_, {});
  ASSERT_EQ(mixed.graph->kv_groups().size(), 2u);
  EXPECT_EQ(mixed.graph->kv_groups()[0].layers, (std::vector<int>{0}));
  EXPECT_EQ(mixed.graph->kv_groups()[1].window, 0);
}

}  // namespace
}  // namespace ingle
