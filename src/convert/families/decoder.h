// What the decoders have in common: the sizes that config.json gives under the same names, the rope, the embedding and
// the output.
#pragma once

#include <string>

#include "convert/draft.h"

namespace ingle {

struct DecoderSizes {
  int64_t layers, d_model, d_ff, heads, kv_heads, head_dim;
};

// Writes the keys every decoder has, and gives the sizes that rules need.
DecoderSizes decoder_keys(Draft& draft);

// rope.freq_base and rope.scaling.*: linear and yarn as keys, llama3 and longrope as tensors of divisors. Of the
// config's own rope, or of one that is given.
void rope_keys(Draft& draft, int64_t head_dim);
void rope_keys(Draft& draft, int64_t head_dim, const HfConfig& rope);

// Where the language model's tensors are: "model.", or inside a model that also sees: "model.language_model.".
std::string decoder_prefix(const Draft& draft);

// The names of layer i: in the folder with a dot at the end, and in the file.
std::string layer_part(const std::string& prefix, int64_t layer);
std::string block_part(int64_t layer);

// token_embd, output_norm (its gain plus `norm_less`) and, where it is not the embedding itself, output.
void embedding_and_output(Draft& draft, const std::string& prefix, float norm_less = 0);

}  // namespace ingle
