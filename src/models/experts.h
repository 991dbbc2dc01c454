// Where GGUF keeps a block's mixture of experts, for every architecture that has one.
#pragma once

#include "models/hparams.h"
#include "models/weights.h"
#include "nn/experts.h"

namespace ingle {

// ffn_gate_inp, ffn_gate_exps and ffn_up_exps (or both in ffn_gate_up_exps), ffn_down_exps of the block `b`, and the
// block for every row in ffn_gate_shexp, ffn_up_shexp, ffn_down_shexp, ffn_gate_inp_shexp where there is one. Throws
// Error: kInvalidFile, kUnsupported (names the key: a way to choose experts that is not implemented).
MixtureOfExperts read_experts(const Hparams& h, const Weights& b, Activation activation);

}  // namespace ingle
