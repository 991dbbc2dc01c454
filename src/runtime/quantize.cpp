#include "ingle/quantize.h"

#include <algorithm>

#include "base/error.h"
#include "gguf/gguf.h"
#include "gguf/writer.h"
#include "ingle/input_files.h"
#include "models/file_kind.h"
#include "runtime/file_types.h"
#include "runtime/importance.h"
#include "text/file_regex.h"

namespace ingle {
namespace {

// What is small, and where few bits cost much.
bool stays_as_it_is(const GgufTensor& tensor) {
  const std::string& name = tensor.name;
  if (tensor.view.shape.rank < 2 || !name.ends_with(".weight")) return true;
  for (const char* part : {"_norm.", "ffn_gate_inp", "altup_", "conv1d", "rope_", "token_types", "position_embd"})
    if (name.find(part) != name.npos) return true;
  return false;
}

bool suffers_from_few_bits(const std::string& name) {
  for (const char* part : {".inp_gate.", ".proj.", ".laurel_", "per_layer_model_proj."})
    if (name.find(part) != name.npos) return true;
  return false;
}

ModelShape shape_of(const GgufFile& file) {
  ModelShape shape;
  for (const GgufTensor& tensor : file.tensors()) {
    ShapeTensor entry;
    entry.name = tensor.name;
    entry.shape = tensor.view.shape;
    if (!stays_as_it_is(tensor))
      entry.storage =
          suffers_from_few_bits(tensor.name) ? ShapeTensor::Storage::kEightBits : ShapeTensor::Storage::kMatrix;
    shape.tensors.push_back(std::move(entry));
  }
  return shape;
}

struct Override {
  std::string text;
  FileRegex pattern;
  DType type;
  bool used = false;
  std::string_view first;  // tensor that it matches
};

std::vector<Override> read_overrides(const QuantizeOptions& options) {
  std::vector<Override> overrides;
  for (const auto& [pattern, type] : options.overrides) {
    try {
      overrides.push_back({pattern, FileRegex(pattern), encodable_format(type).type});
    } catch (const Error& error) {
      if (error.code() == ErrorCode::kInvalidArgument) throw;
      throw_error(ErrorCode::kInvalidArgument, "'{}': {}", pattern, error.what());
    }
  }
  return overrides;
}

// An override that nothing follows is a mistake in it.
void check_used(const std::vector<Override>& overrides, const std::string& file) {
  for (const Override& override : overrides) {
    if (override.used) continue;
    if (override.first.empty())
      throw_error(ErrorCode::kInvalidArgument, "'{}': no tensor of {} has that in its name", override.text, file);
    throw_error(ErrorCode::kInvalidArgument, "'{}': matches only tensors that stay as they are, such as {}",
                override.text, override.first);
  }
}

std::vector<DType> types_of(const GgufFile& file, const QuantizeOptions& options) {
  std::vector<DType> types = choose_types(shape_of(file), options.type, options.pure);
  std::vector<Override> overrides = read_overrides(options);
  FileRegex::Scratch scratch;
  const auto matches = [&](const Override& override, const std::string& name) {
    std::vector<TextRange> found;
    override.pattern.find_all(name, scratch, found);
    return !found.empty();
  };
  for (size_t i = 0; i < types.size(); ++i) {
    const GgufTensor& tensor = file.tensors()[i];
    const bool stays = stays_as_it_is(tensor);
    if (stays) types[i] = tensor.view.type;
    Override* found = nullptr;
    for (Override& override : overrides) {
      if (!matches(override, tensor.name)) continue;
      if (found == nullptr) found = &override;
      override.used = override.used || !stays;
      if (override.first.empty()) override.first = tensor.name;
    }
    if (stays || found == nullptr) continue;
    if (tensor.view.shape.columns() % format_of(found->type).block_elements != 0)
      throw_error(ErrorCode::kInvalidArgument, "{}: rows of {} are no whole blocks of {}", tensor.name,
                  tensor.view.shape.columns(), format_of(found->type).name);
    types[i] = found->type;
  }
  check_used(overrides, file.path());
  return types;
}

}  // namespace

QuantizeReport quantize_file(const std::filesystem::path& source, const std::filesystem::path& target,
                             const QuantizeOptions& options) {
  const GgufFile file = GgufFile::open(source);
  check_is_model(file);
  const std::vector<DType> types = types_of(file, options);
  const Importance importance = options.importance.empty() ? Importance() : Importance::open(options.importance);

  std::vector<std::filesystem::path> keep = model_files(source);
  keep.push_back(options.importance);
  keep.insert(keep.end(), options.keep.begin(), options.keep.end());
  GgufWriter writer(target, {.max_shard_bytes = options.max_shard_bytes, .keep = std::move(keep)});
  writer.copy_metadata(file);
  writer.set<uint32_t>("general.quantization_version", 2);
  writer.set<uint32_t>("general.file_type", file_type_number(options.type));
  RowEncoder encoder(options.threads);
  QuantizeReport report;
  double all = 0, done = 0;
  for (const GgufTensor& tensor : file.tensors()) all += static_cast<double>(tensor.view.shape.elements());
  std::vector<std::byte> buffer;
  report.tensors.resize(file.tensors().size());
  for (size_t i = 0; i < types.size(); ++i) {
    const GgufTensor& tensor = file.tensors()[i];
    const Shape& shape = tensor.view.shape;
    const Format &from = format_of(tensor.view.type), &to = format_of(types[i]);
    const std::span<const float> weights = importance.of(tensor.name, shape);
    report.tensors[i] = {.name = tensor.name,
                         .shape = to_string(shape),
                         .from = std::string(from.name),
                         .to = std::string(to.name),
                         .from_bytes = tensor.view.bytes(),
                         .to_bytes = to.row_bytes(shape.columns()) * static_cast<uint64_t>(shape.rows()),
                         .weighted = !weights.empty() && from.type != to.type};
    report.from_bytes += report.tensors[i].from_bytes;
    report.to_bytes += report.tensors[i].to_bytes;
    writer.add_tensor(tensor.name, types[i], shape, [&, i, weights](const GgufWriter::Sink& write) {
      const ConstTensorView view = *file.find(tensor.name);
      const int64_t columns = shape.columns();
      // Matrices of a stack have an importance each.
      const int64_t each = shape.rank < 3 ? shape.rows() : shape[shape.rank - 2];
      const int64_t piece = std::min(rows_at_once(columns), each);
      RoundingError error;
      const auto read = [&](int64_t first, int64_t count, float* out) {
        from.decode(view.row(first), out, count * columns);
      };
      for (int64_t row = 0; row < shape.rows();) {
        const int64_t count = std::min({piece, each - row % each, shape.rows() - row});
        if (from.type == to.type) {
          write({view.row(row), view.row_bytes() * static_cast<size_t>(count)});
        } else {
          const size_t matrix = weights.size() > static_cast<size_t>(columns) ? static_cast<size_t>(row / each) : 0;
          encoder.encode(tensor.name, read, to, columns, row, count,
                         weights.empty() ? nullptr : weights.data() + matrix * static_cast<size_t>(columns), buffer,
                         &error);
          write(buffer);
        }
        row += count;
        done += static_cast<double>(count * columns);
        if (options.progress && !options.progress(done / all))
          throw_error(ErrorCode::kCancelled, "{}: cancelled", target.native());
      }
      report.tensors[i].relative_error = error.relative();
      file.drop(view);
    });
  }
  report.unweighted = std::ranges::count_if(report.tensors, [](const QuantizedTensor& t) {
    return t.from != t.to && !t.weighted && needs_importance(t.name, find_format(t.to)->type);
  });
  report.files = writer.finish();
  return report;
}

}  // namespace ingle
