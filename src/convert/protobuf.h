// Protocol buffers' wire format, field by field: a number, and a varint, four or eight bytes, or a run of bytes that
// may be a message itself. (protobuf.dev/programming-guides/encoding)
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ingle {

class ProtoReader {
 public:
  struct Field {
    uint32_t number;
    enum class Wire : uint8_t { kVarint, kFixed64, kBytes, kFixed32 } wire;
    uint64_t value = 0;      // of what is no run of bytes
    std::string_view bytes;  // of one; points into the message
  };

  // `message` must outlive what is read; `name` stands before every complaint.
  ProtoReader(std::string_view message, std::string name) : message_(message), name_(std::move(name)) {}

  // nullopt at the end. Throws Error{kInvalidFile} naming the byte: cut short, a number or wire type that there is not.
  std::optional<Field> next();

  // What the field is read as. Throw Error{kInvalidFile} when it is of another wire type.
  int32_t integer(const Field& field) const;
  bool boolean(const Field& field) const;
  float real(const Field& field) const;
  std::string_view bytes(const Field& field) const;

 private:
  [[noreturn]] void fail(std::string_view what) const;
  void expect(const Field& field, Field::Wire wire) const;
  uint64_t varint();
  uint64_t fixed(size_t size);

  std::string_view message_;
  std::string name_;
  size_t at_ = 0;
};

}  // namespace ingle
