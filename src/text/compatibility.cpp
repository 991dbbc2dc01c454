// The table holds whole decompositions, so one look-up a character does.
#include "text/compatibility.h"

#include <algorithm>

#include "text/unicode.h"
#include "text/utf8.h"

namespace ingle {

std::string expand_compatibility(std::string_view text) {
  const auto table = unicode_tables::kCompatibleDecompositions;
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const Utf8Step step = decode_utf8(text.substr(i));
    const auto it = step.code < 0xA0 ? table.end()
                                     : std::lower_bound(table.begin(), table.end(), step.code,
                                                        [](const auto& d, char32_t k) { return d.code < k; });
    if (it == table.end() || it->code != step.code) {
      out += text.substr(i, step.length);
    } else {
      for (char32_t part : std::span(unicode_tables::kDecomposed + it->offset, it->length)) append_utf8(out, part);
    }
    i += step.length;
  }
  return out;
}

}  // namespace ingle
