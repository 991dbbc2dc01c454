// A LoRA adapter (Hu et al., arXiv:2106.09685): beside some of a model's matrices W two small ones, of which
//   y = W x + scale * B (A x),  A: in -> rank, B: rank -> out,  scale = alpha / rank.
// The model's own weights stay as they are.
//
// In a GGUF file (general.type "adapter", adapter.type "lora") the tensor NAME of a model has NAME.lora_a [rank, in]
// and NAME.lora_b [out, rank], each with the number of experts in front where NAME has. An embedding table [vocabulary,
// d_model] has [vocabulary, rank] and [d_model, rank]: the row of a token times B.
#pragma once

#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "backend/backend.h"
#include "gguf/gguf.h"
#include "models/weights.h"

namespace ingle {

struct LowRank {
  Linear a, b;
  float scale = 1;
};

struct LowRankTable {
  const Matrix* a = nullptr;
  Linear b;
  float scale = 1;
};

// By the matrices of the model it was loaded for. Immutable.
class AdapterWeights {
 public:
  // nullptr where the adapter leaves the matrix alone.
  const LowRank* find(const Matrix* w) const noexcept;
  const LowRankTable* find_table(const Matrix* w) const noexcept;
  size_t bytes() const noexcept;  // as they lie in memory

 private:
  friend class AdapterLoader;
  std::vector<std::unique_ptr<Matrix>> matrices_;
  std::unordered_map<const Matrix*, LowRank> linears_;
  std::unordered_map<const Matrix*, LowRankTable> tables_;
};

// `file` must outlive the result, and so must `weights`, which are those of `model`. Throws Error: kInvalidFile (a
// shape or a tensor that the model does not have: names both), kUnsupported (another kind of adapter, a tensor that is
// no matrix), kOutOfMemory.
AdapterWeights load_adapter(const GgufFile& file, const GgufFile& model, const WeightStore& weights, Backend& backend);

}  // namespace ingle
