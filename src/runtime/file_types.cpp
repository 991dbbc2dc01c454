#include "runtime/file_types.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>

#include "base/error.h"
#include "ingle/convert.h"
#include "models/type_mix.h"

namespace ingle {
namespace {

constexpr int64_t kNumbersAtOnce = int64_t{2} << 20;
constexpr int64_t kNumbersATask = 65536;

bool can_be_written(const Format& format) { return format.encode != nullptr && format.type != DType::kQ8_K; }

bool keeps_output_better(const Format& format) {
  return static_cast<double>(format.block_bytes) * 8 / static_cast<double>(format.block_elements) < 6.5 &&
         format.type != DType::kMXFP4;
}

// Rows with so many numbers in all, at least one. A tensor may have no columns.
int64_t at_once(int64_t numbers, int64_t columns) {
  return std::max<int64_t>(1, numbers / std::max<int64_t>(1, columns));
}

// A number that is not finite, or not any more.
struct NotFinite {
  int64_t row, column;
  float from, to;
};

std::optional<NotFinite> find_not_finite(int64_t row, int64_t columns, const float* from, const float* to) {
  const float* found = std::find_if(to, to + columns, [](float x) { return !std::isfinite(x); });
  if (found == to + columns) return std::nullopt;
  return NotFinite{row, found - to, from[found - to], *found};
}

[[noreturn]] void refuse(std::string_view name, const NotFinite& bad, const Format& to) {
  if (!std::isfinite(bad.from))
    throw_error(ErrorCode::kInvalidFile, "{}: row {}: column {} is {}, not a finite number: the weights are damaged",
                name, bad.row, bad.column, bad.from);
  throw_error(ErrorCode::kInvalidArgument,
              "{}: row {}: {} in column {} would become {} as {}; choose a type of more range, such as bf16", name,
              bad.row, bad.from, bad.column, bad.to, to.name);
}

int threads_or_all(int threads) {
  const int all = static_cast<int>(std::thread::hardware_concurrency());
  return std::clamp(threads > 0 ? threads : all, 1, 1024);
}

}  // namespace

std::string lower_case(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

uint32_t file_type_number(DType type) {
  constexpr std::pair<DType, uint32_t> kNumbers[] = {
      {DType::kF32, 0},    {DType::kF16, 1},   {DType::kQ4_0, 2},    {DType::kQ4_1, 3},    {DType::kQ8_0, 7},
      {DType::kQ5_0, 8},   {DType::kQ5_1, 9},  {DType::kQ2_K, 10},   {DType::kQ3_K, 12},   {DType::kQ4_K, 15},
      {DType::kQ5_K, 17},  {DType::kQ6_K, 18}, {DType::kIQ4_NL, 25}, {DType::kIQ4_XS, 30}, {DType::kBF16, 32},
      {DType::kMXFP4, 38}, {DType::kQ1_0, 40}, {DType::kQ2_0, 41}};
  const auto* found = std::ranges::find(kNumbers, type, &std::pair<DType, uint32_t>::first);
  return found == std::end(kNumbers) ? 0 : found->second;
}

uint32_t file_type_number(const std::string& type) {
  if (const TypeMix* mix = find_type_mix(lower_case(type))) return mix->file_type;
  return file_type_number(encodable_format(type).type);
}

const Format& encodable_format(const std::string& name) {
  const Format* format = find_format(name);
  if (format == nullptr || !can_be_written(*format)) {
    throw_error(ErrorCode::kInvalidArgument, "weights of type '{}' cannot be written; known are {}", name,
                fmt::join(encodable_types(), ", "));
  }
  return *format;
}

std::vector<std::string> encodable_types() {
  std::vector<std::string> names;
  for (const Format& format : formats())
    if (can_be_written(format)) names.push_back(lower_case(format.name));
  for (const TypeMix& mix : type_mixes())
    if (std::ranges::count(names, mix.name) == 0) names.emplace_back(mix.name);
  return names;
}

std::vector<DType> choose_types(const ModelShape& shape, const std::string& type, bool pure) {
  const TypeMix* mix = find_type_mix(lower_case(type));
  if (mix != nullptr && !pure) return mixed_types(shape, *mix);
  const Format& format = mix != nullptr ? format_of(mix->most) : encodable_format(type);
  const bool has_output = std::ranges::count(shape.tensors, "output.weight", &ShapeTensor::name) > 0;
  std::vector<DType> types;
  for (const ShapeTensor& tensor : shape.tensors) {
    types.push_back(storage_type(tensor, format.type));
    if (tensor.storage == ShapeTensor::Storage::kMatrix)
      types.back() = fitting_type(format.type, tensor.shape.columns());
    if (!pure && keeps_output_better(format) && tensor.name == (has_output ? "output.weight" : "token_embd.weight"))
      types.back() = fitting_type(DType::kQ6_K, tensor.shape.columns());
  }
  return types;
}

bool needs_importance(std::string_view tensor, DType type) {
  return tensor.starts_with("blk.") && wants_importance(type);
}

double RoundingError::relative() const { return all == 0 ? 0 : std::sqrt(squares / all); }

RowEncoder::RowEncoder(int threads) : pool_(threads_or_all(threads)) {}

void RowEncoder::encode(std::string_view name, const ReadRows& read, const Format& format, int64_t columns,
                        int64_t first, int64_t count, const float* importance, std::vector<std::byte>& out,
                        RoundingError* error) {
  const size_t row_bytes = format.row_bytes(columns);
  out.resize(row_bytes * static_cast<size_t>(count));
  TaskCounter tasks(count, at_once(kNumbersATask, columns));
  std::mutex mutex;
  std::optional<NotFinite> bad;  // the first
  std::exception_ptr failed;
  const auto work = [&] {
    std::vector<float> numbers, decoded(static_cast<size_t>(columns));
    RoundingError mine;
    std::optional<NotFinite> my_bad;
    int64_t begin, end;
    while (tasks.next(begin, end)) {
      numbers.resize(static_cast<size_t>((end - begin) * columns));
      read(first + begin, end - begin, numbers.data());
      for (int64_t row = begin; row < end && !my_bad; ++row) {
        const float* from = numbers.data() + (row - begin) * columns;
        std::byte* to = out.data() + static_cast<size_t>(row) * row_bytes;
        my_bad = find_not_finite(first + row, columns, from, from);
        if (my_bad) break;
        format.encode(from, to, columns, importance);
        format.decode(to, decoded.data(), columns);
        my_bad = find_not_finite(first + row, columns, from, decoded.data());
        for (int64_t i = 0; i < columns; ++i) {
          const double x = from[i], d = x - decoded[static_cast<size_t>(i)];
          mine.squares += d * d;
          mine.all += x * x;
        }
      }
    }
    const std::lock_guard lock(mutex);
    if (my_bad && (!bad || my_bad->row < bad->row)) bad = my_bad;
    if (error == nullptr) return;
    error->squares += mine.squares;
    error->all += mine.all;
  };
  pool_.run([&](int) {
    try {
      work();
    } catch (...) {  // no memory, or rows that cannot be read
      const std::lock_guard lock(mutex);
      failed = std::current_exception();
    }
  });
  if (failed) std::rethrow_exception(failed);
  if (bad) refuse(name, *bad, format);
}

int64_t rows_at_once(int64_t columns) { return at_once(kNumbersAtOnce, columns); }

}  // namespace ingle
