#include "runtime/synthetic.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <system_error>
#include <thread>

#include "base/error.h"
#include "gguf/writer.h"
#include "ingle/synthetic.h"
#include "models/type_mix.h"
#include "runtime/file_types.h"
#include "runtime/inspect.h"
#include "runtime/model_impl.h"
#include "runtime/random_weights.h"

namespace ingle {
namespace {

// Of most matrices; the mix of that name is put into `mix`, nullptr where all have the same type.
const Format& checked_format(const std::string& name, const TypeMix*& mix) {
  mix = find_type_mix(lower_case(name));
  const Format* format = mix != nullptr ? &format_of(mix->most) : find_format(name);
  if (format == nullptr || !can_be_random(*format)) {
    throw_error(ErrorCode::kInvalidArgument, "weights of type '{}' cannot be made; known are {}", name,
                fmt::join(synthetic_types(), ", "));
  }
  return *format;
}

int all_threads() { return std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, 64); }

}  // namespace

SyntheticWeights::SyntheticWeights(const SyntheticOptions& options, bool with_vocabulary, int threads)
    : shape_(make_shape(options.shape, with_vocabulary)), seed_(options.seed) {
  const TypeMix* mix = nullptr;
  const Format& format = checked_format(options.type, mix);
  name_ =
      fmt::format("{}, {}, seed {}", options.shape, lower_case(mix != nullptr ? mix->name : format.name), options.seed);
  if (mix != nullptr) {
    types_ = mixed_types(shape_, *mix);
  } else {
    for (const ShapeTensor& tensor : shape_.tensors) types_.push_back(storage_type(tensor, format.type));
  }
  shape_.metadata.emplace_back("general.file_type",
                               gguf_value<uint32_t>(mix != nullptr ? mix->file_type : file_type_number(format.type)));
  if (threads > 0) pool_ = std::make_unique<ThreadPool>(threads);
}

uint64_t SyntheticWeights::bytes(size_t tensor) const {
  const Shape& shape = shape_.tensors[tensor].shape;
  return format_of(types_[tensor]).row_bytes(shape.columns()) * static_cast<uint64_t>(shape.rows());
}

uint64_t SyntheticWeights::total_bytes() const {
  uint64_t sum = 0;
  for (size_t i = 0; i < types_.size(); ++i) sum += bytes(i);
  return sum;
}

void SyntheticWeights::fill(size_t tensor, int64_t first_row, std::span<std::byte> bytes) const {
  const ShapeTensor& t = shape_.tensors[tensor];
  if (!t.values.empty()) {
    std::memcpy(bytes.data(), t.values.data(), bytes.size());
    return;
  }
  const Format& format = format_of(types_[tensor]);
  const RandomTensor random(seed_, t.name, format, t.shape.columns(), {t.mean, t.deviation});
  const size_t row_bytes = format.row_bytes(t.shape.columns());
  const auto rows = static_cast<int64_t>(bytes.size() / row_bytes);
  TaskCounter tasks(rows, std::max<int64_t>(1, (int64_t{256} << 10) / static_cast<int64_t>(row_bytes)));
  pool_->run([&](int) {
    int64_t begin, end;
    while (tasks.next(begin, end))
      random.fill(first_row + begin, end - begin, bytes.data() + static_cast<size_t>(begin) * row_bytes);
  });
}

GgufFile make_synthetic_file(const SyntheticOptions& options, SyntheticContents contents, int threads) {
  const bool filled = contents == SyntheticContents::kWeights;
  // Shared, since a std::function is copied.
  const auto weights = std::make_shared<SyntheticWeights>(options, true, filled ? threads : 0);
  GgufRecipe recipe;
  recipe.name = weights->name();
  recipe.metadata = weights->shape().metadata;
  for (size_t i = 0; i < weights->shape().tensors.size(); ++i) {
    const ShapeTensor& t = weights->shape().tensors[i];
    recipe.tensors.push_back({t.name, weights->type(i), t.shape, t.table});
  }
  if (filled) {
    recipe.fill = [weights](size_t tensor, std::span<std::byte> bytes) { weights->fill(tensor, 0, bytes); };
  }
  return GgufFile::generate(std::move(recipe));
}

