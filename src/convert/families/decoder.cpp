#include "convert/families/decoder.h"

#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "base/error.h"

namespace ingle {
namespace {

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

DecoderSizes decoder_keys(Draft& draft) {
  const HfConfig& c = draft.config();
  DecoderSizes sizes{.layers = c.integer("num_hidden_layers"),
                     .d_model = c.integer("hidden_size"),
                     .d_ff = c.integer("intermediate_size"),
                     .heads = c.integer("num_attention_heads"),
                     .kv_heads = 0,
                     .head_dim = 0};
  if (sizes.heads < 1) c.refuse("num_attention_heads", "at least 1");
  if (sizes.layers < 1) c.refuse("num_hidden_layers", "at least 1");
  sizes.kv_heads = c.integer("num_key_value_heads", sizes.heads);
  sizes.head_dim = c.integer("head_dim", sizes.d_model / sizes.heads);
  if (sizes.head_dim < 2) c.refuse("head_dim", "at least 2");
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

void rope_keys(Draft& draft, int64_t head_dim) {
  const HfConfig& c = draft.config();
  // Newer files keep everything in rope_parameters; older ones the rest in rope_scaling, and the base outside.
  std::optional<HfConfig> rope = c.object("rope_parameters");
  if (!rope) rope = c.object("rope_scaling");
  rope_keys(draft, head_dim, rope ? *rope : HfConfig({}, c.file()));
}

void rope_keys(Draft& draft, int64_t head_dim, const HfConfig& rope) {
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
  for (const char* key : {"attention_factor", "mscale", "mscale_all_dim"})
    if (rope.has(key))
      throw_error(ErrorCode::kUnsupported, "{}: \"{}\" has no place in a {} file", rope.file(), key,
                  draft.architecture());
}

std::string decoder_prefix(const Draft& draft) {
  for (const char* prefix : {"model.", "model.language_model.", "language_model.model."})
    if (draft.has(fmt::format("{}embed_tokens.weight", prefix))) return prefix;
  return "model.";
}

std::string layer_part(const std::string& prefix, int64_t layer) { return fmt::format("{}layers.{}.", prefix, layer); }
std::string block_part(int64_t layer) { return fmt::format("blk.{}.", layer); }

void embedding_and_output(Draft& draft, const std::string& prefix, float norm_less) {
  draft.linear("token_embd", prefix + "embed_tokens");
  draft.linear("output_norm", prefix + "norm",
               [&](Rows rows) { return norm_less == 0 ? rows : plus(std::move(rows), norm_less); });
  if (!draft.config().flag("tie_word_embeddings", false)) {
    draft.linear("output", "lm_head");
  } else {
    draft.ignore("lm_head.weight");  // the embedding once more, in some files
  }
}

}  // namespace ingle
