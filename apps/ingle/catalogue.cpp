#include "apps/ingle/catalogue.h"

#include "apps/ingle/fail.h"
#include "apps/ingle/files.h"
#include "apps/ingle/terminal.h"

namespace ingle::app {

std::span<const CatalogueEntry> catalogue() noexcept {
  static constexpr CatalogueEntry kEntries[] = {
      {"smollm2-135m-instruct", "smollm2", "smollm2-135m-instruct.gguf",
       "run ./quickstart in ingle's source directory, which fetches it"},
  };
  return kEntries;
}

std::filesystem::path find_model(const std::string& model) {
  std::error_code ignored;
  if (std::filesystem::exists(model, ignored)) return model;
  std::string names;
  for (const CatalogueEntry& entry : catalogue()) {
    if (model == entry.name || model == entry.alias) {
      const auto path = user_directory("XDG_CACHE_HOME", ".cache") / "models" / entry.file;
      if (std::filesystem::exists(path, ignored)) return path;
      fail(ErrorCode::kNotFound, "{}: not here yet ({} is missing); {}", model, path.string(), entry.obtain);
    }
    names += fmt::format("{}{}", names.empty() ? "" : ", ", entry.alias);
  }
  fail(ErrorCode::kNotFound, "{}: no such file, and no model of that name; give the path of a GGUF file, or one of: {}",
       printable(model), names);
}

}  // namespace ingle::app
