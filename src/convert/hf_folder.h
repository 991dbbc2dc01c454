// A model as it is published: a folder with config.json, the weights in one safetensors file or several, and texts
// beside them.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "convert/safetensors.h"

namespace ingle {

// Settings under the names they have in config.json. Everything throws Error{kInvalidFile} naming the file and the key.
class HfConfig {
 public:
  HfConfig(boost::json::object values, std::string file) : values_(std::move(values)), file_(std::move(file)) {}
  static HfConfig parse(std::string_view text, std::string file);
  // Throws as read_file() does, too.
  static HfConfig open(const std::filesystem::path& path);

  // Absent and null are the same.
  bool has(std::string_view key) const { return find(key) != nullptr; }
  // Whether it says more than false, "", [] and {}.
  bool is_set(std::string_view key) const;
  bool is_text(std::string_view key) const;
  int64_t integer(std::string_view key) const;
  int64_t integer(std::string_view key, int64_t absent) const { return has(key) ? integer(key) : absent; }
  // How much of something there is: from 1 to kMostOfAnything, of which two can be multiplied.
  static constexpr int64_t kMostOfAnything = std::numeric_limits<int32_t>::max();
  int64_t extent(std::string_view key) const;
  int64_t extent(std::string_view key, int64_t absent) const { return has(key) ? extent(key) : absent; }
  double number(std::string_view key) const;  // one that 32 bits can hold
  double number(std::string_view key, double absent) const { return has(key) ? number(key) : absent; }
  bool flag(std::string_view key, bool absent) const;
  std::string text(std::string_view key) const;
  std::string text(std::string_view key, std::string_view absent) const;
  std::vector<std::string> texts(std::string_view key) const;  // [] when absent
  std::vector<double> numbers(std::string_view key) const;     // [] when absent; one number is a list of one
  std::optional<HfConfig> object(std::string_view key) const;

  const std::string& file() const noexcept { return file_; }
  [[noreturn]] void refuse(std::string_view key, std::string_view must) const;

 private:
  const boost::json::value* find(std::string_view key) const;

  boost::json::object values_;
  std::string file_;
};

// What a folder is called: general.name of what is made of it.
std::string name_of_folder(const std::filesystem::path& path);

// What converting may read: every file in it and in the folders in it that is no GGUF file.
std::vector<std::filesystem::path> files_of_folder(const std::filesystem::path& path);

class HfFolder {
 public:
  // Throws Error: kNotFound (no folder, no config.json, no weights), kIo, kInvalidFile, kUnsupported.
  static HfFolder open(const std::filesystem::path& path);

  const std::filesystem::path& path() const noexcept { return path_; }
  const HfConfig& config() const noexcept { return config_; }  // of the language model, where there is more than that
  const std::string& architecture() const noexcept { return architecture_; }  // "LlamaForCausalLM"

  // nullptr when absent.
  const SafeTensor* find(std::string_view name) const;
  std::vector<std::string_view> names() const;  // sorted
  int64_t tensor_count() const noexcept { return static_cast<int64_t>(by_name_.size()); }
  void drop(const SafeTensor& tensor) const noexcept;

  // A text beside the weights; nullopt when there is none.
  std::optional<std::string> read(std::string_view name) const;
  std::optional<HfConfig> read_config(std::string_view name) const;

 private:
  HfFolder(std::filesystem::path path, HfConfig config) : path_(std::move(path)), config_(std::move(config)) {}

  std::filesystem::path path_;
  HfConfig config_;
  std::string architecture_;
  std::vector<SafeTensorsFile> shards_;
  struct Place {
    size_t shard;
    const SafeTensor* tensor;
  };
  std::unordered_map<std::string_view, Place> by_name_;
};

}  // namespace ingle
