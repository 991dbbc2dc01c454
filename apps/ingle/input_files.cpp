#include "apps/ingle/input_files.h"

#include <algorithm>

#include "apps/ingle/setup.h"

namespace ingle::app {

std::vector<std::filesystem::path> input_files(const Arguments& arguments,
                                               std::initializer_list<std::string_view> but) {
  const Syntax& syntax = arguments.syntax();
  std::vector<std::filesystem::path> files;
  if (syntax.find("model")) files = model_files(model_path(arguments));
  for (const OptionGroup* group : syntax.groups) {
    for (const Option& option : group->options) {
      if (option.kind != ValueKind::kFile || option.name == "model" || std::ranges::count(but, option.name) > 0)
        continue;
      for (const std::string& file : arguments.texts(option.name)) files.emplace_back(file);
    }
  }
  if (syntax.find("lora-scaled")) {
    for (const std::string& both : arguments.texts("lora-scaled")) files.emplace_back(both.substr(0, both.rfind(':')));
  }
  files.emplace_back("/dev/stdin");  // a text may come from it; the name leads to the file behind a redirection
  return files;
}

}  // namespace ingle::app
