#include <algorithm>

#include "models/model.h"

namespace ingle {

std::vector<KvGroup> group_kv_layers(const Hparams& h) {
  std::vector<KvGroup> groups;
  for (size_t i = 0; i < h.layers.size(); ++i) {
    const LayerHparams& layer = h.layers[i];
    auto group = std::find_if(groups.begin(), groups.end(), [&](const KvGroup& g) {
      return g.kv_heads == layer.kv_heads && g.window == layer.window;
    });
    if (group == groups.end())
      group = groups.insert(groups.end(), {{}, layer.kv_heads, h.k_dim, h.v_dim, layer.window});
    group->layers.push_back(static_cast<int>(i));
  }
  return groups;
}

}  // namespace ingle
