#include "text/template_filters.h"

#include <algorithm>

namespace ingle::jinja {

const FilterEntry* find_filter(std::string_view name) {
  for (const auto table : {sequence_filters(), text_filters(), value_filters()}) {
    const auto it = std::find_if(table.begin(), table.end(), [&](const FilterEntry& e) { return e.name == name; });
    if (it != table.end()) return &*it;
  }
  return nullptr;
}

}  // namespace ingle::jinja
