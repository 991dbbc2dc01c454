#include "backend/cpu/isa/simde.h"

namespace ingle::cpu {

std::span<const IsaEntry> simde_entries() noexcept { return {}; }

}  // namespace ingle::cpu
