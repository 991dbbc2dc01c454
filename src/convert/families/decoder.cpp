#include "convert/families/decoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"

namespace ingle {
namespace {

constexpr int64_t kMostHeadSize = 65536;  // as readers have it

// Llama 3.1's stretching of long waves. Factors that frequencies are divided by, one for each pair.
std::vector<float> llama3_divisors(const HfConfig& rope, double base, int64_t rotated) {
  const double factor = rope.number("factor"), low = rope.number("low_freq_factor", 1),
               high = rope.number("high_freq_factor", 4),
               original = rope.number("original_max_position_embeddings", 8192);
  if (!(factor > 0) || !(low > 0) || !(high > low) || !(original > 0))
    rope.refuse("factor", "part of a llama3 rope with 0 < low_freq_factor < high_freq_factor");
  std::vector<float> divisors;
  for (int64_t i = 0; i < rotated / 2; ++i) {
    const double wave =
        2 * std::numbers::pi * std::pow(base, 2 * static_cast<double>(i) / static_cast<double>(rotated));
    double divisor = 1;
    if (wave > original / low) {
      divisor = factor;
    } else if (wave > original / high) {
      const double smooth = (original / wave - low) / (high - low);
      divisor = 1 / ((1 - smooth) / factor + smooth);
    }
    divisors.push_back(static_cast<float>(divisor));
  }
  return divisors;
}

// LongRoPE's divisors for texts of up to the length of the first training, and for longer ones; and what queries and
// keys grow by. (Ding et al., arXiv:2402.13753)
void long_rope(Draft& draft, const HfConfig& rope, int64_t rotated) {
  const HfConfig& c = draft.config();
  for (const char* which : {"short", "long"}) {
    const std::string key = fmt::format("{}_factor", which);
    const std::vector<double> factors = rope.numbers(key);
    if (static_cast<int64_t>(factors.size()) != rotated / 2)
      rope.refuse(key, fmt::format("a list of {} numbers", rotated / 2));
    draft.add(fmt::format("rope_factors_{}.weight", which), numbers({factors.begin(), factors.end()}));
  }
  const int64_t longest = c.integer("max_position_embeddings"),
                original = rope.integer("original_max_position_embeddings",
                                        c.integer("original_max_position_embeddings", longest));
  if (original < 2) rope.refuse("original_max_position_embeddings", "at least 2");
  draft.count("rope.scaling.original_context_length", original);
  const double stretch = static_cast<double>(longest) / static_cast<double>(original);
  const double usual = stretch <= 1 ? 1 : std::sqrt(1 + std::log(stretch) / std::log(static_cast<double>(original)));
  draft.real("rope.scaling.attn_factor", rope.number("attention_factor", usual));
}

}  // namespace

int64_t head_size(const HfConfig& c, std::string_view key, int64_t absent) {
  const int64_t size = c.integer(key, absent);
  if (size < 2 || size > kMostHeadSize) c.refuse(key, fmt::format("from 2 to {}", kMostHeadSize));
  return size;
}

DecoderSizes decoder_keys(Draft& draft) {
  const HfConfig& c = draft.config();
  DecoderSizes sizes{.layers = draft.repeats("num_hidden_layers"),
                     .d_model = c.extent("hidden_size"),
                     .d_ff = c.integer("intermediate_size"),
                     .heads = c.extent("num_attention_heads"),
                     .kv_heads = 0,
                     .head_dim = 0};
  sizes.kv_heads = c.extent("num_key_value_heads", sizes.heads);
  if (sizes.heads % sizes.kv_heads != 0)
    c.refuse("num_key_value_heads", fmt::format("a divisor of num_attention_heads, {}", sizes.heads));
  sizes.head_dim = head_size(c, "head_dim", sizes.d_model / sizes.heads);
  draft.count("block_count", sizes.layers);
  draft.count("context_length", c.integer("max_position_embeddings"));
  draft.count("embedding_length", sizes.d_model);
  draft.count("feed_forward_length", sizes.d_ff);
  draft.count("attention.head_count", sizes.heads);
  draft.count("attention.head_count_kv", sizes.kv_heads);
  draft.count("attention.key_length", sizes.head_dim);
  draft.count("attention.value_length", sizes.head_dim);
  draft.real("attention.layer_norm_rms_epsilon", c.number("rms_norm_eps"));
  draft.count("vocab_size", c.integer("vocab_size"));
  return sizes;
}

void rope_keys(Draft& draft, int64_t head_dim, const YarnRules& yarn) {
  const HfConfig& c = draft.config();
  // Newer files keep everything in rope_parameters; older ones the rest in rope_scaling, and the base outside.
  std::optional<HfConfig> rope = c.object("rope_parameters");
  if (!rope) rope = c.object("rope_scaling");
  rope_keys(draft, head_dim, rope ? *rope : HfConfig({}, c.file()), yarn);
}

void rope_keys(Draft& draft, int64_t head_dim, const HfConfig& rope, const YarnRules& yarn) {
  const HfConfig& c = draft.config();
  const double base = rope.number("rope_theta", c.number("rope_theta", 10000));
  const double turning = rope.number("partial_rotary_factor", c.number("partial_rotary_factor", 1));
  if (!(turning > 0 && turning <= 1)) rope.refuse("partial_rotary_factor", "above 0 and up to 1");
  const auto rotated = static_cast<int64_t>(turning * static_cast<double>(head_dim));
  draft.count("rope.dimension_count", rotated);
  draft.real("rope.freq_base", base);
  const std::string type = rope.text("rope_type", rope.text("type", "default"));
  if (type == "default") return;
  if (type == "llama3") {
    draft.add("rope_freqs.weight", numbers(llama3_divisors(rope, base, rotated)));
    return;
  }
  if (type == "longrope" || type == "su") return long_rope(draft, rope, rotated);
  if (type != "linear" && type != "yarn")
    throw_error(ErrorCode::kUnsupported, "{}: a rope of type \"{}\"; known are default, linear, llama3, longrope, yarn",
                rope.file(), type);
  draft.set(fmt::format("{}.rope.scaling.type", draft.architecture()), gguf_value<std::string>(type));
  draft.real("rope.scaling.factor", rope.number("factor"));
  if (type == "linear") return;
  draft.count("rope.scaling.original_context_length",
              rope.integer("original_max_position_embeddings", c.integer("max_position_embeddings")));
  if (rope.has("beta_fast")) draft.real("rope.scaling.yarn_beta_fast", rope.number("beta_fast"));
  if (rope.has("beta_slow")) draft.real("rope.scaling.yarn_beta_slow", rope.number("beta_slow"));
  if (type == "yarn" && rope.flag("truncate", true) != yarn.whole_pairs)
    rope.refuse("truncate", yarn.whole_pairs ? "true" : "false");
  const bool scales_scores = yarn.scales_scores && rope.has("mscale_all_dim");
  if (scales_scores) {
    const double all = rope.number("mscale_all_dim");
    if (rope.number("mscale", all) != all) rope.refuse("mscale", "the same as mscale_all_dim");
    draft.real("rope.scaling.yarn_log_multiplier", 0.1 * all);
  }
  for (const char* key : {"mscale", "mscale_all_dim"})
    if (rope.has(key) && !scales_scores)
      throw_error(ErrorCode::kUnsupported, "{}: \"{}\" has no place in a {} file", rope.file(), key,
                  draft.architecture());
  // What queries and keys grow by: readers know it from the factor.
  const double factor = rope.number("factor"), usual = scales_scores || factor <= 1 ? 1 : 0.1 * std::log(factor) + 1;
  if (std::abs(rope.number("attention_factor", usual) - usual) > 1e-6)
    rope.refuse("attention_factor", fmt::format("{:.8g}, or absent", usual));
}

std::vector<bool> sliding_layers(const HfConfig& c) {
  const std::vector<std::string> types = c.texts("layer_types");
  if (types.empty()) return {};
  if (static_cast<int64_t>(types.size()) != c.integer("num_hidden_layers"))
    c.refuse("layer_types", "as long as num_hidden_layers");
  std::vector<bool> slides;
  for (const std::string& type : types) {
    slides.push_back(type == "sliding_attention");
    if (!slides.back() && type != "full_attention")
      c.refuse("layer_types", "a list of sliding_attention and full_attention");
  }
  return slides;
}

int64_t period_of(const std::vector<bool>& slides) {
  const auto period = std::ranges::find(slides, false) - slides.begin() + 1;
  for (size_t i = 0; i < slides.size(); ++i)
    if (slides[i] != (static_cast<int64_t>(i) % period != period - 1)) return 0;
  return period;
}

std::string decoder_prefix(const Draft& draft) {
  for (const char* prefix : {"model.", "model.language_model.", "language_model.model.", ""})
    if (draft.has(fmt::format("{}embed_tokens.weight", prefix))) return prefix;
  return "model.";
}

std::string layer_part(const std::string& prefix, int64_t layer) { return fmt::format("{}layers.{}.", prefix, layer); }
std::string block_part(int64_t layer) { return fmt::format("blk.{}.", layer); }

void linears(Draft& draft, const std::string& from, const std::string& to, std::span<const LinearName> names) {
  for (const LinearName& name : names) draft.linear(to + name.to, from + name.from);
}

void gate_and_up(Draft& draft, const std::string& name, const std::string& gate, const std::string& up) {
  const Rows both = draft.rows(name);
  const int64_t rows = both.shape.rank < 2 ? 1 : both.shape[both.shape.rank - 2];
  if (rows % 2 != 0)
    throw_error(ErrorCode::kInvalidFile, "tensor {} has the shape {}, no halves", name, to_string(both.shape));
  draft.add(gate, part(both, 0, rows / 2));
  draft.add(up, part(both, rows / 2, rows / 2));
}

void experts(Draft& draft, const std::string& from, const std::string& to, int64_t count,
             const std::array<const char*, 3>& names) {
  if (draft.has(from + "experts.gate_up_proj")) {
    gate_and_up(draft, from + "experts.gate_up_proj", to + "ffn_gate_exps.weight", to + "ffn_up_exps.weight");
    draft.add(to + "ffn_down_exps.weight", draft.rows(from + "experts.down_proj"));
    return;
  }
  constexpr std::array<const char*, 3> kTo{"ffn_gate_exps", "ffn_up_exps", "ffn_down_exps"};
  for (size_t i = 0; i < kTo.size(); ++i) {
    std::vector<Rows> all;
    for (int64_t e = 0; e < count; ++e) {
      const std::string name = fmt::format("{}experts.{}.{}.weight", from, e, names[i]);
      all.push_back(draft.rows(name));
      if (all.back().shape != all.front().shape)
        throw_error(ErrorCode::kInvalidFile, "tensor {} has the shape {}, that of the first expert {}", name,
                    to_string(all.back().shape), to_string(all.front().shape));
    }
    draft.add(fmt::format("{}{}.weight", to, kTo[i]), stacked(std::move(all)));
  }
}

void router(Draft& draft, const std::string& to, const std::string& from) {
  draft.add(to + "ffn_gate_inp.weight", draft.rows(from), DraftTensor::Storage::kFloat);
}

void per_layer_embeddings(Draft& draft, const std::string& prefix) {
  // Tokens beyond it, of images and sounds, count as the first one there.
  const int64_t vocab = draft.config().integer("vocab_size");
  if (const int64_t rows = draft.rows(prefix + "embed_tokens.weight").shape.rows(); vocab != rows)
    draft.config().refuse("vocab_size", fmt::format("{}, as many as embed_tokens.weight has rows", rows));
  draft.linear("per_layer_token_embd", prefix + "embed_tokens_per_layer",
               [&](Rows rows) { return filled_up(std::move(rows), vocab); });
  draft.linear("per_layer_model_proj", prefix + "per_layer_model_projection");
  draft.linear("per_layer_proj_norm", prefix + "per_layer_projection_norm");
}

void leave_out_towers(Draft& draft) {
  for (const char* inside : {"", "model."})
    for (const char* tower :
         {"vision_tower.", "vision_model.", "multi_modal_projector.", "embed_vision.", "audio_tower.", "embed_audio."})
      draft.leave_out(fmt::format("{}{}", inside, tower));
}

void embedding_and_output(Draft& draft, const std::string& prefix, float norm_less) {
  draft.linear("token_embd", prefix + "embed_tokens");
  draft.linear("output_norm", prefix + "norm",
               [&](Rows rows) { return norm_less == 0 ? rows : plus(std::move(rows), norm_less); });
  const std::string head = draft.has("language_model.lm_head.weight") ? "language_model.lm_head" : "lm_head";
  const std::string weight = head + ".weight";
  const bool body_only = prefix.empty() && !draft.has(weight);  // saved without an output layer: it embeds
  if (body_only || draft.config().flag("tie_word_embeddings", !draft.has(weight))) {
    draft.ignore(weight);  // the embedding once more, in some files
  } else {
    draft.linear("output", head);
  }
}

}  // namespace ingle
