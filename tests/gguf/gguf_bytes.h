// Container bytes put together field by field, without the writer: valid files, and all the ways to be wrong.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace ingle::test {

// Value type ids as in the file.
enum : uint32_t { kU8, kI8, kU16, kI16, kU32, kI32, kF32, kBool, kString, kArray, kU64, kI64, kF64 };

class GgufBytes {
 public:
  // Nothing yet; for a file call header() first.
  GgufBytes() = default;

  GgufBytes& raw(std::string_view bytes) {
    bytes_ += bytes;
    return *this;
  }
  template <class T>
  GgufBytes& put(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(T));
    return *this;
  }
  GgufBytes& text(std::string_view text) { return put<uint64_t>(text.size()).raw(text); }
  GgufBytes& header(uint64_t tensors, uint64_t keys, uint32_t version = 3) {
    return raw("GGUF").put<uint32_t>(version).put<uint64_t>(tensors).put<uint64_t>(keys);
  }
  // A key and its type; the value follows.
  GgufBytes& key(std::string_view name, uint32_t type) { return text(name).put<uint32_t>(type); }
  GgufBytes& array(std::string_view name, uint32_t element_type, uint64_t count) {
    return key(name, kArray).put<uint32_t>(element_type).put<uint64_t>(count);
  }
  // Extents as in the file, innermost first.
  GgufBytes& tensor(std::string_view name, std::initializer_list<int64_t> extents, uint32_t type, uint64_t offset) {
    text(name).put<uint32_t>(static_cast<uint32_t>(extents.size()));
    for (const int64_t extent : extents) put<int64_t>(extent);
    return put<uint32_t>(type).put<uint64_t>(offset);
  }
  GgufBytes& pad(size_t alignment = 32) {
    bytes_.resize((bytes_.size() + alignment - 1) / alignment * alignment, '\0');
    return *this;
  }
  GgufBytes& fill(size_t count, char value = '\x11') {
    bytes_.append(count, value);
    return *this;
  }

  size_t size() const { return bytes_.size(); }
  std::string& string() { return bytes_; }
  std::span<const std::byte> bytes() const { return std::as_bytes(std::span(bytes_)); }

 private:
  std::string bytes_;
};

// One of everything: each value type, arrays of numbers, bools and text, and tensors of plain, block and scalar shape.
inline GgufBytes sample_file() {
  GgufBytes file;
  file.header(4, 16);
  file.key("general.architecture", kString).text("llama");
  file.key("a.u8", kU8).put<uint8_t>(200);
  file.key("a.i8", kI8).put<int8_t>(-100);
  file.key("a.u16", kU16).put<uint16_t>(60000);
  file.key("a.i16", kI16).put<int16_t>(-30000);
  file.key("a.u32", kU32).put<uint32_t>(4000000000u);
  file.key("a.i32", kI32).put<int32_t>(-2000000000);
  file.key("a.f32", kF32).put<float>(0.1f);
  file.key("a.bool", kBool).put<uint8_t>(1);
  file.key("a.u64", kU64).put<uint64_t>(uint64_t{1} << 63);
  file.key("a.i64", kI64).put<int64_t>(-(int64_t{1} << 62));
  file.key("a.f64", kF64).put<double>(0.1);
  file.array("a.u16s", kU16, 3).put<uint16_t>(1).put<uint16_t>(2).put<uint16_t>(65535);
  file.array("a.bools", kBool, 2).put<uint8_t>(1).put<uint8_t>(0);
  file.array("a.texts", kString, 3).text("").text("b").text(std::string_view("\xff\0 not UTF-8", 12));
  file.key("general.alignment", kU32).put<uint32_t>(64);
  file.tensor("plain.weight", {3, 2}, 0, 0);     // F32: 24 bytes
  file.tensor("blocks.weight", {64, 2}, 8, 64);  // Q8_0: 4 blocks of 34 bytes
  file.tensor("scalar", {}, 0, 256);             // F32: 4 bytes
  file.tensor("empty", {0, 5}, 1, 320);          // F16 without elements
  file.pad(64).fill(24).pad(64).fill(136).pad(64).fill(4).pad(64);
  return file;
}

}  // namespace ingle::test
