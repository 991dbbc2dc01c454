// What stands between two lines of --- at the top of a model's README.md: names, each with a text or a list of texts.
// Of YAML only this; everything else there is passed over.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace ingle {

using FrontMatter = std::map<std::string, std::vector<std::string>, std::less<>>;

// Empty when there is none. Any bytes will do.
FrontMatter read_front_matter(std::string_view text);

}  // namespace ingle
