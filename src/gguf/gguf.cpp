// Opening a container: one mapping and one checked Shard a file, joined into one list of keys and one of tensors.
#include "gguf/gguf.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <new>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/mapped_file.h"
#include "gguf/generated.h"
#include "gguf/layout.h"
#include "gguf/name_index.h"
#include "gguf/shard.h"
#include "gguf/split.h"

namespace ingle {

struct GgufFile::State {
  std::string path;
  uint32_t version = 0;
  uint64_t alignment = 0;
  uint64_t file_bytes = 0;
  std::vector<MappedFile> mappings;                // one a shard; none for bytes in memory
  std::unique_ptr<gguf::GeneratedData> generated;  // instead, for a file that is made
  std::vector<std::pair<std::string, GgufValue>> metadata;
  gguf::NameIndex metadata_order;
  std::vector<GgufTensor> tensors;
  gguf::NameIndex tensor_order;
  int64_t parameter_count = 0;

  std::pair<const MappedFile*, size_t> place_of(const ConstTensorView& view) const noexcept;
  static std::unique_ptr<State> read(std::span<const std::byte> bytes, std::string_view name, int shard_no) {
    gguf::Shard shard = gguf::read_shard(bytes, name, shard_no);
    auto state = std::make_unique<State>();
    state->path = name;
    state->version = shard.version;
    state->alignment = shard.alignment;
    state->file_bytes = bytes.size();
    state->metadata = std::move(shard.metadata);
    state->metadata_order = std::move(shard.metadata_order);
    state->tensors = std::move(shard.tensors);
    return state;
  }

  static std::unique_ptr<State> open(const std::filesystem::path& path, int shard_no) {
    MappedFile mapping = MappedFile::open(path);
    auto state = read(mapping.bytes(), path.native(), shard_no);
    state->mappings.push_back(std::move(mapping));
    return state;
  }

  // Another shard's tensors; its keys say nothing about the model.
  void append(State&& shard) {
    file_bytes += shard.file_bytes;
    std::move(shard.mappings.begin(), shard.mappings.end(), std::back_inserter(mappings));
    std::move(shard.tensors.begin(), shard.tensors.end(), std::back_inserter(tensors));
  }

