// The normalisation forms that also take apart what only looks different: U+FB01 becomes f and i, U+2460 becomes 1.
#pragma once

#include <string>
#include <string_view>

namespace ingle {

// Every character replaced by its compatibility decomposition. `text` must be valid UTF-8. NFKC is to_nfc of this, NFKD
// to_nfd of it.
std::string expand_compatibility(std::string_view text);

}  // namespace ingle
