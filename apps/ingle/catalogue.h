// Models known by name, and what a MODEL argument means: a path, or one of these names.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace ingle::app {

struct CatalogueEntry {
  std::string_view name, alias;
  std::string_view file;    // in ${XDG_CACHE_HOME:-~/.cache}/ingle/models
  std::string_view obtain;  // what to do when it is not there
};

std::span<const CatalogueEntry> catalogue() noexcept;

// An existing path wins over a name. Throws Error{kNotFound} that says how to get a catalogue model, or lists the
// names.
std::filesystem::path find_model(const std::string& model);

}  // namespace ingle::app
