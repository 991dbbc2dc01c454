#include "convert/protobuf.h"

#include <bit>

#include "base/error.h"

namespace ingle {

void ProtoReader::fail(std::string_view what) const {
  throw_error(ErrorCode::kInvalidFile, "{}: byte {}: {}", name_, at_, what);
}

uint64_t ProtoReader::varint() {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (at_ == message_.size()) fail("cut short");
    const auto byte = static_cast<uint8_t>(message_[at_++]);
    value |= uint64_t{byte & 0x7Fu} << shift;
    if (byte < 0x80) return value;
  }
  fail("a number of more than 64 bits");
}

uint64_t ProtoReader::fixed(size_t size) {
  if (message_.size() - at_ < size) fail("cut short");
  uint64_t value = 0;
  for (size_t i = 0; i < size; ++i) value |= uint64_t{static_cast<uint8_t>(message_[at_ + i])} << (8 * i);
  at_ += size;
  return value;
}

std::optional<ProtoReader::Field> ProtoReader::next() {
  if (at_ == message_.size()) return std::nullopt;
  const uint64_t key = varint();
  Field field{.number = static_cast<uint32_t>(key >> 3), .wire = Field::Wire::kVarint, .value = 0, .bytes = {}};
  if (key >> 3 == 0 || key >> 3 > 0x1FFFFFFF) fail("a field without a number");
  switch (key & 7) {
    case 0:
      field.value = varint();
      return field;
    case 1:
      field.wire = Field::Wire::kFixed64;
      field.value = fixed(8);
      return field;
    case 2: {
      field.wire = Field::Wire::kBytes;
      const uint64_t size = varint();
      if (size > message_.size() - at_) fail("cut short");
      field.bytes = message_.substr(at_, size);
      at_ += size;
      return field;
    }
    case 5:
      field.wire = Field::Wire::kFixed32;
      field.value = fixed(4);
      return field;
    default:
      fail("a wire type that there is not");
  }
}

void ProtoReader::expect(const Field& field, Field::Wire wire) const {
  if (field.wire != wire)
    throw_error(ErrorCode::kInvalidFile, "{}: field {} before byte {} is of another type", name_, field.number, at_);
}

int32_t ProtoReader::integer(const Field& field) const {
  expect(field, Field::Wire::kVarint);
  return static_cast<int32_t>(static_cast<uint32_t>(field.value));
}

bool ProtoReader::boolean(const Field& field) const {
  expect(field, Field::Wire::kVarint);
  return field.value != 0;
}

float ProtoReader::real(const Field& field) const {
  expect(field, Field::Wire::kFixed32);
  return std::bit_cast<float>(static_cast<uint32_t>(field.value));
}

std::string_view ProtoReader::bytes(const Field& field) const {
  expect(field, Field::Wire::kBytes);
  return field.bytes;
}

}  // namespace ingle
