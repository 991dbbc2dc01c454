// A LoRA adapter opened for a model: small matrices beside the model's, applied while it runs. The model stays as it
// is, so each sequence of a batch can have adapters of its own.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "ingle/model.h"

namespace ingle {

struct AdapterInfo {
  std::string path, name;
  int64_t tensors = 0;  // of the model that it changes
  uint64_t file_bytes = 0, memory_bytes = 0;
};

// Immutable and thread-safe once opened; open one at a time with an engine's models. Must not outlive its model.
class Adapter {
 public:
  // A GGUF file of general.type "adapter". Throws Error: kNotFound, kIo, kInvalidFile (names the tensor, its shape and
  // what the model asks for), kUnsupported, kInvalidArgument (a model without weights), kOutOfMemory.
  static Adapter open(const Model& model, const std::filesystem::path& path);
  Adapter(Adapter&&) noexcept;
  Adapter& operator=(Adapter&&) noexcept;
  ~Adapter();

  const AdapterInfo& info() const noexcept;

  struct Impl;
  const Impl& impl() const noexcept { return *impl_; }  // the library's own

 private:
  explicit Adapter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// What a sequence reads with: y += scale * alpha / rank * B (A x).
struct AppliedAdapter {
  const Adapter* adapter = nullptr;
  float scale = 1;
};

}  // namespace ingle
