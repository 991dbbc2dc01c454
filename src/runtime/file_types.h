// What the tensors of a file that is to be written are stored as, and encoding them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/thread_pool.h"
#include "models/shapes.h"
#include "quant/format.h"

namespace ingle {

std::string lower_case(std::string_view text);

// general.file_type of a file of that type or mix; 0 where there is no number.
uint32_t file_type_number(const std::string& type);
uint32_t file_type_number(DType type);

// Of each tensor: `type` is a format that can be written, or a mix of several. In a file of less than eight bits the
// output matrix has six, unless it is `pure`. Throws Error{kInvalidArgument} that lists what is known.
std::vector<DType> choose_types(const ModelShape& shape, const std::string& type, bool pure = false);
// One format of that name. Throws Error{kInvalidArgument} that lists those there are.
const Format& encodable_format(const std::string& name);

// Whether a matrix of a layer is of so few bits that it is hardly usable unless importance steers the rounding.
bool needs_importance(std::string_view tensor, DType type);

// Reads rows [first, first + count) as numbers, one after the other; called by several threads.
using ReadRows = std::function<void(int64_t first, int64_t count, float* out)>;

// Squares of differences, and of the numbers themselves.
struct RoundingError {
  double squares = 0, all = 0;

  double relative() const;  // root of mean square, in units of the numbers'; 0 where they are all 0
};

// Rows in the type of a file, some at a time, by all threads. One caller at a time.
class RowEncoder {
 public:
  explicit RowEncoder(int threads);  // 0: one per processor

  // Rows of the tensor `name`. `importance`: nullptr, or a number for each column. `error`: nullptr, or added to.
  // Throws Error: kInvalidFile for a number that is not finite, kInvalidArgument for one that is not any more in the
  // format; both name tensor, row and column.
  void encode(std::string_view name, const ReadRows& read, const Format& format, int64_t columns, int64_t first,
              int64_t count, const float* importance, std::vector<std::byte>& out, RoundingError* error = nullptr);

 private:
  ThreadPool pool_;
};

// Rows of `columns` numbers that are worth encoding at once.
int64_t rows_at_once(int64_t columns);

}  // namespace ingle
