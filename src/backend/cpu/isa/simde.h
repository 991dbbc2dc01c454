// Instruction sets that run anywhere, through SIMDe: the x86 kernels' own source over portable intrinsics. Slow, and
// only for tests: no machine has every instruction set, and so every machine can check them all. A build without SIMDe
// has none (simde_none.cpp).
#pragma once

#include <span>

#include "backend/cpu/dispatch.h"
#include "backend/cpu/isa/isa.h"

namespace ingle::cpu {

std::span<const IsaEntry> simde_entries() noexcept;  // "avx2(simde)" and so on

}  // namespace ingle::cpu
