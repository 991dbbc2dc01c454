// Our decoders against the Python package gguf, an independent implementation: data/gguf_python.bin holds random blocks
// and the values it finds in them (scripts/compare_quant.py).
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <vector>

#include "quant/format.h"

namespace ingle {
namespace {

struct Reader {
  std::vector<char> bytes;
  size_t at = 0;

  bool done() const { return at == bytes.size(); }
  void read(void* to, size_t size) {
    if (size > bytes.size() - at) throw std::runtime_error("gguf_python.bin ends early");
    std::memcpy(to, bytes.data() + at, size);
    at += size;
  }
  uint32_t u32() {
    uint32_t value;
    read(&value, sizeof(value));
    return value;
  }
};

TEST(GgufPython, RandomBlocksOfEveryTypeDecodeToTheSameValues) {
  std::ifstream file(INGLE_SOURCE_DIR "/tests/quant/data/gguf_python.bin", std::ios::binary);
  Reader in{{std::istreambuf_iterator<char>(file), {}}};
  int types = 0;
  while (!in.done()) {
    const uint32_t id = in.u32();
    const Format* f = find_format(static_cast<DType>(id));
    ASSERT_NE(f, nullptr) << id;
    std::vector<float> expected(in.u32());
    std::vector<std::byte> blocks(in.u32());
    in.read(blocks.data(), blocks.size());
    in.read(expected.data(), expected.size() * sizeof(float));

    const auto n = static_cast<int64_t>(expected.size());
    ASSERT_EQ(blocks.size(), f->row_bytes(n)) << f->name;
    std::vector<float> y(expected.size());
    f->decode(blocks.data(), y.data(), n);
    for (size_t i = 0; i < y.size(); ++i) ASSERT_EQ(y[i], expected[i]) << f->name << " element " << i;
    ++types;
  }
  EXPECT_EQ(types, 24);
}

}  // namespace
}  // namespace ingle
