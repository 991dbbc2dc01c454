// What this library is and how it was built; the build system says it.
#include "ingle/engine.h"

namespace ingle {

std::string_view version() noexcept { return INGLE_VERSION; }
std::string_view build() noexcept { return INGLE_BUILD; }

}  // namespace ingle
