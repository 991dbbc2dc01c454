// Files that are being read, which nothing that is written may replace.
#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "ingle/error.h"

namespace ingle {

// The files that opening `model` maps: itself, and where its name is that of a shard (NAME-00001-of-00003.gguf) all of
// them. Whether they are there is not asked.
std::vector<std::filesystem::path> model_files(const std::filesystem::path& model);

// Throws Error{kInvalidArgument} when `target` is one of `inputs`, by this or another name (a link, another path);
// names both. Files that are not there, and pipes and devices, are never the same.
void refuse_to_replace(const std::filesystem::path& target, std::span<const std::filesystem::path> inputs);

}  // namespace ingle
