// What the decoders have in common: the sizes that config.json gives under the same names, the rope, the embedding and
// the output.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "convert/draft.h"

namespace ingle {

struct DecoderSizes {
  int64_t layers, d_model, d_ff, heads, kv_heads, head_dim;
};

// How many numbers a head has, 2 to 65536. Throws Error{kInvalidFile}.
int64_t head_size(const HfConfig& c, std::string_view key, int64_t absent = 0);

// Writes the keys every decoder has, and gives the sizes that rules need.
DecoderSizes decoder_keys(Draft& draft);

// What YaRN does in a family beside the usual.
struct YarnRules {
  bool whole_pairs = true;     // its ramp begins and ends at whole pairs
  bool scales_scores = false;  // DeepSeek's mscale_all_dim
};

// rope.freq_base and rope.scaling.*: linear and yarn as keys, llama3 and longrope as tensors of divisors. Of the
// config's own rope, or of one that is given.
void rope_keys(Draft& draft, int64_t head_dim, const YarnRules& yarn = {});
void rope_keys(Draft& draft, int64_t head_dim, const HfConfig& rope, const YarnRules& yarn = {});

// Which layers see only a window, of config.json's layer_types: nothing if that says nothing. Throws
// Error{kInvalidFile} when the list is of another length or has other words.
std::vector<bool> sliding_layers(const HfConfig& c);
// How many layers the pattern repeats after, the last of them full; 0: none of one kind.
int64_t period_of(const std::vector<bool>& slides);

// Where the language model's tensors are: "model.", or inside a model that also sees: "model.language_model."; "" in a
// folder of a model without its output layer.
std::string decoder_prefix(const Draft& draft);

// The names of layer i: in the folder with a dot at the end, and in the file.
std::string layer_part(const std::string& prefix, int64_t layer);
std::string block_part(int64_t layer);

// PART.weight and PART.bias under two names.
struct LinearName {
  const char *to, *from;
};
void linears(Draft& draft, const std::string& from, const std::string& to, std::span<const LinearName> names);

// The router's matrix, in f32.
void router(Draft& draft, const std::string& to, const std::string& from);
// One tensor for each expert, by three names, or all of them in one.
void experts(Draft& draft, const std::string& from, const std::string& to, int64_t count,
             const std::array<const char*, 3>& names);
// The gate's rows before up's, of one matrix or of each expert's.
void gate_and_up(Draft& draft, const std::string& name, const std::string& gate, const std::string& up);

// Gemma's embeddings for every layer: the table, as long as the vocabulary, and what makes them of the first embedding.
void per_layer_embeddings(Draft& draft, const std::string& prefix);
// In a layer, what they go through.
inline constexpr LinearName kPerLayerInputs[] = {
    {"inp_gate", "per_layer_input_gate"}, {"proj", "per_layer_projection"}, {"post_norm", "post_per_layer_input_norm"}};

// What a model sees or hears with is another file's matter.
void leave_out_towers(Draft& draft);

// token_embd, output_norm (its gain plus `norm_less`) and, where it is not the embedding itself, output.
void embedding_and_output(Draft& draft, const std::string& prefix, float norm_less = 0);

}  // namespace ingle
