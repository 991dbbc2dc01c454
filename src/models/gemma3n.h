// Gemma 3n (text): see gemma3n.cpp.
#pragma once

#include "models/model.h"

namespace ingle {

std::unique_ptr<ModelGraph> make_gemma3n(const Hparams& h, const Weights& w);

constexpr HparamDefaults kGemma3nDefaults{
    .window_period = 5, .attention_scale = 1, .logit_soft_cap = 30, .shares_caches = true, .windows_differ = true};

}  // namespace ingle
