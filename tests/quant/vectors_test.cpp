// Blocks and rows published with the description of the formats (data/quant-vectors.txt): what bytes mean, and which
// bytes the reference encoder makes of a row.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "quant/format.h"

namespace ingle {
namespace {

std::vector<std::byte> from_hex(const std::string& hex) {
  std::vector<std::byte> bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes.push_back(static_cast<std::byte>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  return bytes;
}

struct DecodeCase {
  std::string type;
  std::vector<std::byte> block;
  std::vector<float> values;
};

struct EncodeCase {
  std::string type;
  bool with_importance;
  std::vector<std::byte> row;
};

struct Vectors {
  std::vector<DecodeCase> decode;
  std::vector<EncodeCase> encode;
};

Vectors read_vectors() {
  Vectors v;
  std::ifstream file(INGLE_SOURCE_DIR "/tests/quant/data/quant-vectors.txt");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string kind, type, word;
    words >> kind;
    if (kind == "D") {
      words >> type >> word;
      v.decode.push_back({type, from_hex(word), {}});
    } else if (kind == "=") {
      while (words >> word) v.decode.back().values.push_back(std::strtof(word.c_str(), nullptr));
    } else if (kind == "Q") {
      int importance;
      words >> type >> importance >> word;
      v.encode.push_back({type, importance != 0, from_hex(word)});
    }
  }
  return v;
}

// The row every Q line encodes, and its importance.
std::vector<float> vector_row() {
  uint32_t s = 12345;
  const auto next = [&s] {
    s = s * 1664525u + 1013904223u;
    return static_cast<double>(s >> 8) / 16777216.0;
  };
  std::vector<float> x(256);
  for (float& e : x) {
    double sum = 0;
    for (int draw = 0; draw < 4; ++draw) sum += next();
    e = static_cast<float>(sum - 2.0);
  }
  return x;
}

std::vector<float> vector_importance() {
  std::vector<float> w(256);
  for (int i = 0; i < 256; ++i) w[static_cast<size_t>(i)] = 0.5f + static_cast<float>((i * 37) % 64) / 32;
  return w;
}

TEST(QuantVectors, EveryPublishedBlockDecodesToItsValues) {
  const Vectors v = read_vectors();
  ASSERT_EQ(v.decode.size(), 25u);
  for (const DecodeCase& c : v.decode) {
    const Format* f = find_format(c.type);
    ASSERT_NE(f, nullptr) << c.type;
    ASSERT_EQ(c.block.size(), f->block_bytes) << c.type;
    ASSERT_EQ(static_cast<int64_t>(c.values.size()), f->block_elements) << c.type;
    std::vector<float> y(c.values.size());
    f->decode(c.block.data(), y.data(), f->block_elements);
    for (size_t i = 0; i < y.size(); ++i)
      ASSERT_NEAR(y[i], c.values[i], 1e-6f * std::fabs(c.values[i])) << c.type << " element " << i;
  }
}

// Formats whose rows we search in a way of our own. It has to leave less than the published bytes do.
bool searched_differently(const std::string& type) {
  return type.starts_with("IQ1") || type.starts_with("IQ2") || type.starts_with("IQ3") || type.starts_with("TQ") ||
         type == "Q2_0";
}

// Sum of w (x - y)^2 of what a row comes back as.
double weighed_error(const Format& f, const std::vector<std::byte>& row, const std::vector<float>& x,
                     const std::vector<float>& w) {
  std::vector<float> y(x.size());
  f.decode(row.data(), y.data(), static_cast<int64_t>(x.size()));
  double sum = 0;
  for (size_t i = 0; i < x.size(); ++i) sum += static_cast<double>(w[i]) * (x[i] - y[i]) * (x[i] - y[i]);
  return sum;
}

TEST(QuantVectors, EveryPublishedRowEncodesToItsBytesOrBetter) {
  const Vectors v = read_vectors();
  ASSERT_EQ(v.encode.size(), 40u);
  const std::vector<float> x = vector_row();
  const std::vector<float> w = vector_importance();
  std::set<std::string> checked;
  for (const EncodeCase& c : v.encode) {
    const Format* f = find_format(c.type);
    ASSERT_NE(f, nullptr) << c.type;
    if (f->encode == nullptr) continue;
    checked.insert(c.type);
    std::vector<std::byte> row(f->row_bytes(256));
    ASSERT_EQ(row.size(), c.row.size()) << c.type;
    f->encode(x.data(), row.data(), 256, c.with_importance ? w.data() : nullptr);
    if (searched_differently(c.type)) {
      const std::vector<float> weights = c.with_importance ? w : std::vector<float>(256, 1.0f);
      EXPECT_LT(weighed_error(*f, row, x, weights), weighed_error(*f, c.row, x, weights))
          << c.type << (c.with_importance ? " with importance" : "");
      continue;
    }
    size_t different = 0;
    for (size_t i = 0; i < row.size(); ++i) different += row[i] != c.row[i] ? 1 : 0;
    EXPECT_EQ(different, 0u) << c.type << (c.with_importance ? " with importance" : "");
  }
  EXPECT_EQ(checked.size(), 24u);
}

}  // namespace
}  // namespace ingle
