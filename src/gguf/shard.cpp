#include "gguf/shard.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/error.h"
#include "gguf/byte_reader.h"
#include "gguf/layout.h"

namespace ingle::gguf {
namespace {

// The smallest records there can be: they bound the counts in the header by the size of the file.
constexpr uint64_t kSmallestPair = 8 + 1 + 4 + 1;        // key of one byte, type, value of one byte
constexpr uint64_t kSmallestTensor = 8 + 1 + 4 + 4 + 8;  // name of one byte, rank 0, type, offset
constexpr uint64_t kSmallestString = 8;                  // its length
constexpr uint64_t kMaxMemoryBytes = uint64_t{1} << 30;  // decoded; the largest vocabularies need some 30 MB
constexpr uint64_t kMaxArrayElements = uint64_t{1} << 30;

// Files people take for models.
std::string_view describe_other_file(std::string_view start) {
  if (start.starts_with("vers")) return "; it may be a Git LFS pointer instead of the file it stands for";
  if (start.starts_with("PK")) return "; it may be a zip archive or a PyTorch checkpoint";
  if (start.starts_with("<")) return "; it may be a web page saved instead of the file";
  return "";
}

class ShardReader {
 public:
  ShardReader(std::span<const std::byte> bytes, std::string_view file, int shard)
      : bytes_(bytes), file_(file), shard_(shard), in_(bytes, file) {}

  Shard read() {
    read_header();
    for (uint64_t i = 0; i < pairs_; ++i) {
      in_.begin_record("key", i);
      pair_positions_.push_back(in_.position());
      read_pair();
    }
    check_keys();
    read_alignment();
    for (uint64_t i = 0; i < tensors_; ++i) {
      in_.begin_record("tensor", i);
      read_tensor();
    }
    place_tensors();
    return std::move(result_);
  }

 private:
  void read_header() {
    const auto start = bytes_.first(std::min(bytes_.size(), kMagic.size()));
    const std::string_view text(reinterpret_cast<const char*>(start.data()), start.size());
    if (text != kMagic) {
      throw_error(ErrorCode::kInvalidFile, "{}: does not look like a GGUF file (starts with {}){}", file_,
                  in_quotes(text), describe_other_file(text));
    }
    if (bytes_.size() < kHeaderBytes) {
      throw_error(ErrorCode::kInvalidFile, "{}: has {} bytes, the header of a GGUF file alone is {}", file_,
                  bytes_.size(), kHeaderBytes);
    }
    in_.take(kMagic.size(), "magic");
    const uint32_t version = in_.read<uint32_t>("version");
    check_version(version);
    result_.version = version;
    tensors_ = in_.read<uint64_t>("tensor count");
    pairs_ = in_.read<uint64_t>("key count");
    if (pairs_ > in_.remaining() / kSmallestPair) {
      in_.fail("says that {} keys follow, but the file has only {} bytes", pairs_, in_.size());
    }
    if (tensors_ > (in_.remaining() - pairs_ * kSmallestPair) / kSmallestTensor) {
      in_.fail("says that {} tensors follow, but the file has only {} bytes", tensors_, in_.size());
    }
  }

  void check_version(uint32_t version) const {
    if (version >= kOldestVersion && version <= kNewestVersion) return;
    // No flag says the byte order: a small number in the other order has its low half zero.
    if (version != 0 && (version & 0xffff) == 0) {
      throw_error(ErrorCode::kUnsupported, "{}: big-endian GGUF files are not supported", file_);
    }
    throw_error(ErrorCode::kUnsupported, "{}: GGUF version {} is not supported, only {} and {}{}", file_, version,
                kOldestVersion, kNewestVersion, version == 1 ? "; version 1 is obsolete, convert the model again" : "");
  }

  // Before memory is taken for something decoded.
  void charge(uint64_t bytes) {
    if (bytes > kMaxMemoryBytes - memory_) {
      in_.fail("keys and tensor names take more than {} MiB of memory", kMaxMemoryBytes >> 20);
    }
    memory_ += bytes;
  }

