// Which model a file is, told cheaply: equal for equal files wherever they lie, and different, but for a chance of
// 2^-64, for files that differ in metadata, in a tensor's name, type or shape, or in a sampled part of its numbers.
#pragma once

#include <cstdint>

#include "gguf/gguf.h"

namespace ingle {

// XXH64 of all metadata, of the table of tensors, and of three short pieces of every tensor: a few pages of each are
// read, so a file of any size takes milliseconds.
uint64_t fingerprint(const GgufFile& file);

}  // namespace ingle
