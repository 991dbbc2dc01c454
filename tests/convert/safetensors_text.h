// The bytes of a safetensors file with matrices of f32.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

namespace ingle::test {

struct NamedMatrix {
  std::string name;
  int64_t rows, columns;
  std::vector<float> numbers;
};

inline NamedMatrix zeros(std::string name, int64_t rows, int64_t columns) {
  return {std::move(name), rows, columns, std::vector<float>(static_cast<size_t>(rows * columns))};
}

inline std::string safetensors_text(const std::vector<NamedMatrix>& matrices) {
  std::string header, data;
  for (const NamedMatrix& m : matrices) {
    const size_t begin = data.size();
    data.append(reinterpret_cast<const char*>(m.numbers.data()), m.numbers.size() * sizeof(float));
    header += fmt::format(R"({}"{}":{{"dtype":"F32","shape":[{},{}],"data_offsets":[{},{}]}})",
                          header.empty() ? "{" : ",", m.name, m.rows, m.columns, begin, data.size());
  }
  header += '}';
  std::string size;
  for (int i = 0; i < 8; ++i) size += static_cast<char>(header.size() >> (8 * i) & 0xFF);
  return size + header + data;
}

}  // namespace ingle::test
