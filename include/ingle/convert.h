// From the folder of a model or an adapter as it is published to a GGUF file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "ingle/error.h"

namespace ingle {

struct ConvertOptions {
  // Of the matrices: one of encodable_types(). Norms, biases and the like are f32; rows that are not whole blocks of
  // the type get something wider, and experts that the folder has in MXFP4 stay as they are.
  std::string type = "f16";
  uint64_t max_shard_bytes = 0;  // 0: one file; else PATH-00001-of-0000N.gguf, each with so many at most
  int threads = 0;               // 0: one per processor
  bool dry_run = false;          // check everything, write nothing
  std::function<bool(double fraction)> progress;  // 0..1 while writing; returning false cancels
};

struct ConvertedTensor {
  std::string name, shape, type;
  uint64_t bytes = 0;
};

struct ConvertReport {
  std::string architecture;              // as in the file: "qwen3"
  std::vector<ConvertedTensor> tensors;  // in the file's order
  int64_t parameters = 0;
  int64_t unweighted = 0;  // matrices as QuantizeReport counts them: converting knows no importance
  int64_t left_out = 0;    // tensors of other parts of the model: what it sees or hears with, layers that only draft
  std::vector<std::string> notes;            // what the folder says and a file has no place for, a line each
  std::vector<std::filesystem::path> files;  // none after a dry run
  uint64_t bytes = 0;                        // of the files; after a dry run of the tensors
};

// Takes the memory of a few rows of a tensor, and no more. Names, shapes and settings are all checked before anything
// is written: a tensor that the architecture lacks or has no place for is an error that names it. Throws Error:
// kNotFound, kIo, kInvalidFile (a weight that is not finite too), kUnsupported (names what is known), kInvalidArgument
// (the type: names those there are; a weight it has no room for; a file that is read as target), kCancelled; then no
// file is left.
ConvertReport convert_folder(const std::filesystem::path& folder, const std::filesystem::path& target,
                             const ConvertOptions& options = {});

// A LoRA adapter's folder (adapter_config.json, adapter_model.safetensors, as the PEFT library writes them) made the
// GGUF file that Adapter::open() takes. `base`: the model, a GGUF file, whose names and shapes it is checked against.
// The type is one of single numbers: f32, f16 or bf16; the result is one file. Throws as above.
ConvertReport convert_adapter(const std::filesystem::path& folder, const std::filesystem::path& base,
                              const std::filesystem::path& target, const ConvertOptions& options = {});

std::vector<std::string> convertible_models();  // as config.json names them: "LlamaForCausalLM"
std::vector<std::string> encodable_types();     // "f32", "q4_0", ..., and mixes of several: "q4_k_m"

}  // namespace ingle
