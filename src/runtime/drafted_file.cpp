#include "runtime/drafted_file.h"

#include <algorithm>

#include "base/error.h"
#include "gguf/writer.h"
#include "runtime/file_types.h"

namespace ingle {

GgufFile planned_file(const DraftedFile& file, const std::string& name) {
  GgufRecipe recipe{.name = name, .metadata = {file.metadata.begin(), file.metadata.end()}, .tensors = {}, .fill = {}};
  for (size_t i = 0; i < file.tensors.size(); ++i)
    recipe.tensors.push_back({file.tensors[i].name, file.types[i], file.tensors[i].rows.shape});
  return GgufFile::generate(std::move(recipe));
}

ConvertReport describe(const DraftedFile& file) {
  ConvertReport report;
  for (size_t i = 0; i < file.tensors.size(); ++i) {
    const Shape& shape = file.tensors[i].rows.shape;
    const Format& format = format_of(file.types[i]);
    const uint64_t bytes = format.row_bytes(shape.columns()) * static_cast<uint64_t>(shape.rows());
    report.tensors.push_back({file.tensors[i].name, to_string(shape), lower_case(format.name), bytes});
    report.unweighted += !file.tensors[i].packed && needs_importance(file.tensors[i].name, file.types[i]);
    report.parameters += shape.elements();
    report.bytes += bytes;
  }
  return report;
}

void write_drafted(const DraftedFile& file, const std::filesystem::path& target,
                   std::vector<std::filesystem::path> keep, const ConvertOptions& options,
                   const std::function<void(const SafeTensor&)>& drop, ConvertReport& report) {
  GgufWriter writer(target, {.max_shard_bytes = options.max_shard_bytes, .keep = std::move(keep)});
  for (const auto& [key, value] : file.metadata) writer.set(key, value);
  RowEncoder encoder(options.threads);
  double done = 0;
  std::vector<std::byte> buffer;
  for (size_t i = 0; i < file.tensors.size(); ++i) {
    const DraftTensor& tensor = file.tensors[i];
    const Format& format = format_of(file.types[i]);
    const Rows& rows = tensor.rows;
    writer.add_tensor(tensor.name, file.types[i], rows.shape, [&](const GgufWriter::Sink& write) {
      const int64_t columns = rows.shape.columns();
      const int64_t piece = rows_at_once(columns);
      for (int64_t row = 0; row < rows.shape.rows(); row += piece) {
        const int64_t count = std::min(piece, rows.shape.rows() - row);
        if (tensor.packed) {
          buffer.resize(format.row_bytes(columns) * static_cast<size_t>(count));
          tensor.packed->read(row, count, buffer.data());
        } else {
          encoder.encode(tensor.name, rows.read, format, columns, row, count, nullptr, buffer);
        }
        write(buffer);
        done += static_cast<double>(count * columns);
        if (options.progress && !options.progress(done / static_cast<double>(report.parameters)))
          throw_error(ErrorCode::kCancelled, "{}: cancelled", target.native());
      }
      for (const SafeTensor* source : rows.sources) drop(*source);
    });
  }
  report.files = writer.finish();
  report.bytes = 0;
  for (const std::filesystem::path& path : report.files) report.bytes += std::filesystem::file_size(path);
}

}  // namespace ingle
