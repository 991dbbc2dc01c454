#include "convert/hf_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>

#include "base/error.h"
#include "base/read_file.h"

namespace ingle {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

json::object parse_object(std::string_view text, std::string_view file) {
  json::parse_options options;
  options.max_depth = 32;
  json::error_code error;
  json::value root = json::parse(text, error, {}, options);
  if (error || !root.is_object())
    throw_error(ErrorCode::kInvalidFile, "{}: not a JSON object ({})", file,
                error ? error.message() : "but another value");
  return std::move(root.get_object());
}

json::object read_object(const fs::path& path) { return parse_object(read_file(path), path.native()); }

bool fits_a_float(const json::value& number) {
  return std::abs(number.to_number<double>()) <= std::numeric_limits<float>::max();
}

// The files that hold the weights.
std::vector<std::string> shard_names(const fs::path& folder) {
  const fs::path index = folder / "model.safetensors.index.json";
  std::error_code ignored;
  if (!fs::exists(index, ignored)) {
    if (fs::exists(folder / "model.safetensors", ignored)) return {"model.safetensors"};
    throw_error(ErrorCode::kNotFound,
                "{}: no weights: neither model.safetensors nor model.safetensors.index.json (other formats, such as "
                "pytorch_model.bin, are not read)",
                folder.native());
  }
  const json::object root = read_object(index);
  const json::value* map = root.if_contains("weight_map");
  if (!map || !map->is_object()) throw_error(ErrorCode::kInvalidFile, "{}: no \"weight_map\"", index.native());
  std::set<std::string> names;
  for (const auto& [tensor, file] : map->get_object()) {
    if (!file.is_string())
      throw_error(ErrorCode::kInvalidFile, "{}: weight_map: {}: not the name of a file", index.native(),
                  std::string_view(tensor));
    const std::string name(file.get_string());
    // Beside the index, nowhere else.
    if (name.empty() || name.find('/') != name.npos || name.find('\0') != name.npos || name == "..")
      throw_error(ErrorCode::kInvalidFile, "{}: weight_map: \"{}\" is not the name of a file in the folder",
                  index.native(), name);
    names.insert(name);
  }
  return {names.begin(), names.end()};
}

// Models that also see or hear keep the language model's settings in an object of their own.
HfConfig language_config(json::object values, const std::string& file) {
  json::value* inner = values.if_contains("text_config");
  if (!inner || !inner->is_object()) return HfConfig(std::move(values), file);
  json::object text = std::move(inner->get_object());
  for (const char* key : {"architectures", "tie_word_embeddings", "quantization_config"}) {
    const json::value* outer = values.if_contains(key);
    if (outer && !text.contains(key)) text[key] = *outer;
  }
  return HfConfig(std::move(text), file);
}

}  // namespace

HfConfig HfConfig::parse(std::string_view text, std::string file) {
  json::object values = parse_object(text, file);
  return {std::move(values), std::move(file)};
}

HfConfig HfConfig::open(const fs::path& path) { return {read_object(path), path.native()}; }

bool HfConfig::is_set(std::string_view key) const {
  const json::value* value = find(key);
  if (!value) return false;
  if (value->is_bool()) return value->get_bool();
  if (value->is_string()) return !value->get_string().empty();
  if (value->is_array()) return !value->get_array().empty();
  if (value->is_object()) return !value->get_object().empty();
  return true;
}

bool HfConfig::is_text(std::string_view key) const {
  const json::value* value = find(key);
  return value && value->is_string();
}

const json::value* HfConfig::find(std::string_view key) const {
  const json::value* value = values_.if_contains(key);
  return value && value->is_null() ? nullptr : value;
}

void HfConfig::refuse(std::string_view key, std::string_view must) const {
  const json::value* value = find(key);
  if (!value) throw_error(ErrorCode::kInvalidFile, "{}: no \"{}\"", file_, key);
  const std::string text = json::serialize(*value);
  throw_error(ErrorCode::kInvalidFile, "{}: \"{}\" is {}, it must be {}", file_, key,
              text.size() > 60 ? text.substr(0, 60) + "..." : text, must);
}

int64_t HfConfig::integer(std::string_view key) const {
  const json::value* value = find(key);
  if (value && value->is_int64()) return value->get_int64();
  if (value && value->is_double() && std::trunc(value->get_double()) == value->get_double() &&
      std::abs(value->get_double()) < 9e15)
    return static_cast<int64_t>(value->get_double());
  refuse(key, "a whole number");
}

int64_t HfConfig::extent(std::string_view key) const {
  const int64_t value = integer(key);
  if (value < 1 || value > kMostOfAnything) refuse(key, fmt::format("from 1 to {}", kMostOfAnything));
  return value;
}

double HfConfig::number(std::string_view key) const {
  const json::value* value = find(key);
  if (!value || !value->is_number()) refuse(key, "a number");
  if (!fits_a_float(*value)) refuse(key, "a number that 32 bits can hold");
  return value->to_number<double>();
}

