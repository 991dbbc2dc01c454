// How a folder of sentence-transformers makes one vector of a text's rows, as ARCHITECTURE.pooling_type.
#pragma once

#include "convert/draft.h"

namespace ingle {

// From modules.json and the pooling module's config.json; nothing where there is no modules.json. Throws Error:
// kInvalidFile, kUnsupported (a way of pooling, or a module behind it, that GGUF has no form for).
void add_pooling(Draft& draft, const HfFolder& folder);

}  // namespace ingle
