// What each tensor of a quantised file costs by itself.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>

#include "apps/ingle/perplexity/windows.h"

namespace ingle::app {

// For each of the tensors the mean Kullback-Leibler divergence, in nats, of the distributions that the session's model
// gives from those that it gives when this tensor alone is taken from the other file. Tensors that the model does not
// use as they lie in the file are left out. Keeps the windows' logits in memory, and reads all windows once for each
// tensor. `after(count)` says how many tensors are done. Throws Error: kCancelled (after an interrupt), and what
// TensorSwap and Session throw.
std::map<std::string, double> divergence_by_tensor(Session& session, const std::filesystem::path& other,
                                                   std::span<const std::string> tensors, const Windows& windows,
                                                   const std::function<void(size_t count)>& after);

}  // namespace ingle::app
