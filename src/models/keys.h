// Metadata keys under one architecture's prefix, checked against the range a number may have.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "gguf/gguf.h"

namespace ingle {

constexpr int64_t kMaxLayers = 512;
// Far above any model there is; products of three of them stay inside int64.
constexpr int64_t kMaxExtent = int64_t{1} << 20;

// Borrows the file. Everything throws Error{kInvalidFile} naming the key, what it is and what it may be.
class Keys {
 public:
  Keys(const GgufFile& file, std::string architecture) : file_(file), architecture_(std::move(architecture)) {}

  std::string name(std::string_view key) const { return fmt::format("{}.{}", architecture_, key); }
  bool has(std::string_view key) const { return file_.find_value(name(key)) != nullptr; }

  int64_t get(std::string_view key, int64_t least, int64_t most) const;
  int64_t find(std::string_view key, int64_t absent, int64_t least, int64_t most) const;
  // The same; some writers store such a number as a float.
  int64_t find_count(std::string_view key, int64_t absent, int64_t least, int64_t most) const;
  double find_float(std::string_view key, double absent) const { return file_.find_float(name(key)).value_or(absent); }
  // Finite and in (0, most].
  double positive(std::string_view key, double value, double most) const;
  double find_positive(std::string_view key, double absent, double most) const {
    return positive(key, find_float(key, absent), most);
  }
  // A number for all layers, or an array with one for each.
  std::vector<int64_t> per_layer(std::string_view key, int64_t layers, int64_t least, int64_t most) const;

  const GgufFile& file() const noexcept { return file_; }

 private:
  int64_t checked(std::string_view key, int64_t value, int64_t least, int64_t most) const;

  const GgufFile& file_;
  std::string architecture_;
};

}  // namespace ingle
