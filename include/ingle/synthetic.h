// Models of a real model's shape with random weights: for measuring a machine or a change without a download. They
// read and write as fast as the real ones, and what they say means nothing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "ingle/inspect.h"
#include "ingle/model.h"

namespace ingle {

struct SyntheticOptions {
  std::string shape;          // a name from synthetic_shapes()
  std::string type = "q4_0";  // of the matrices, one of synthetic_types(); norms and the like stay f32
  uint64_t seed = 1;          // the same seed gives the same bytes on every machine
};

struct SyntheticShape {
  std::string name, architecture, description;
  int64_t parameters = 0;
};

std::vector<SyntheticShape> synthetic_shapes();
std::vector<std::string> synthetic_types();  // "f32", "q4_0", ..., and mixes of several: "q4_k_m"

// All of what follows throws Error{kInvalidArgument} for an unknown shape or type, listing those there are.

uint64_t synthetic_bytes(const SyntheticOptions& synthetic);  // of all tensors

// The model in memory: weights are made one after the other while they are packed, so that it takes what the loaded
// model takes, no file, and a few seconds. Throws what Model::open() throws; kOutOfMemory at once when the weights
// alone are larger than the machine's memory.
Model open_synthetic(Engine& engine, const SyntheticOptions& synthetic, ModelOptions options = {});

// The same as a GGUF file. `progress` gets 0..1; returning false cancels. Returns the file's size. Throws Error: kIo
// (names file and cause; a disk that is too full is noticed before writing), kCancelled; then no file is left.
uint64_t write_synthetic(const std::filesystem::path& path, const SyntheticOptions& synthetic,
                         const std::function<bool(double fraction)>& progress = {});

// What inspect() and plan_memory() say of the file; no weights are made.
FileInfo inspect_synthetic(const SyntheticOptions& synthetic);
std::vector<MemoryUse> plan_synthetic(Engine& engine, const SyntheticOptions& synthetic, const SessionOptions& options);

}  // namespace ingle
