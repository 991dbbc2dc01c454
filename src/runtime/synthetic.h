// A shape, a type and a seed as something that can be read like a file, or written as one.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "gguf/gguf.h"
#include "ingle/synthetic.h"
#include "models/shapes.h"

namespace ingle {

// The tensors of a synthetic model. Const methods are thread-safe but for fill(), which takes one caller at a time.
class SyntheticWeights {
 public:
  // Throws Error{kInvalidArgument} for an unknown shape or type.
  SyntheticWeights(const SyntheticOptions& options, bool with_vocabulary, int threads);

  // "gemma4-e2b, q4_0, seed 1"
  const std::string& name() const noexcept { return name_; }
  const ModelShape& shape() const noexcept { return shape_; }
  DType type(size_t tensor) const { return types_[tensor]; }
  uint64_t bytes(size_t tensor) const;
  uint64_t total_bytes() const;

  // Some whole rows of a tensor (of all its matrices one after the other).
  void fill(size_t tensor, int64_t first_row, std::span<std::byte> bytes) const;

 private:
  ModelShape shape_;
  std::string name_;
  uint64_t seed_;
  std::vector<DType> types_;
  std::unique_ptr<ThreadPool> pool_;
};

enum class SyntheticContents { kWeights, kDescription };  // kDescription: all tensors are zeros that take no memory

GgufFile make_synthetic_file(const SyntheticOptions& options, SyntheticContents contents, int threads);

}  // namespace ingle
