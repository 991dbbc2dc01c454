// Everything in the header is hostile until checked: sizes against the file, shapes against the bytes they are given,
// and tensors against one another.
#include "convert/safetensors.h"

#include <algorithm>
#include <boost/json.hpp>
#include <cstring>

#include "base/error.h"
#include "base/half.h"

namespace ingle {
namespace {

namespace json = boost::json;

constexpr uint64_t kMostHeaderBytes = 100'000'000;  // the format's own limit
constexpr int64_t kMostElements = int64_t{1} << 48;

struct Element {
  std::string_view name;
  size_t bytes;
  void (*read)(const std::byte* from, int64_t count, float* to);
};

template <class Stored, class Convert>
void read_each(const std::byte* from, int64_t count, float* to, Convert convert) {
  for (int64_t i = 0; i < count; ++i) {
    Stored stored;
    std::memcpy(&stored, from + static_cast<size_t>(i) * sizeof stored, sizeof stored);
    to[i] = convert(stored);
  }
}

constexpr Element kElements[] = {
    {"F32", 4, [](const std::byte* from, int64_t n, float* to) { std::memcpy(to, from, static_cast<size_t>(n) * 4); }},
    {"F16", 2,
     [](const std::byte* from, int64_t n, float* to) {
       read_each<uint16_t>(from, n, to, [](uint16_t bits) { return f16_to_f32(bits); });
     }},
    {"BF16", 2,
     [](const std::byte* from, int64_t n, float* to) {
       read_each<uint16_t>(from, n, to, [](uint16_t bits) { return bf16_to_f32(bits); });
     }},
    {"F64", 8,
     [](const std::byte* from, int64_t n, float* to) {
       read_each<double>(from, n, to, [](double number) { return static_cast<float>(number); });
     }},
    // Read by nobody, but files hold them beside the rest (counters, masks).
    {"I64", 8, nullptr},
    {"I32", 4, nullptr},
    {"I16", 2, nullptr},
    {"I8", 1, nullptr},
    {"U8", 1, nullptr},
    {"BOOL", 1, nullptr},
    {"F8_E4M3", 1, nullptr},
    {"F8_E5M2", 1, nullptr},
};

const Element* find_element(std::string_view name) {
  const auto* found = std::ranges::find(kElements, name, &Element::name);
  return found == std::end(kElements) ? nullptr : found;
}

template <class... Args>
[[noreturn]] void bad(std::string_view file, fmt::format_string<Args...> format, Args&&... args) {
  throw_error(ErrorCode::kInvalidFile, "{}: {}", file, fmt::format(format, std::forward<Args>(args)...));
}

const json::array& array_of(const json::object& entry, std::string_view key, std::string_view file,
                            std::string_view name) {
  const json::value* value = entry.if_contains(key);
  if (!value || !value->is_array()) bad(file, "tensor {}: no list \"{}\"", name, key);
  return value->get_array();
}

int64_t natural(const json::value& value, std::string_view what, std::string_view file, std::string_view name) {
  if (value.is_int64() && value.get_int64() >= 0) return value.get_int64();
  bad(file, "tensor {}: {} is {}, it must be a whole number from 0 on", name, what, json::serialize(value));
}

SafeTensor read_entry(std::string_view name, const json::value& value, std::span<const std::byte> data,
                      std::string_view file) {
  const json::object* entry = value.if_object();
  if (!entry) bad(file, "tensor {}: not an object", name);
  const json::value* type = entry->if_contains("dtype");
  if (!type || !type->is_string()) bad(file, "tensor {}: no \"dtype\"", name);
  SafeTensor tensor{.name = std::string(name), .type = std::string(type->get_string()), .shape = {}, .bytes = {}};
  const Element* element = find_element(tensor.type);
  if (!element)
    throw_error(ErrorCode::kUnsupported, "{}: tensor {}: its type {} is not known", file, name, tensor.type);

  const json::array& shape = array_of(*entry, "shape", file, name);
  if (shape.size() > 4)
    throw_error(ErrorCode::kUnsupported, "{}: tensor {}: {} dimensions, at most 4 are known", file, name, shape.size());
  int64_t elements = 1;
  for (const json::value& dimension : shape) {
    const int64_t extent = natural(dimension, "a dimension", file, name);
    if (extent != 0 && elements > kMostElements / extent)
      bad(file, "tensor {}: {} has more than {} elements", name, json::serialize(shape), kMostElements);
    elements *= extent;
    tensor.shape.extent[static_cast<size_t>(tensor.shape.rank++)] = extent;
  }

  const json::array& offsets = array_of(*entry, "data_offsets", file, name);
  if (offsets.size() != 2) bad(file, "tensor {}: {} offsets, not 2", name, offsets.size());
  const auto begin = static_cast<uint64_t>(natural(offsets[0], "an offset", file, name));
  const auto end = static_cast<uint64_t>(natural(offsets[1], "an offset", file, name));
  if (begin > end || end > data.size())
    bad(file, "tensor {}: its bytes are {} to {}, the file has {} of data", name, begin, end, data.size());
  const uint64_t wanted = static_cast<uint64_t>(elements) * element->bytes;
  if (end - begin != wanted)
    bad(file, "tensor {}: {} of {} take {} bytes, it has {}", name, json::serialize(shape), tensor.type, wanted,
        end - begin);
  tensor.bytes = data.subspan(begin, end - begin);
  return tensor;
}

}  // namespace

bool SafeTensor::readable() const noexcept { return find_element(type)->read != nullptr; }

void SafeTensor::read(int64_t first, int64_t count, float* out) const noexcept {
  const Element* element = find_element(type);
  element->read(bytes.data() + static_cast<size_t>(first) * element->bytes, count, out);
}

SafeTensorsFile SafeTensorsFile::parse(std::span<const std::byte> bytes, std::string_view name) {
  uint64_t size = 0;
  if (bytes.size() < sizeof size) bad(name, "{} bytes, too short for a safetensors file", bytes.size());
  for (size_t i = 0; i < sizeof size; ++i) size |= uint64_t{static_cast<uint8_t>(bytes[i])} << (8 * i);
  if (size > kMostHeaderBytes || size > bytes.size() - sizeof size)
    bad(name, "a header of {} bytes, the file has {} (and {} are the most)", size, bytes.size() - sizeof size,
        kMostHeaderBytes);
  const std::string_view header(reinterpret_cast<const char*>(bytes.data()) + sizeof size, size);
  const std::span<const std::byte> data = bytes.subspan(sizeof size + size);

  json::parse_options options;
  options.max_depth = 8;
  json::error_code error;
  json::monotonic_resource memory;
  const json::value root = json::parse(header, error, &memory, options);
  if (error || !root.is_object())
    bad(name, "the header is not a JSON object ({})", error ? error.message() : "but another value");

  SafeTensorsFile file;
  for (const auto& [key, value] : root.get_object()) {
    if (key != "__metadata__") file.tensors_.push_back(read_entry(key, value, data, name));
  }
  std::ranges::stable_sort(file.tensors_, {}, [](const SafeTensor& t) { return t.bytes.data(); });
  const std::byte* at = data.data();
  for (const SafeTensor& tensor : file.tensors_) {
    if (tensor.bytes.empty()) continue;
    if (tensor.bytes.data() != at)
      bad(name, "tensor {}: starts at byte {} of the data, {}", tensor.name, tensor.bytes.data() - data.data(),
          tensor.bytes.data() < at ? "inside another tensor" : "after a gap");
    at += tensor.bytes.size();
  }
  if (at != data.data() + data.size()) bad(name, "{} bytes after the last tensor", data.data() + data.size() - at);
  return file;
}

SafeTensorsFile SafeTensorsFile::open(const std::filesystem::path& path) {
  MappedFile mapped = MappedFile::open(path);
  SafeTensorsFile file = parse(mapped.bytes(), path.native());
  file.file_ = std::move(mapped);
  return file;
}

void SafeTensorsFile::drop(const SafeTensor& tensor) const noexcept {
  const std::span<const std::byte> whole = file_.bytes();
  if (!whole.empty()) file_.drop(static_cast<size_t>(tensor.bytes.data() - whole.data()), tensor.bytes.size());
}

}  // namespace ingle
