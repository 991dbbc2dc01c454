#include "gguf/writer.h"

#include <cstring>
#include <system_error>

#include "base/error.h"
#include "gguf/atomic_file.h"
#include "gguf/layout.h"
#include "gguf/split.h"
#include "ingle/input_files.h"

namespace ingle {
namespace {

using gguf::in_quotes;

bool is_set_by_writer(std::string_view key) {
  return key == gguf::kAlignmentKey || key == gguf::kSplitNoKey || key == gguf::kSplitCountKey ||
         key == gguf::kSplitTensorsKey;
}

template <class T>
void append(std::string& out, T value) {
  const size_t size = out.size();
  out.resize(size + sizeof(T));
  std::memcpy(out.data() + size, &value, sizeof(T));
}

void append_text(std::string& out, std::string_view text) {
  append<uint64_t>(out, text.size());
  out += text;
}

// Turns one value into the bytes after its key.
class ValueEncoder {
 public:
  ValueEncoder(std::string_view key, const GgufValue& value) : key_(key), value_(value) {}

  std::string encode() {
    append(out_, static_cast<uint32_t>(value_.type));
    if (value_.type == GgufValue::Type::kArray) {
      encode_array();
    } else if (value_.type == GgufValue::Type::kString) {
      append_text(out_, std::get<std::string>(value_.value));
    } else {
      gguf::with_scalar_type(value_.type, [&]<class T>() {
        if constexpr (std::is_same_v<T, bool>) {
          append_scalar<bool>(std::get<bool>(value_.value) ? 1 : 0);
        } else {
          append_scalar<T>(std::get<gguf::Widened<T>>(value_.value));
        }
      });
    }
    return std::move(out_);
  }

 private:
  template <class T>
  void append_scalar(gguf::Widened<T> wide) {
    using Stored = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;
    const Stored stored = static_cast<Stored>(wide);
    if constexpr (!std::is_floating_point_v<T>) {
      if (stored != wide || (std::is_same_v<T, bool> && wide > 1)) {
        throw_error(ErrorCode::kInvalidArgument, "key {}: {} does not fit into {}", in_quotes(key_), wide,
                    gguf::type_name(gguf::type_of<T>()));
      }
    }
    append(out_, stored);
  }

  void encode_array() {
    const auto& array = std::get<GgufValue::Array>(value_.value);
    append(out_, static_cast<uint32_t>(value_.element_type));
    append<uint64_t>(out_, std::visit([](const auto& elements) { return elements.size(); }, array));
    if (value_.element_type == GgufValue::Type::kString) {
      for (const std::string& text : std::get<std::vector<std::string>>(array)) append_text(out_, text);
    } else {
      gguf::with_scalar_type(value_.element_type, [&]<class T>() {
        for (const auto element : std::get<std::vector<gguf::Widened<T>>>(array)) append_scalar<T>(element);
      });
    }
  }

