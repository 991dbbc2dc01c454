// A loaded model as the runtime sees it: what its cache looks like, and one step from tokens to logits.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "backend/backend.h"
#include "gguf/gguf.h"
#include "models/hparams.h"
#include "models/weights.h"
#include "nn/classifier.h"

namespace ingle {

// Layers whose key/value blocks are of one kind and live and die together.
struct KvGroup {
  std::vector<int> layers;
  int64_t kv_heads = 0, k_dim = 0, v_dim = 0;
  int32_t window = 0;  // positions a query sees, its own included; 0: all
};

// Somebody reads the rows that come into certain layers: all of them, whether or not their results are wanted.
class Taps {
 public:
  virtual ~Taps() = default;
  virtual bool on(int layer) const noexcept = 0;
  virtual void take(int layer, const RowSet& rows, Tensor x) = 0;  // x: [rows, d_model], valid during the call
};

// What a step works on. Everything is borrowed.
struct Step {
  const Batch& batch;
  const RowNeed& need;
  std::span<const KvLayer> kv;  // one entry per layer; a layer that writes none reads its owner's
  int64_t context = 0;          // positions a sequence may come to have, the same in every step on its cache
  Taps* taps = nullptr;

  void tap(int layer, Tensor x) const {
    if (taps != nullptr && taps->on(layer)) taps->take(layer, need.layer(layer).in, x);
  }
};

// Immutable and thread-safe; one Ops per caller.
class ModelGraph {
 public:
  virtual ~ModelGraph() = default;
  virtual const Hparams& hparams() const noexcept = 0;
  virtual std::span<const KvGroup> kv_groups() const noexcept = 0;  // every layer that writes is in one of them
  virtual int last_writer() const noexcept = 0;                     // for RowNeed

  // Appends the batch to the cache (ops.begin_step() has been called) and computes the wanted rows: what the output
  // layer reads, [wanted, d_model]. Nothing wanted: no tensor, and the layers that only read are not run.
  virtual Tensor forward(Ops& op, const Step& step) const = 0;
  // Whether there is an output layer over the vocabulary. Encoders have none: their hidden rows are the result.
  virtual bool has_logits() const noexcept { return true; }
  // Some of those rows -> [rows, vocab]. Only where has_logits().
  virtual Tensor logits(Ops& op, Tensor hidden) const = 0;
};

struct LoadedModel {
  std::unique_ptr<WeightStore> weights;
  std::unique_ptr<ModelGraph> graph;
  std::optional<Classifier> classifier;  // of the hidden rows, where the file has one
};

// Throws Error: kUnsupported (an architecture, a format or a feature nothing here implements, and files that are no
// model: projectors, adapters, vocabularies), kInvalidFile (hyper-parameters, shapes), kOutOfMemory, kCancelled. `file`
// must outlive the result.
LoadedModel load_model(const GgufFile& file, Backend& backend, LoadOptions options);

// The architecture names load_model() knows.
std::vector<std::string_view> architecture_names();

// The layers of h grouped by the shape of their cache.
std::vector<KvGroup> group_kv_layers(const Hparams& h);

}  // namespace ingle
