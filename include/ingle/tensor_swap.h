// One tensor of a model at a time taken from another file: what does it do to the model's answers?
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "ingle/session.h"

namespace ingle {

// While it lives it stands in the session's way to its weights; it must not outlive the session. One thread at a time.
// What the cache holds was computed with the tensors of its time: start a sequence anew, without reuse_prefix(), to see
// what a tensor does to all of it.
class TensorSwap {
 public:
  // `other`: a file of the same model, for instance a quantised one. Throws Error: what opening a file throws.
  TensorSwap(Session& session, const std::filesystem::path& other);
  ~TensorSwap();

  // From now on the session computes with this tensor of the other file, and with its own of all others. False, and all
  // are its own, where the model does not use the tensor as it lies in the file. Throws Error{kInvalidFile} where the
  // other file has none of this name and shape.
  bool take(const std::string& tensor);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ingle
