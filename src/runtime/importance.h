// How much each input of a matrix matters: the mean square of what came in while a model read a text.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "tensor/tensor.h"

namespace ingle {

class Importance {
 public:
  Importance() = default;  // of nothing
  // Throws what InputSums::open does.
  static Importance open(const std::filesystem::path& path);

  // Of a tensor's columns, one row of a mean between 1 and 2 for each matrix in it; empty where nothing is known.
  // Throws Error{kInvalidFile} when it is of a tensor of another shape.
  std::span<const float> of(const std::string& tensor, const Shape& shape) const;

 private:
  struct Entry {
    int64_t matrices = 0, columns = 0;
    std::vector<float> means;
  };
  std::string path_;
  std::unordered_map<std::string, Entry> entries_;
};

}  // namespace ingle