  void index_tensors() {
    const std::span<const GgufTensor> all = tensors;
    tensor_order = gguf::sort_by_name(all);
    if (const auto twice = gguf::find_duplicate(all, tensor_order)) {
      const GgufTensor& first = all[twice->first];
      const GgufTensor& second = all[twice->second];
      throw_error(ErrorCode::kInvalidFile, "{}: tensor {} is there twice, at offset {} of shard {} and {} of shard {}",
                  path, gguf::in_quotes(first.name), first.file_offset, first.shard + 1, second.file_offset,
                  second.shard + 1);
    }
    // Every element takes file bytes that no other does, so the sum cannot overflow.
    for (const GgufTensor& tensor : tensors) parameter_count += tensor.view.shape.elements();
  }
};

namespace {

using gguf::kSplitCountKey;
using gguf::kSplitNoKey;
using gguf::kSplitTensorsKey;

// What a shard says about the whole.
struct SplitKeys {
  int64_t no = 0;
  int64_t count = 0;
  int64_t tensors = 0;
};

// nullopt when the file is whole.
std::optional<SplitKeys> read_split_keys(const GgufFile& file) {
  const std::optional<int64_t> count = file.find_int(kSplitCountKey);
  if (!count || *count == 0 || *count == 1) return std::nullopt;
  if (*count < 0 || *count > gguf::kMaxShards) {
    throw_error(ErrorCode::kInvalidFile, "{}: key '{}' is {}, it must be from 0 to {}", file.path(), kSplitCountKey,
                *count, gguf::kMaxShards);
  }
  const int64_t no = file.get_int(kSplitNoKey);
  if (no < 0 || no >= *count) {
    throw_error(ErrorCode::kInvalidFile, "{}: key '{}' is {}, it must be from 0 to {}", file.path(), kSplitNoKey, no,
                *count - 1);
  }
  return SplitKeys{no, *count, file.get_int(kSplitTensorsKey)};
}

// The path given must be the first shard, under the name that leads to the others.
gguf::ShardName check_first_shard(const std::filesystem::path& path, const SplitKeys& keys) {
  const std::optional<gguf::ShardName> name = gguf::parse_shard_name(path);
  if (keys.no != 0) {
    const auto first = name ? gguf::shard_path(name->prefix, 1, keys.count).native() : "the first one";
    if (first == path.native()) {
      throw_error(ErrorCode::kInvalidFile,
                  "{}: is shard {} of {} (key '{}' is {}) under the name of the first; rename it", path.native(),
                  keys.no + 1, keys.count, kSplitNoKey, keys.no);
    }
    throw_error(ErrorCode::kInvalidFile, "{}: is shard {} of {}; open {} instead", path.native(), keys.no + 1,
                keys.count, first);
  }
  if (!name || name->number != 1 || name->count != keys.count) {
    throw_error(ErrorCode::kInvalidFile,
                "{}: is the first of {} shards, but its name does not end in {}, so the others cannot be found",
                path.native(), keys.count, gguf::shard_path("", 1, keys.count).native());
  }
  return *name;
}

void check_sibling(const GgufFile& shard, int64_t no, const SplitKeys& first) {
  const std::optional<SplitKeys> keys = read_split_keys(shard);
  if (!keys) throw_error(ErrorCode::kInvalidFile, "{}: is a whole model, not shard {}", shard.path(), no + 1);
  const auto check = [&](std::string_view key, int64_t actual, int64_t expected) {
    if (actual == expected) return;
    throw_error(ErrorCode::kInvalidFile, "{}: key '{}' is {}, it must be {} in this shard", shard.path(), key, actual,
                expected);
  };
  check(kSplitCountKey, keys->count, first.count);
  check(kSplitNoKey, keys->no, no);
  check(kSplitTensorsKey, keys->tensors, first.tensors);
}

template <class Read>
GgufFile report_bad_alloc(std::string_view name, Read read) {
  try {
    return read();
  } catch (const std::bad_alloc&) {
    throw_error(ErrorCode::kOutOfMemory, "{}: not enough memory for its keys and tensor names", name);
  }
}

}  // namespace

GgufFile GgufFile::open(const std::filesystem::path& path) {
  return report_bad_alloc(path.native(), [&] {
    GgufFile whole(State::open(path, 0));
    if (const std::optional<SplitKeys> keys = read_split_keys(whole)) {
      const gguf::ShardName name = check_first_shard(path, *keys);
      for (int64_t no = 1; no < keys->count; ++no) {
        const std::filesystem::path sibling = gguf::shard_path(name.prefix, no + 1, keys->count);
        std::error_code ignored;  // whatever it is, opening will say it
        if (!std::filesystem::exists(sibling, ignored)) {
          throw_error(ErrorCode::kNotFound, "{}: no such file; it is shard {} of {} of {}", sibling.native(), no + 1,
                      keys->count, path.native());
        }
        GgufFile shard(State::open(sibling, static_cast<int>(no)));
        check_sibling(shard, no, *keys);
        whole.state_->append(std::move(*shard.state_));
      }
      if (static_cast<int64_t>(whole.tensors().size()) != keys->tensors) {
        throw_error(ErrorCode::kInvalidFile, "{}: key '{}' is {}, but the {} shards have {} tensors", path.native(),
                    kSplitTensorsKey, keys->tensors, keys->count, whole.tensors().size());
      }
    }
    whole.state_->index_tensors();
    return whole;
  });
}

GgufFile GgufFile::parse(std::span<const std::byte> bytes, std::string_view name) {
  return report_bad_alloc(name, [&] {
    GgufFile file(State::read(bytes, name, 0));
    if (const std::optional<SplitKeys> keys = read_split_keys(file)) {
      throw_error(ErrorCode::kUnsupported, "{}: is one of {} shards, which can only be opened from files", name,
                  keys->count);
    }
    file.state_->index_tensors();
    return file;
  });
}

GgufFile GgufFile::generate(GgufRecipe recipe) {
  auto state = std::make_unique<State>();
  state->path = std::move(recipe.name);
  state->version = gguf::kNewestVersion;
  state->alignment = gguf::kDefaultAlignment;
  std::vector<gguf::GeneratedData::Part> parts;
  uint64_t end = 0;
  for (GgufRecipe::Tensor& tensor : recipe.tensors) {
    const gguf::TensorExtent extent = gguf::tensor_extent(tensor.shape, format_of(tensor.type));
    if (!extent.problem.empty())
      throw_error(ErrorCode::kInvalidArgument, "{}: tensor {}: {}", state->path, tensor.name, extent.problem);
    parts.push_back({.offset = end, .bytes = extent.bytes, .lasting = tensor.lasting});
    state->tensors.push_back({std::move(tensor.name), {nullptr, tensor.type, tensor.shape}, 0, end});
    end = gguf::align_up(end + extent.bytes, state->alignment);
  }
  state->file_bytes = end;
  state->metadata = std::move(recipe.metadata);
  const std::span<const std::pair<std::string, GgufValue>> keys = state->metadata;
  state->metadata_order = gguf::sort_by_name(keys);
  if (const auto twice = gguf::find_duplicate(keys, state->metadata_order))
    throw_error(ErrorCode::kInvalidArgument, "{}: key '{}' is there twice", state->path, keys[twice->first].first);
  state->generated = std::make_unique<gguf::GeneratedData>(end, std::move(parts), std::move(recipe.fill));
  for (GgufTensor& tensor : state->tensors) tensor.view.data = state->generated->at(tensor.file_offset);
  GgufFile file(std::move(state));
  file.state_->index_tensors();
  return file;
}

GgufFile::GgufFile(std::unique_ptr<State> state) : state_(std::move(state)) {}
GgufFile::GgufFile(GgufFile&&) noexcept = default;
GgufFile& GgufFile::operator=(GgufFile&&) noexcept = default;
GgufFile::~GgufFile() = default;

const std::string& GgufFile::path() const noexcept { return state_->path; }
uint32_t GgufFile::version() const noexcept { return state_->version; }
uint64_t GgufFile::file_bytes() const noexcept { return state_->file_bytes; }
uint64_t GgufFile::alignment() const noexcept { return state_->alignment; }

std::span<const std::pair<std::string, GgufValue>> GgufFile::metadata() const noexcept { return state_->metadata; }

const GgufValue* GgufFile::find_value(std::string_view key) const noexcept {
  const auto* record = gguf::find_by_name(metadata(), state_->metadata_order, key);
  return record == nullptr ? nullptr : &record->second;
}

std::span<const GgufTensor> GgufFile::tensors() const noexcept { return state_->tensors; }

std::optional<ConstTensorView> GgufFile::find(std::string_view name) const noexcept {
  const GgufTensor* tensor = gguf::find_by_name(tensors(), state_->tensor_order, name);
  if (tensor == nullptr) return std::nullopt;
  if (state_->generated) state_->generated->fill(static_cast<size_t>(tensor - state_->tensors.data()));
  return tensor->view;
}

int64_t GgufFile::parameter_count() const noexcept { return state_->parameter_count; }

// The mapping that a view points into, and where in it.
std::pair<const MappedFile*, size_t> GgufFile::State::place_of(const ConstTensorView& view) const noexcept {
  const std::less_equal<const std::byte*> not_after;  // also orders pointers into different mappings
  for (const MappedFile& mapping : mappings) {
    const std::span<const std::byte> bytes = mapping.bytes();
    if (not_after(bytes.data(), view.data) && not_after(view.data, bytes.data() + bytes.size() - 1))
      return {&mapping, static_cast<size_t>(view.data - bytes.data())};
  }
  return {nullptr, 0};
}

std::span<const std::byte> GgufFile::mapped_from(const ConstTensorView& view) const noexcept {
  const auto [mapping, offset] = state_->place_of(view);
  return mapping == nullptr ? std::span<const std::byte>() : mapping->bytes().subspan(offset);
}

void GgufFile::drop(const ConstTensorView& view) const noexcept {
  if (state_->generated) return state_->generated->drop(view.data, view.bytes());
  if (const auto [mapping, offset] = state_->place_of(view); mapping != nullptr) mapping->drop(offset, view.bytes());
}

void GgufFile::read_row_by_row(const ConstTensorView& view) const noexcept {
  if (const auto [mapping, offset] = state_->place_of(view); mapping != nullptr) {
    mapping->drop(offset, view.bytes());
    mapping->read_alone(offset, view.bytes());
  }
}

}  // namespace ingle
