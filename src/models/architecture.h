// What the file of a family of architectures gives to the table in registry.cpp.
#pragma once

#include <memory>
#include <string_view>

#include "models/model.h"

namespace ingle {

struct Architecture {
  std::string_view name;  // general.architecture of its files
  std::unique_ptr<ModelGraph> (*make)(const Hparams& h, const Weights& w);
  HparamDefaults defaults = {};
};

// For `make`: a Graph of what it is given, and of what tells the architectures of a family apart.
template <class Graph, auto... kVariant>
std::unique_ptr<ModelGraph> make_graph(const Hparams& h, const Weights& w) {
  return std::make_unique<Graph>(h, w, kVariant...);
}

}  // namespace ingle
