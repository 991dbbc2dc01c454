#include "gguf/byte_reader.h"

#include "gguf/layout.h"

namespace ingle::gguf {

void ByteReader::begin_record(std::string_view kind, uint64_t index) noexcept {
  record_kind_ = kind;
  record_index_ = index;
  record_name_.reset();
  record_position_ = position_;
}

std::span<const std::byte> ByteReader::take(uint64_t count, std::string_view what) {
  if (count > remaining()) {
    fail("{} of {} bytes at {}, but the file ends at {}", what, count, position_, size());
  }
  const auto taken = bytes_.subspan(position_, count);
  position_ += count;
  return taken;
}

std::string_view ByteReader::read_string(std::string_view what, uint64_t limit) {
  const uint64_t length = read<uint64_t>("a string length");
  if (length > limit) fail("{} of {} bytes at {}, at most {} are allowed", what, length, position_, limit);
  const auto text = take(length, what);
  return {reinterpret_cast<const char*>(text.data()), text.size()};
}

void ByteReader::fail_as(ErrorCode code, const std::string& message) const {
  std::string record(record_kind_);
  if (record_name_) {
    record = fmt::format("{} {}", record_kind_, in_quotes(*record_name_));
  } else if (record_index_) {
    record = fmt::format("{} {}", record_kind_, *record_index_);
  }
  throw_error(code, "{}: {} at offset {}: {}", file_, record, record_position_, message);
}

}  // namespace ingle::gguf