  std::string_view key_;
  const GgufValue& value_;
  std::string out_;
};

// Writes `tensor` through its source and checks that it gave what it promised.
template <class Tensor>
void write_tensor(gguf::AtomicFile& file, const Tensor& tensor, uint32_t alignment) {
  const uint64_t start = file.written();
  tensor.source([&](std::span<const std::byte> bytes) {
    if (bytes.size() > tensor.bytes - (file.written() - start)) {
      throw_error(ErrorCode::kInvalidArgument, "tensor {}: its source gave more than its {} bytes",
                  in_quotes(tensor.name), tensor.bytes);
    }
    file.write(bytes);
  });
  if (file.written() - start != tensor.bytes) {
    throw_error(ErrorCode::kInvalidArgument, "tensor {}: its source gave {} bytes of {}", in_quotes(tensor.name),
                file.written() - start, tensor.bytes);
  }
  file.write_zeros(gguf::align_up(file.written(), alignment) - file.written());
}

// All or none: when one fails, what the others replaced is there again.
void commit_all(std::vector<gguf::AtomicFile>& files) {
  try {
    if (files.size() > 1) {
      for (gguf::AtomicFile& file : files) file.keep_old();
    }
    for (gguf::AtomicFile& file : files) file.commit();
  } catch (const Error&) {
    for (gguf::AtomicFile& file : files) file.take_back();
    throw;
  }
}

std::vector<std::filesystem::path> name_shards(const std::filesystem::path& target, size_t count) {
  if (count == 1) return {target};
  std::filesystem::path prefix = target;
  if (const auto name = gguf::parse_shard_name(target)) {
    prefix = name->prefix;
  } else if (target.extension() == ".gguf") {
    prefix.replace_extension();
  }
  std::vector<std::filesystem::path> paths;
  for (size_t i = 1; i <= count; ++i) {
    paths.push_back(gguf::shard_path(prefix, static_cast<int64_t>(i), static_cast<int64_t>(count)));
  }
  return paths;
}

}  // namespace

GgufWriter::GgufWriter(std::filesystem::path target, GgufWriteOptions options)
    : target_(std::move(target)), options_(std::move(options)) {
  if (!gguf::is_valid_alignment(options_.alignment)) {
    throw_error(ErrorCode::kInvalidArgument, "alignment {}: must be a power of two from {} on", options_.alignment,
                gguf::kSmallestAlignment);
  }
}

void GgufWriter::set(std::string_view key, const GgufValue& value) {
  if (key.empty() || key.size() > gguf::kMaxKeyBytes) {
    throw_error(ErrorCode::kInvalidArgument, "key {}: must have from 1 to {} bytes", in_quotes(key),
                gguf::kMaxKeyBytes);
  }
  if (is_set_by_writer(key)) throw_error(ErrorCode::kInvalidArgument, "key {}: is set by the writer", in_quotes(key));
  if (value.type == GgufValue::Type::kArray && value.element_type == GgufValue::Type::kArray) {
    throw_error(ErrorCode::kInvalidArgument, "key {}: arrays of arrays are not supported", in_quotes(key));
  }
  std::string encoded = ValueEncoder(key, value).encode();
  const auto [position, is_new] = key_positions_.try_emplace(std::string(key), keys_.size());
  if (is_new) {
    keys_.emplace_back(key, std::move(encoded));
  } else {
    keys_[position->second].second = std::move(encoded);
  }
}

void GgufWriter::copy_metadata(const GgufFile& source) {
  for (const auto& [key, value] : source.metadata()) {
    if (!is_set_by_writer(key)) set(key, value);
  }
}

void GgufWriter::add_tensor(std::string_view name, DType type, const Shape& shape, std::span<const std::byte> bytes) {
  add_tensor(name, type, shape, [bytes](const Sink& write) { write(bytes); });
  if (bytes.size() != tensors_.back().bytes) {
    const uint64_t expected = tensors_.back().bytes;
    tensor_names_.erase(tensors_.back().name);
    tensors_.pop_back();
    throw_error(ErrorCode::kInvalidArgument, "tensor {}: {} bytes given, {} {} has {}", in_quotes(name), bytes.size(),
                to_string(shape), format_of(type).name, expected);
  }
}

void GgufWriter::add_tensor(std::string_view name, DType type, const Shape& shape, Source source) {
  if (name.empty() || name.size() > gguf::kMaxTensorNameBytes) {
    throw_error(ErrorCode::kInvalidArgument, "tensor {}: a name must have from 1 to {} bytes", in_quotes(name),
                gguf::kMaxTensorNameBytes);
  }
  const Format* format = find_format(type);
  if (format == nullptr) {
    throw_error(ErrorCode::kInvalidArgument, "tensor {}: unknown type {}", in_quotes(name),
                static_cast<uint32_t>(type));
  }
  const gguf::TensorExtent extent = gguf::tensor_extent(shape, *format);
  if (!extent.problem.empty()) {
    throw_error(ErrorCode::kInvalidArgument, "tensor {}: {}", in_quotes(name), extent.problem);
  }
  if (!tensor_names_.emplace(name).second) {
    throw_error(ErrorCode::kInvalidArgument, "tensor {}: was added before", in_quotes(name));
  }
  tensors_.push_back({std::string(name), type, shape, extent.bytes, std::move(source)});
}

// Tensors keep their order, so each shard is a run of them.
std::vector<std::span<const GgufWriter::Tensor>> GgufWriter::plan_shards() const {
  const bool is_limited = options_.max_shard_tensors > 0 || options_.max_shard_bytes > 0;
  const std::span<const Tensor> all = tensors_;
  if (!is_limited || all.empty()) return {all};
  std::vector<std::span<const Tensor>> shards;
  if (options_.metadata_in_its_own_shard) shards.push_back(all.first(0));
  size_t first = 0;
  uint64_t bytes = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    const uint64_t padded = gguf::align_up(all[i].bytes, options_.alignment);
    const bool too_many = options_.max_shard_tensors > 0 && i - first >= options_.max_shard_tensors;
    const bool too_large = options_.max_shard_bytes > 0 && i > first &&
                           (bytes > options_.max_shard_bytes || padded > options_.max_shard_bytes - bytes);
    if (too_many || too_large) {
      shards.push_back(all.subspan(first, i - first));
      first = i;
      bytes = 0;
    }
    bytes += padded;
  }
  shards.push_back(all.subspan(first));
  return shards;
}