  void read_pair() {
    const std::string_view key = in_.read_string("a key", kMaxKeyBytes);
    in_.name_record(key);
    if (key.empty()) in_.fail("the key is empty");
    charge(sizeof(std::pair<std::string, GgufValue>) + sizeof(uint64_t) + key.size());
    result_.metadata.emplace_back(std::string(key), read_value());
  }

  GgufValue::Type read_type(std::string_view what) {
    const uint32_t type = in_.read<uint32_t>(what);
    if (type >= kValueTypes) in_.fail("{} {} is unknown", what, type);
    return static_cast<GgufValue::Type>(type);
  }

  GgufValue read_value() {
    GgufValue result;
    result.type = read_type("a value type");
    if (result.type == GgufValue::Type::kArray) {
      result.element_type = read_type("an element type");
      result.value = read_array(result.element_type);
    } else if (result.type == GgufValue::Type::kString) {
      result.value = read_text();
    } else {
      with_scalar_type(result.type, [&]<class T>() {
        if constexpr (std::is_same_v<T, bool>) {
          result.value = read_scalar<bool>();
        } else {
          result.value = static_cast<Widened<T>>(read_scalar<T>());
        }
      });
    }
    return result;
  }

  template <class T>
  T read_scalar() {
    if constexpr (std::is_same_v<T, bool>) {  // any other byte in a C++ bool would be undefined
      const uint8_t byte = in_.read<uint8_t>("a bool");
      if (byte > 1) in_.fail("bool byte {} at {} is neither 0 nor 1", byte, in_.position() - 1);
      return byte == 1;
    } else {
      return in_.read<T>("a value");
    }
  }

  std::string read_text() {
    const std::string_view text = in_.read_string("a string", kMaxStringBytes);
    charge(text.size());
    return std::string(text);
  }

  GgufValue::Array read_array(GgufValue::Type element_type) {
    if (element_type == GgufValue::Type::kArray) {
      in_.fail_as(ErrorCode::kUnsupported, "arrays of arrays are not supported");
    }
    const bool is_text = element_type == GgufValue::Type::kString;
    const uint64_t element_bytes = is_text ? kSmallestString : scalar_bytes(element_type);
    const uint64_t count = in_.read<uint64_t>("an array length");
    if (count > kMaxArrayElements || count > in_.remaining() / element_bytes) {
      in_.fail("array of {} x {} at {}, but the file ends at {}", count, type_name(element_type), in_.position(),
               in_.size());
    }
    if (is_text) return read_texts(count);
    charge(count * sizeof(uint64_t));
    return with_scalar_type(element_type, [&]<class T>() -> GgufValue::Array {
      std::vector<Widened<T>> elements(count);  // the bytes are there: checked above
      for (auto& element : elements) element = read_scalar<T>();
      return elements;
    });
  }

  std::vector<std::string> read_texts(uint64_t count) {
    std::vector<std::string> texts;
    for (uint64_t i = 0; i < count; ++i) {
      charge(sizeof(std::string));
      texts.push_back(read_text());
    }
    return texts;
  }

  void check_keys() {
    const std::span<const std::pair<std::string, GgufValue>> metadata = result_.metadata;
    result_.metadata_order = sort_by_name(metadata);
    if (const auto twice = find_duplicate(metadata, result_.metadata_order)) {
      throw_error(ErrorCode::kInvalidFile, "{}: key {} is there twice, at offsets {} and {}", file_,
                  in_quotes(metadata[twice->first].first), pair_positions_[twice->first],
                  pair_positions_[twice->second]);
    }
  }

