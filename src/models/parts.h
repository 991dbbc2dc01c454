// Where GGUF keeps the parts of a layer that most architectures share.
#pragma once

#include <variant>

#include "models/experts.h"
#include "models/hparams.h"
#include "models/weights.h"
#include "nn/attention.h"
#include "nn/gated_mlp.h"

namespace ingle {

// attn_q, attn_k and attn_v, or the rows of all three in attn_qkv; attn_output; attn_q_norm and attn_k_norm (of a head,
// or of all heads at once), attn_sinks where there are any. `b`: a block. Throws Error{kInvalidFile}, and so does all
// that follows.
Attention read_attention(const Hparams& h, const Weights& b, const LayerHparams& l);
AttentionShape attention_shape(const Hparams& h, const LayerHparams& l);

// ffn_gate, ffn_up, ffn_down; without ffn_gate its rows are the first half of ffn_up's. `suffix`: behind these names.
GatedMlp read_gated_mlp(const Hparams& h, const Weights& b, int64_t d_ff, Activation activation,
                        std::string_view suffix = "");

using FeedForward = std::variant<GatedMlp, MixtureOfExperts>;
// A mixture of experts where the model has experts.
FeedForward read_feed_forward(const Hparams& h, const Weights& b, const LayerHparams& l, Activation activation);

}  // namespace ingle
