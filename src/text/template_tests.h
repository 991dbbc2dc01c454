// The tests a template may ask with `is`.
#pragma once

#include "text/template_value.h"

namespace ingle::jinja {

struct TestEntry {
  std::string_view name;
  bool (*holds)(Heap& heap, const Value& input, const Arguments& arguments);
};
bool is_iterable(const Value& value);
const TestEntry* find_test(std::string_view name);  // nullptr: there is none

}  // namespace ingle::jinja