bool HfConfig::flag(std::string_view key, bool absent) const {
  const json::value* value = find(key);
  if (!value) return absent;
  if (value->is_bool()) return value->get_bool();
  refuse(key, "true or false");
}

std::string HfConfig::text(std::string_view key) const {
  const json::value* value = find(key);
  if (value && value->is_string()) return std::string(value->get_string());
  refuse(key, "a text");
}

std::string HfConfig::text(std::string_view key, std::string_view absent) const {
  return has(key) ? text(key) : std::string(absent);
}

std::vector<std::string> HfConfig::texts(std::string_view key) const {
  const json::value* value = find(key);
  if (!value) return {};
  if (!value->is_array()) refuse(key, "a list of texts");
  std::vector<std::string> texts;
  for (const json::value& entry : value->get_array()) {
    if (!entry.is_string()) refuse(key, "a list of texts");
    texts.emplace_back(entry.get_string());
  }
  return texts;
}

std::vector<double> HfConfig::numbers(std::string_view key) const {
  const json::value* value = find(key);
  if (!value) return {};
  if (value->is_number()) return {number(key)};
  if (!value->is_array()) refuse(key, "a list of numbers");
  std::vector<double> numbers;
  for (const json::value& entry : value->get_array()) {
    if (!entry.is_number() || !fits_a_float(entry)) refuse(key, "a list of numbers that 32 bits can hold");
    numbers.push_back(entry.to_number<double>());
  }
  return numbers;
}

std::optional<HfConfig> HfConfig::object(std::string_view key) const {
  const json::value* value = find(key);
  if (!value) return std::nullopt;
  if (!value->is_object()) refuse(key, "an object");
  return HfConfig(value->get_object(), file_ + ": " + std::string(key));
}

std::string name_of_folder(const fs::path& path) {
  const fs::path whole = fs::absolute(path).lexically_normal();
  return (whole.has_filename() ? whole : whole.parent_path()).filename().string();
}

std::vector<fs::path> files_of_folder(const fs::path& path) {
  const auto is_gguf = [](const fs::path& file) {
    try {
      return begins_with(file, "GGUF");
    } catch (const Error&) {  // whoever reads it will say what is wrong
      return false;
    }
  };
  std::vector<fs::path> files;
  std::error_code ignored;
  fs::recursive_directory_iterator entry(path, fs::directory_options::follow_directory_symlink, ignored), end;
  for (; entry != end; entry.increment(ignored)) {
    if (entry.depth() > 0) entry.disable_recursion_pending();
    if (entry->is_regular_file(ignored) && !is_gguf(entry->path())) files.push_back(entry->path());
  }
  return files;
}

HfFolder HfFolder::open(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored))
    throw_error(ErrorCode::kNotFound, "{}: no such folder; what is converted is a model's folder", path.native());
  const fs::path file = path / "config.json";
  if (!fs::exists(file, ignored) && fs::exists(path / "adapter_config.json", ignored))
    throw_error(ErrorCode::kInvalidFile, "{}: is an adapter's folder, which is converted for a model (--base MODEL)",
                path.native());
  HfFolder folder(path, language_config(read_object(file), file.native()));
  const std::vector<std::string> architectures = folder.config_.texts("architectures");
  if (architectures.size() != 1) folder.config_.refuse("architectures", "a list of one name");
  folder.architecture_ = architectures[0];

  for (const std::string& name : shard_names(path)) folder.shards_.push_back(SafeTensorsFile::open(path / name));
  for (size_t i = 0; i < folder.shards_.size(); ++i) {
    for (const SafeTensor& tensor : folder.shards_[i].tensors()) {
      if (!folder.by_name_.emplace(tensor.name, Place{i, &tensor}).second)
        throw_error(ErrorCode::kInvalidFile, "{}: tensor {} is in two files", path.native(), tensor.name);
    }
  }
  return folder;
}

const SafeTensor* HfFolder::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second.tensor;
}

std::vector<std::string_view> HfFolder::names() const {
  std::vector<std::string_view> names;
  for (const auto& [name, place] : by_name_) names.push_back(name);
  std::ranges::sort(names);
  return names;
}

void HfFolder::drop(const SafeTensor& tensor) const noexcept {
  const auto found = by_name_.find(tensor.name);
  if (found != by_name_.end()) shards_[found->second.shard].drop(tensor);
}

std::optional<std::string> HfFolder::read(std::string_view name) const {
  std::error_code ignored;
  if (!fs::exists(path_ / name, ignored)) return std::nullopt;
  return read_file(path_ / name);
}

std::optional<HfConfig> HfFolder::read_config(std::string_view name) const {
  std::error_code ignored;
  if (!fs::exists(path_ / name, ignored)) return std::nullopt;
  return HfConfig::open(path_ / name);
}

}  // namespace ingle
