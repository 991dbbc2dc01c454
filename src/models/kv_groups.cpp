#include <algorithm>

#include "models/model.h"

namespace ingle {

std::vector<KvGroup> group_kv_layers(const Hparams& h) {
  std::vector<KvGroup> groups;
  for (size_t i = 0; i < h.layers.size(); ++i) {
    const LayerHparams& layer = h.layers[i];
    if (layer.kv_owner != static_cast<int>(i)) continue;  // reads another layer's
    auto group = std::find_if(groups.begin(), groups.end(), [&](const KvGroup& g) {
      return g.kv_heads == layer.kv_heads && g.k_dim == layer.k_dim && g.v_dim == layer.v_dim &&
             g.window == layer.window;
    });
    if (group == groups.end())
      group = groups.insert(groups.end(), {{}, layer.kv_heads, layer.k_dim, layer.v_dim, layer.window});
    group->layers.push_back(static_cast<int>(i));
  }
  return groups;
}

}  // namespace ingle
