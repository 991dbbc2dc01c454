// --explain, --profile and --check-ops as text: what serves which tensors, where the time went, and how right it was.
#pragma once

#include <span>
#include <string>

#include "ingle/model.h"
#include "ingle/session.h"

namespace ingle::app {

// One line per type, layout and reason, with the tensors it is true of: "blk.*.attn_q.weight".
std::string explain_placements(std::span<const TensorPlacement> placements);

// Which rows of a prompt run in which layers.
std::string explain_rows(std::span<const LayerRowsPlan> plan);

// A table by operation and one by layer: time, share, bytes, GB/s, GOP/s. `title` names what was measured.
std::string profile_tables(std::span<const ProfileLine> lines, std::string_view title);

// A table by operation and one by layer: how often, and the largest difference with where it was; the worst first.
std::string check_tables(std::span<const OpCheck> checks, std::string_view title);

}  // namespace ingle::app
