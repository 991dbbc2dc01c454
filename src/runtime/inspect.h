// Describing files that are open already.
#pragma once

#include <vector>

#include "gguf/gguf.h"
#include "ingle/inspect.h"

namespace ingle {

FileInfo describe_file(const GgufFile& file);
std::vector<MemoryUse> plan_file(Engine& engine, const GgufFile& file, const SessionOptions& options);

}  // namespace ingle