std::vector<GgufWriter::Record> GgufWriter::shard_keys(size_t no, size_t count) const {
  std::vector<Record> keys;
  if (no == 0) keys = keys_;
  const auto add = [&](std::string_view key, const GgufValue& value) {
    keys.emplace_back(key, ValueEncoder(key, value).encode());
  };
  if (options_.alignment != gguf::kDefaultAlignment) add(gguf::kAlignmentKey, gguf_value<uint32_t>(options_.alignment));
  if (count > 1) {
    add(gguf::kSplitNoKey, gguf_value<uint16_t>(static_cast<uint16_t>(no)));
    add(gguf::kSplitCountKey, gguf_value<uint16_t>(static_cast<uint16_t>(count)));
    add(gguf::kSplitTensorsKey, gguf_value<int32_t>(static_cast<int32_t>(tensors_.size())));
  }
  return keys;
}

std::string GgufWriter::encode_header(std::span<const Record> keys, std::span<const Tensor> tensors) const {
  std::string out(gguf::kMagic);
  append(out, gguf::kNewestVersion);
  append<uint64_t>(out, tensors.size());
  append<uint64_t>(out, keys.size());
  for (const auto& [key, encoded] : keys) {
    append_text(out, key);
    out += encoded;
  }
  uint64_t offset = 0;
  for (const Tensor& tensor : tensors) {
    append_text(out, tensor.name);
    append<uint32_t>(out, static_cast<uint32_t>(tensor.shape.rank));
    for (int i = tensor.shape.rank; i-- > 0;) append<int64_t>(out, tensor.shape[i]);  // innermost first
    append(out, static_cast<uint32_t>(tensor.type));
    append(out, offset);
    offset = gguf::align_up(offset + tensor.bytes, options_.alignment);
  }
  if (!tensors.empty()) out.resize(gguf::align_up(out.size(), options_.alignment), '\0');
  return out;
}

std::vector<std::filesystem::path> GgufWriter::finish() {
  INGLE_CHECK(!finished_);
  finished_ = true;
  const std::vector<std::span<const Tensor>> shards = plan_shards();
  if (shards.size() > static_cast<size_t>(gguf::kMaxShards)) {
    throw_error(ErrorCode::kInvalidArgument, "{}: {} shards, at most {} are allowed", target_.native(), shards.size(),
                gguf::kMaxShards);
  }
  const std::vector<std::filesystem::path> paths = name_shards(target_, shards.size());
  for (const std::filesystem::path& path : paths) refuse_to_replace(path, options_.keep);
  std::vector<gguf::AtomicFile> files;
  for (size_t i = 0; i < shards.size(); ++i) {
    gguf::AtomicFile& file = files.emplace_back(paths[i]);
    const std::string header = encode_header(shard_keys(i, shards.size()), shards[i]);
    file.write(std::as_bytes(std::span(header)));
    for (const Tensor& tensor : shards[i]) write_tensor(file, tensor, options_.alignment);
    file.close();
  }
  commit_all(files);
  return paths;
}

}  // namespace ingle
