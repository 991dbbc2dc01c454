// A file that is to be written and is known but for its bytes: planned from, described, written a few rows of one
// tensor at a time.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <utility>

#include "convert/draft.h"
#include "gguf/gguf.h"
#include "ingle/convert.h"

namespace ingle {

struct DraftedFile {
  std::span<const std::pair<std::string, GgufValue>> metadata;
  std::span<const DraftTensor> tensors;
  std::span<const DType> types;  // of each tensor
};

// As if it were there, its tensors zeros: for planning a model. `name` is for messages.
GgufFile planned_file(const DraftedFile& file, const std::string& name);

// Its tensors, parameters and bytes.
ConvertReport describe(const DraftedFile& file);

// Then `report` has the files, and their bytes. None of those to `keep` is replaced. `drop` is called with what has
// been read. Throws Error: kIo, kInvalidArgument (a file to keep), kCancelled; then no file is left.
void write_drafted(const DraftedFile& file, const std::filesystem::path& target,
                   std::vector<std::filesystem::path> keep, const ConvertOptions& options,
                   const std::function<void(const SafeTensor&)>& drop, ConvertReport& report);

}  // namespace ingle
