// Metadata values as JSON text, for people and programs: long ones are cut.
#pragma once

#include <cstdint>
#include <string>

#include "gguf/gguf.h"

namespace ingle {

std::string json_text(const GgufValue& value);
std::string type_text(const GgufValue& value);  // "u32", "arr[str]"
int64_t element_count(const GgufValue& value);  // of an array; bytes of a string; 1

}  // namespace ingle
