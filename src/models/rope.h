// From the rope keys of a file to the angles of each channel pair.
#pragma once

#include <span>

#include "backend/backend.h"
#include "models/hparams.h"

namespace ingle {

// `factors`: the tensor rope_freqs ([rotated / 2], the frequency of pair i is divided by factors[i]), or empty.
Rope make_rope(const RopeHparams& h, Rope::Pairs pairs, std::span<const float> factors);

}  // namespace ingle
