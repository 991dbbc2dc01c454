// Gemma 4 (text): see gemma4.cpp.
#pragma once

#include "models/model.h"

namespace ingle {

std::unique_ptr<ModelGraph> make_gemma4(const Hparams& h, const Weights& w);

constexpr HparamDefaults kGemma4Defaults{
    .window_period = 6, .attention_scale = 1, .logit_soft_cap = 30, .shares_caches = true, .windows_differ = true};

}  // namespace ingle
