// A cursor over the bytes of a container that never leaves them, and that says where it was when something is wrong.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"

namespace ingle::gguf {

static_assert(std::endian::native == std::endian::little, "GGUF is read in place, and it is little-endian");

// Borrows the bytes and the file name. Every failure is Error{kInvalidFile}:
// "m.gguf: key 'general.name' at offset 24: string of 99 bytes, but the file ends after 20".
class ByteReader {
 public:
  ByteReader(std::span<const std::byte> bytes, std::string_view file) : bytes_(bytes), file_(file) {}

  uint64_t position() const noexcept { return position_; }
  uint64_t size() const noexcept { return bytes_.size(); }
  uint64_t remaining() const noexcept { return bytes_.size() - position_; }
  uint64_t record_position() const noexcept { return record_position_; }

  // What is read from here on, for messages: "key 7" until its name is known.
  void begin_record(std::string_view kind, uint64_t index) noexcept;
  void name_record(std::string_view name) noexcept { record_name_ = name; }

  template <class T>
  T read(std::string_view what) {
    T value;
    std::memcpy(&value, take(sizeof(T), what).data(), sizeof(T));
    return value;
  }
  // The next bytes; `what` says what they are ("value type").
  std::span<const std::byte> take(uint64_t count, std::string_view what);
  // A length and that many bytes, which stay in the file.
  std::string_view read_string(std::string_view what, uint64_t limit);

  template <class... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    fail_as(ErrorCode::kInvalidFile, fmt::format(format, std::forward<Args>(args)...));
  }
  [[noreturn]] void fail_as(ErrorCode code, const std::string& message) const;

 private:
  std::span<const std::byte> bytes_;
  std::string_view file_;
  uint64_t position_ = 0;
  uint64_t record_position_ = 0;
  std::string_view record_kind_ = "header";
  std::optional<uint64_t> record_index_;
  std::optional<std::string_view> record_name_;
};

}  // namespace ingle::gguf
