// The files a command line has a command read.
#pragma once

#include <filesystem>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "apps/ingle/options.h"
#include "ingle/input_files.h"

namespace ingle::app {

// Those of the model, of every option that names a file, and standard input, but not those of the options `but`: what
// is written, and what may be written over because it is read whole before. Throws what model_path() does.
std::vector<std::filesystem::path> input_files(const Arguments& arguments,
                                               std::initializer_list<std::string_view> but = {});

}  // namespace ingle::app