std::vector<SyntheticShape> synthetic_shapes() {
  std::vector<SyntheticShape> shapes;
  for (const std::string_view name : shape_names()) {
    const ModelShape shape = make_shape(name, false);
    shapes.push_back(
        {std::string(name), std::string(shape.architecture), std::string(shape.description), shape.parameters()});
  }
  return shapes;
}

std::vector<std::string> synthetic_types() {
  std::vector<std::string> names;
  for (const Format& format : formats())
    if (can_be_random(format)) names.push_back(lower_case(format.name));
  for (const TypeMix& mix : type_mixes())
    if (std::ranges::count(names, mix.name) == 0) names.emplace_back(mix.name);
  return names;
}

uint64_t synthetic_bytes(const SyntheticOptions& synthetic) {
  return SyntheticWeights(synthetic, false, 0).total_bytes();
}

Model open_synthetic(Engine& engine, const SyntheticOptions& synthetic, ModelOptions options) {
  const uint64_t bytes = synthetic_bytes(synthetic);
  const uint64_t memory = Engine::machine().memory_bytes;
  if (bytes > memory) {
    throw_error(ErrorCode::kOutOfMemory, "{}: its weights take {} bytes, this machine has {} bytes of memory",
                synthetic.shape, bytes, memory);
  }
  try {
    return Model(std::make_unique<Model::Impl>(
        engine, make_synthetic_file(synthetic, SyntheticContents::kWeights, engine.threads()), options));
  } catch (const std::bad_alloc&) {
    throw_error(ErrorCode::kOutOfMemory, "{}: not enough memory to make it", synthetic.shape);
  }
}

uint64_t write_synthetic(const std::filesystem::path& path, const SyntheticOptions& synthetic,
                         const std::function<bool(double fraction)>& progress) {
  const SyntheticWeights weights(synthetic, true, all_threads());
  const uint64_t total = weights.total_bytes();
  std::error_code ignored;  // whatever it is, writing will say it
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  const std::filesystem::space_info space = std::filesystem::space(folder, ignored);
  if (!ignored && space.available < total) {
    throw_error(ErrorCode::kIo, "{}: takes {} bytes, and there are {} free", path.native(), total,
                static_cast<uint64_t>(space.available));
  }

  GgufWriter writer(path);
  for (const auto& [key, value] : weights.shape().metadata) writer.set(key, value);
  uint64_t done = 0;
  std::vector<std::byte> buffer;
  for (size_t i = 0; i < weights.shape().tensors.size(); ++i) {
    const ShapeTensor& t = weights.shape().tensors[i];
    writer.add_tensor(t.name, weights.type(i), t.shape, [&, i, rows = t.shape.rows()](const GgufWriter::Sink& write) {
      constexpr uint64_t kPiece = uint64_t{8} << 20;
      const uint64_t row_bytes = weights.bytes(i) / static_cast<uint64_t>(rows);
      const auto piece_rows = static_cast<int64_t>(std::max<uint64_t>(1, kPiece / row_bytes));
      for (int64_t row = 0; row < rows; row += piece_rows) {
        buffer.resize(row_bytes * static_cast<uint64_t>(std::min(piece_rows, rows - row)));
        weights.fill(i, row, buffer);
        write(buffer);
        done += buffer.size();
        if (progress && !progress(static_cast<double>(done) / static_cast<double>(total)))
          throw_error(ErrorCode::kCancelled, "{}: writing was cancelled", path.native());
      }
    });
  }
  writer.finish();
  return std::filesystem::file_size(path);
}

FileInfo inspect_synthetic(const SyntheticOptions& synthetic) {
  return describe_file(make_synthetic_file(synthetic, SyntheticContents::kDescription, 1));
}

std::vector<MemoryUse> plan_synthetic(Engine& engine, const SyntheticOptions& synthetic,
                                      const SessionOptions& options) {
  return plan_file(engine, make_synthetic_file(synthetic, SyntheticContents::kDescription, 1), options);
}

}  // namespace ingle
