// The shapes of published models: the metadata and the list of tensors their files have, without the weights. Filled
// with random numbers they take the time and the memory of the real thing.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gguf/gguf.h"

namespace ingle {

struct ShapeTensor {
  enum class Storage {
    kMatrix,     // in the type of the file
    kEightBits,  // the same, but q8_0 where that has less than eight bits: 4 bits cost too much here
    kFloat,      // f32 always: norms, scales, routers
  };
  std::string name;
  Shape shape;
  Storage storage = Storage::kFloat;
  bool table = false;  // read row by row in place
  // Numbers that keep activations around 1: their mean and standard deviation, or exactly these.
  double mean = 0, deviation = 0;
  std::vector<float> values = {};
};

struct ModelShape {
  std::string_view name, architecture, description;
  std::vector<std::pair<std::string, GgufValue>> metadata;  // tokenizer included, file type not
  std::vector<ShapeTensor> tensors;                         // in the order of the layers

  int64_t parameters() const;
};

// All names, smallest model of a family first.
std::span<const std::string_view> shape_names() noexcept;
// Without a vocabulary the lists of the tokenizer are left out: for describing shapes quickly. Throws
// Error{kInvalidArgument} that lists the known names.
ModelShape make_shape(std::string_view name, bool with_vocabulary = true);

// What a tensor is stored as in a file of `type`: that, or something wider where `storage` asks for it or rows are not
// whole blocks of it (q8_0 if they are of that, else f16).
DType storage_type(const ShapeTensor& tensor, DType type);

}  // namespace ingle
