// One GGUF file made another with weights of fewer bits.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "ingle/error.h"

namespace ingle {

struct QuantizeOptions {
  std::string type = "q4_k_m";  // one of encodable_types()
  bool pure = false;            // every matrix has that type, the output's too
  // Types of tensors whose names match a regular expression (anywhere in the name), in place of the above; the first
  // that matches counts. {"attn_v", "q8_0"}, ... One that matches no tensor that can have another type is an error.
  std::vector<std::pair<std::string, std::string>> overrides;
  std::filesystem::path importance;               // a GGUF file of `ingle imatrix`; empty: none
  std::vector<std::filesystem::path> keep = {};   // what else is read: files that may not be replaced
  uint64_t max_shard_bytes = 0;                   // 0: one file
  int threads = 0;                                // 0: one per processor
  std::function<bool(double fraction)> progress;  // 0..1 while writing; returning false cancels
};

struct QuantizedTensor {
  std::string name, shape, from, to;
  uint64_t from_bytes = 0, to_bytes = 0;
  double relative_error = 0;  // root of the mean square of what rounding changed, in units of the numbers' own
  bool weighted = false;      // by importance
};

struct QuantizeReport {
  std::vector<QuantizedTensor> tensors;  // in the file's order
  std::vector<std::filesystem::path> files;
  uint64_t from_bytes = 0, to_bytes = 0;  // of all tensors
  // Matrices of the layers in a type of so few bits that the model is hardly usable unless importance steers the
  // rounding, and there was none: IQ1_S, IQ1_M, IQ2_XXS, IQ2_XS, IQ2_S, IQ3_XXS.
  int64_t unweighted = 0;
};

// Norms, biases, routers and other small things stay as they are. Metadata is kept, but for what tells the type. Takes
// the memory of a few rows of a tensor. Throws Error: what opening a file throws; kUnsupported (an adapter, an imatrix,
// a projector), kInvalidArgument (a type, an expression, a file that is read as target, a number the type has no room
// for), kInvalidFile (importance of another model, numbers that are not finite: names the tensor and the numbers), kIo,
// kCancelled; then no file is left.
QuantizeReport quantize_file(const std::filesystem::path& source, const std::filesystem::path& target,
                             const QuantizeOptions& options = {});

}  // namespace ingle