  void read_alignment() {
    result_.alignment = kDefaultAlignment;
    const std::span<const std::pair<std::string, GgufValue>> metadata = result_.metadata;
    const auto* record = find_by_name(metadata, result_.metadata_order, kAlignmentKey);
    if (record == nullptr) return;
    const uint64_t position = pair_positions_[static_cast<size_t>(record - metadata.data())];
    if (record->second.type != GgufValue::Type::kU32) {
      throw_error(ErrorCode::kInvalidFile, "{}: key '{}' at offset {}: is {}, it must be u32", file_, kAlignmentKey,
                  position, describe_type(record->second));
    }
    result_.alignment = std::get<uint64_t>(record->second.value);
    if (!is_valid_alignment(result_.alignment)) {
      throw_error(ErrorCode::kInvalidFile, "{}: key '{}' at offset {}: is {}, it must be a power of two from {} on",
                  file_, kAlignmentKey, position, result_.alignment, kSmallestAlignment);
    }
  }

  void read_tensor() {
    const std::string_view name = in_.read_string("a tensor name", kMaxTensorNameBytes);
    in_.name_record(name);
    if (name.empty()) in_.fail("the name is empty");
    charge(sizeof(GgufTensor) + name.size());
    GgufTensor tensor{.name = std::string(name), .view = {}, .shard = shard_, .file_offset = 0};

    const uint32_t rank = in_.read<uint32_t>("the number of dimensions");
    if (rank > kMaxRank) in_.fail("{} dimensions, at most {} are allowed", rank, kMaxRank);
    tensor.view.shape.rank = static_cast<int>(rank);
    for (uint32_t i = rank; i-- > 0;)
      tensor.view.shape.extent[i] = in_.read<int64_t>("a dimension");  // innermost first

    const uint32_t type = in_.read<uint32_t>("a tensor type");
    const Format* format = find_format(static_cast<DType>(type));
    if (format == nullptr) {
      in_.fail_as(ErrorCode::kUnsupported, fmt::format("tensor type {}: {}", type, describe_unknown_type(type)));
    }
    tensor.view.type = format->type;
    const TensorExtent extent = tensor_extent(tensor.view.shape, *format);
    if (!extent.problem.empty()) in_.fail("{}", extent.problem);
    if (extent.bytes > in_.size()) in_.fail("has {} bytes, the file only {}", extent.bytes, in_.size());

    // Tensors follow one another without gaps: then none overlap, and each byte is counted once.
    tensor.file_offset = in_.read<uint64_t>("a data offset");
    if (tensor.file_offset % result_.alignment != 0) {
      in_.fail("data offset {} is not a multiple of {}", tensor.file_offset, result_.alignment);
    }
    if (tensor.file_offset != next_offset_) {
      in_.fail("data offset {} does not follow the tensor before it, which ends at {}", tensor.file_offset,
               next_offset_);
    }
    if (next_offset_ > in_.size()) in_.fail("data starts at {} or later, file has {} bytes", next_offset_, in_.size());
    next_offset_ = align_up(next_offset_ + extent.bytes, result_.alignment);
    result_.tensors.push_back(std::move(tensor));
  }

  // Where the data starts is known only after the last record. Without tensors there is no data, and no padding either.
  void place_tensors() {
    const uint64_t data_start = align_up(in_.position(), result_.alignment);
    for (GgufTensor& tensor : result_.tensors) {
      tensor.file_offset += data_start;
      const uint64_t bytes = tensor.view.bytes();
      if (tensor.file_offset + bytes > bytes_.size()) {
        throw_error(ErrorCode::kInvalidFile, "{}: tensor {} at offset {}: ends at {}, file has {} bytes", file_,
                    in_quotes(tensor.name), tensor.file_offset, tensor.file_offset + bytes, bytes_.size());
      }
      tensor.view.data = bytes_.data() + tensor.file_offset;
    }
  }

  std::span<const std::byte> bytes_;
  std::string_view file_;
  int shard_;
  ByteReader in_;
  uint64_t pairs_ = 0;
  uint64_t tensors_ = 0;
  uint64_t memory_ = 0;
  uint64_t next_offset_ = 0;  // where the next tensor must start, counted from the first
  std::vector<uint64_t> pair_positions_;
  Shard result_;
};

}  // namespace

Shard read_shard(std::span<const std::byte> bytes, std::string_view file, int shard) {
  return ShardReader(bytes, file, shard).read();
}

}  // namespace ingle::gguf
