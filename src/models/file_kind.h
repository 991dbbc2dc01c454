// Telling a model from other things that lie in GGUF files.
#pragma once

#include "gguf/gguf.h"

namespace ingle {

// Throws Error{kUnsupported} that says what the file is: a projector, an adapter, a table of importance, a control
// vector.
void check_is_model(const GgufFile& file);

}  // namespace ingle
