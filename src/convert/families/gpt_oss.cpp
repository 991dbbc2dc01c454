// gpt-oss: sinks, biases everywhere, gate and up in turns, and experts that are published in MXFP4 and stay so.
#include <fmt/format.h>

#include "base/error.h"
#include "convert/families/decoder.h"
#include "convert/family.h"

namespace ingle {
namespace {

constexpr int64_t kBlock = 32, kHalf = kBlock / 2;

// Rows first, first + step, ... of every expert, as blocks: the scale's byte, then 16 pairs of four bits. The folder
// pairs element 2i with 2i + 1, a file i with i + 16.
PackedRows mxfp4_rows(const SafeTensor& blocks, const SafeTensor& scales, int64_t first, int64_t step) {
  const int64_t all = blocks.shape[1], each = all / step, row_blocks = blocks.shape[2];
  const auto read = [=, &scales, nibbles = blocks.bytes.data(), exponents = scales.bytes.data()](
                        int64_t begin, int64_t count, std::byte* out) {
    for (int64_t row = begin; row < begin + count; ++row) {
      const int64_t from = (row / each * all + first + row % each * step) * row_blocks;
      for (int64_t block = from; block < from + row_blocks; ++block) {
        const std::byte* pairs = nibbles + block * kHalf;
        if (exponents[block] == std::byte{0xFF})
          throw_error(ErrorCode::kInvalidFile, "tensor {}: number {} is 255, the scale of no number", scales.name,
                      block);
        *out++ = exponents[block];
        const auto element = [pairs](int64_t i) {
          return i % 2 == 0 ? pairs[i / 2] & std::byte{15} : pairs[i / 2] >> 4;
        };
        for (int64_t i = 0; i < kHalf; ++i) *out++ = element(i) | element(i + kHalf) << 4;
      }
    }
  };
  return {DType::kMXFP4, read};
}

// `step` matrices in turns, of which this is number `first`, of every expert.
struct Interleaved {
  const char* to;
  int64_t first, step;
};

void packed_experts(Draft& draft, const std::string& from, const std::string& to, Interleaved part) {
  const SafeTensor &blocks = draft.bytes_of(from + "_blocks"), &scales = draft.bytes_of(from + "_scales");
  const Shape& b = blocks.shape;
  if (b.rank != 4 || b[3] != kHalf || scales.shape != Shape{b[0], b[1], b[2]} || b[1] % part.step != 0)
    throw_error(ErrorCode::kInvalidFile, "tensor {} has the shape {}, its scales {}: no blocks of {} numbers",
                blocks.name, to_string(b), to_string(scales.shape), kBlock);
  draft.add(fmt::format("{}{}.weight", to, part.to), Shape{b[0], b[1] / part.step, b[2] * kBlock},
            mxfp4_rows(blocks, scales, part.first, part.step), {&blocks, &scales});
}

// Without packing a matrix is kept as [inputs, outputs].
void plain_experts(Draft& draft, const std::string& from, const std::string& to, Interleaved part) {
  const Shape shape = draft.rows(from).shape;
  if (shape.rank != 3 || shape[2] % part.step != 0)
    throw_error(ErrorCode::kInvalidFile, "tensor {} has the shape {}, not one matrix for each expert", from,
                to_string(shape));
  draft.add(fmt::format("{}{}.weight", to, part.to), transposed(draft.elements(from), {.matrices = shape[0],
                                                                                       .apart = shape[1] * shape[2],
                                                                                       .rows = shape[1],
                                                                                       .columns = shape[2],
                                                                                       .first = part.first,
                                                                                       .step = part.step}));
}

void experts_of(Draft& draft, const std::string& from, const std::string& to, Interleaved part) {
  draft.has(from + "_blocks") ? packed_experts(draft, from, to, part) : plain_experts(draft, from, to, part);
  // A bias is a matrix of a row for each expert.
  const Shape shape = draft.rows(from + "_bias").shape;
  if (shape.rank != 2 || shape[1] % part.step != 0)
    throw_error(ErrorCode::kInvalidFile, "tensor {}_bias has the shape {}, not a row for each expert", from,
                to_string(shape));
  const int64_t count = shape[0], columns = shape[1] / part.step;
  Rows bias = draft.rows(from + "_bias");
  bias.shape = Shape{count, columns};
  bias.read = [read = std::move(bias.read), part, columns](int64_t first, int64_t rows, float* out) {
    std::vector<float> row(static_cast<size_t>(columns * part.step));
    for (int64_t i = 0; i < rows; ++i) {
      read(first + i, 1, row.data());
      for (int64_t c = 0; c < columns; ++c) *out++ = row[static_cast<size_t>(c * part.step + part.first)];
    }
  };
  draft.add(fmt::format("{}{}.bias", to, part.to), std::move(bias), DraftTensor::Storage::kFloat);
}

void gpt_oss(Draft& draft) {
  const HfConfig& c = draft.config();
  if (c.text("hidden_act", "silu") != "silu") c.refuse("hidden_act", "silu");
  if (c.number("swiglu_limit", 7) != 7) c.refuse("swiglu_limit", "7");
  const std::vector<bool> slides = sliding_layers(c);
  if (!slides.empty() && period_of(slides) != 2)
    c.refuse("layer_types", "sliding_attention and full_attention in turns");
  const DecoderSizes sizes = decoder_keys(draft);
  draft.count("attention.sliding_window", c.integer("sliding_window"));
  draft.count("expert_count", c.integer("num_local_experts"));
  draft.count("expert_used_count", c.integer("num_experts_per_tok", c.integer("experts_per_token", 4)));
  draft.count("expert_feed_forward_length", sizes.d_ff);
  rope_keys(draft, sizes.head_dim, {.whole_pairs = false});

  static constexpr LinearName kNames[] = {
      {"attn_norm", "input_layernorm"},    {"attn_q", "self_attn.q_proj"},
      {"attn_k", "self_attn.k_proj"},      {"attn_v", "self_attn.v_proj"},
      {"attn_output", "self_attn.o_proj"}, {"post_attention_norm", "post_attention_layernorm"},
  };
  const std::string prefix = decoder_prefix(draft);
  embedding_and_output(draft, prefix);
  for (int64_t i = 0; i < sizes.layers; ++i) {
    const std::string from = layer_part(prefix, i), to = block_part(i);
    linears(draft, from, to, kNames);
    draft.add(to + "attn_sinks.weight", draft.rows(from + "self_attn.sinks"));
    router(draft, to, from + "mlp.router.weight");
    draft.add(to + "ffn_gate_inp.bias", draft.rows(from + "mlp.router.bias"));
    experts_of(draft, from + "mlp.experts.gate_up_proj", to, {"ffn_gate_exps", 0, 2});
    experts_of(draft, from + "mlp.experts.gate_up_proj", to, {"ffn_up_exps", 1, 2});
    experts_of(draft, from + "mlp.experts.down_proj", to, {"ffn_down_exps", 0, 1});
  }
}

}  // namespace

std::span<const HfFamily> gpt_oss_families() {
  static constexpr HfFamily kRows[] = {{"GptOssForCausalLM", "gpt-oss", gpt_oss, "mxfp4"}};
  return kRows;
}

}  // namespace ingle
