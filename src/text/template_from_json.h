// JSON as a template sees it: what Python's json.loads makes of the text.
#pragma once

#include "text/json_document.h"
#include "text/template_value.h"

namespace ingle::jinja {

// Integers keep their digits (beyond 127 bits they fail), other numbers are the nearest doubles; of a key given twice
// the last value counts. Fails with "NAME: PATH: what is wrong"; throws kOutOfMemory for the heap's limits.
Value from_json(Heap& heap, std::string_view text, std::string name, bool trusted,
                JsonDocument::Strings strings = JsonDocument::Strings::kUtf8);

// What transformers does to messages before a template sees them: null members dropped, reasoning_content and thinking
// filled in. Fails for an empty conversation and for what is none.
Value normalize_messages(Heap& heap, const Value& messages);

}  // namespace ingle::jinja
