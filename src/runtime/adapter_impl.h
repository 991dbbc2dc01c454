// The inside of an Adapter.
#pragma once

#include "gguf/gguf.h"
#include "ingle/adapter.h"
#include "models/adapter.h"

namespace ingle {

struct Adapter::Impl {
  Impl(const Model& model, GgufFile file);

  const Model::Impl* model;  // a model may move, this stays
  GgufFile file;
  AdapterWeights weights;
  uint64_t fingerprint;
  AdapterInfo info;
};

}  // namespace ingle
