// Llama and the models that only differ in numbers and optional parts: see llama.cpp.
#pragma once

#include "models/model.h"

namespace ingle {

std::unique_ptr<ModelGraph> make_llama(const Hparams& h, const Weights& w, Rope::Pairs pairs);

template <Rope::Pairs kPairs>
std::unique_ptr<ModelGraph> make_llama(const Hparams& h, const Weights& w) {
  return make_llama(h, w, kPairs);
}

}  // namespace ingle
