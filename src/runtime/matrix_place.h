// Where in a tensor of the file a loaded matrix lies. Its name says it: "blk.0.ffn_up_exps.weight[3]" is the fourth of
// a stack, "blk.0.attn_qkv.weight[0..63]" are rows of one matrix.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/weights.h"

namespace ingle {

struct MatrixPlace {
  const Matrix* matrix = nullptr;
  std::string tensor;
  int64_t index = 0;      // in a stack; otherwise 0
  int64_t first_row = 0;  // of the tensor's rows, all matrices of the stack counted
};

// Of every matrix, in the order they were loaded, but those that were made of a tensor's numbers and not of its bytes.
std::vector<MatrixPlace> places_of(const WeightStore& weights, const GgufFile& file);

}  // namespace ingle
