// The filters a template may apply with `|`, in three tables: of sequences, of text, and of everything else.
#pragma once

#include <span>

#include "text/template_value.h"

namespace ingle::jinja {

struct FilterEntry {
  std::string_view name;
  Value (*apply)(Heap& heap, const Value& input, const Arguments& arguments);
  bool extra = false;  // ours: `is filter` does not admit to it, as Jinja2 does not have it
};
const FilterEntry* find_filter(std::string_view name);  // nullptr: there is none

Value urlize(Heap& heap, const Value& input, const Arguments& arguments);

std::span<const FilterEntry> sequence_filters();
std::span<const FilterEntry> text_filters();
std::span<const FilterEntry> value_filters();

}  // namespace ingle::jinja
