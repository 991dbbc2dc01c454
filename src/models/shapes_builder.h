// Collects keys and tensors of a shape; what the families have in common.
#pragma once

#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "gguf/value.h"
#include "models/shapes.h"

namespace ingle {

// A matrix of this deviation keeps inputs around 1 around 1, a little above, so that nothing dies out.
inline double matrix_deviation(int64_t inputs) { return 1.2 / std::sqrt(static_cast<double>(inputs)); }

// Gemma multiplies embeddings by sqrt(d) and multiplies by them again for the logits: larger ones would make every
// token predict itself, whatever the layers do.
inline double gemma_embedding_deviation(int64_t d_model) { return 0.5 / std::sqrt(static_cast<double>(d_model)); }

class ShapeBuilder {
 public:
  ShapeBuilder(std::string_view name, std::string_view architecture, std::string_view description) {
    shape_.name = name;
    shape_.architecture = architecture;
    shape_.description = description;
    set_plain<std::string>("general.architecture", std::string(architecture));
    set_plain<std::string>("general.type", "model");
    set_plain<std::string>("general.name", fmt::format("{} with random weights", name));
    set_plain<uint32_t>("general.quantization_version", 2);
  }

  template <class T>
  void set_plain(std::string_view key, T value) {
    shape_.metadata.emplace_back(key, gguf_value<T>(std::move(value)));
  }
  // Under the architecture's prefix.
  template <class T>
  void set(std::string_view key, std::type_identity_t<T> value) {
    set_plain<T>(full_key(key), std::move(value));
  }
  template <class T>
  void set_array(std::string_view key, const std::vector<T>& values) {
    shape_.metadata.emplace_back(full_key(key), gguf_array<T>(values));
  }
  void set_size(std::string_view key, int64_t value) { set<uint32_t>(key, static_cast<uint32_t>(value)); }
  // A number where all layers agree, as files have it; otherwise one for each.
  void set_sizes(std::string_view key, const std::vector<int32_t>& values) {
    for (const int32_t value : values)
      if (value != values.front()) return set_array(key, values);
    set_size(key, values.front());
  }

  // Tensors go under the current prefix; names are without ".weight".
  void begin_block(int64_t layer) { prefix_ = fmt::format("blk.{}.", layer); }
  void end_blocks() { prefix_.clear(); }

  void matrix(std::string_view name, int64_t inputs, int64_t outputs,
              ShapeTensor::Storage storage = ShapeTensor::Storage::kMatrix) {
    add(name, {outputs, inputs}, storage, 0, matrix_deviation(inputs));
  }
  void matrices(std::string_view name, int64_t inputs, int64_t outputs, int64_t count,
                ShapeTensor::Storage storage = ShapeTensor::Storage::kMatrix) {
    add(name, {count, outputs, inputs}, storage, 0, matrix_deviation(inputs));
  }
  void table(std::string_view name, int64_t columns, int64_t rows, double deviation) {
    add(name, {rows, columns}, ShapeTensor::Storage::kMatrix, 0, deviation).table = true;
  }
  void gain(std::string_view name, int64_t size, double mean = 1, double spread = 0.2) {
    add(name, {size}, ShapeTensor::Storage::kFloat, mean, mean * spread);
  }
  void float_matrix(std::string_view name, int64_t inputs, int64_t outputs, double deviation) {
    add(name, {outputs, inputs}, ShapeTensor::Storage::kFloat, 0, deviation);
  }
  void numbers(std::string_view name, std::vector<float> values) {
    add(name, {static_cast<int64_t>(values.size())}, ShapeTensor::Storage::kFloat, 0, 0).values = std::move(values);
  }
  void biases(std::string_view name, int64_t size, int64_t count) {
    add(name, {count, size}, ShapeTensor::Storage::kFloat, 0, 0.1).name = fmt::format("{}{}.bias", prefix_, name);
  }
  // One whose name does not end in ".weight".
  void scale(std::string_view name, int64_t size, double mean) {
    gain(name, size, mean);
    shape_.tensors.back().name = prefix_ + std::string(name);
  }

  void vocabulary(int64_t size, bool with_lists);

  ModelShape take() { return std::move(shape_); }

 private:
  std::string full_key(std::string_view key) const { return fmt::format("{}.{}", shape_.architecture, key); }
  ShapeTensor& add(std::string_view name, const Shape& shape, ShapeTensor::Storage storage, double mean,
                   double deviation) {
    shape_.tensors.push_back({.name = fmt::format("{}{}.weight", prefix_, name),
                              .shape = shape,
                              .storage = storage,
                              .mean = mean,
                              .deviation = deviation});
    return shape_.tensors.back();
  }

  ModelShape shape_;
  std::string prefix_;
};

// What the file of a family gives to the table in shapes.cpp.
struct ShapeFamily {
  std::span<const std::string_view> names;
  ModelShape (*make)(size_t index, bool with_vocabulary);  // `index` into the names
};

// For `names`: those of a family's table.
template <class Row, size_t kCount>
constexpr std::array<std::string_view, kCount> names_of(const std::array<Row, kCount>& rows) {
  std::array<std::string_view, kCount> names;
  for (size_t i = 0; i < kCount; ++i) names[i] = rows[i].name;
  return names;
}

}  // namespace ingle
