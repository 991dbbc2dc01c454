// Work that goes over rows one by one, spread over the pool.
#pragma once

#include <algorithm>
#include <type_traits>

#include "backend/cpu/cpu_ops.h"

namespace ingle::cpu {

template <class F>
void CpuOps::each_row(int64_t rows, int64_t row_size, F&& body) {
  const auto call = [&](int64_t row, int thread) {
    if constexpr (std::is_invocable_v<F, int64_t, int>) {
      body(row, thread);
    } else {
      body(row);
    }
  };
  // Below this many numbers a parallel region costs more than it saves.
  constexpr int64_t kSerialNumbers = 8192;
  if (rows * row_size <= kSerialNumbers || rows == 1) {
    for (int64_t r = 0; r < rows; ++r) call(r, 0);
    return;
  }
  TaskCounter tasks(rows, std::max<int64_t>(1, rows / (4 * pool_.size())));
  pool_.run([&](int thread) {
    int64_t begin, end;
    while (tasks.next(begin, end)) {
      for (int64_t r = begin; r < end; ++r) call(r, thread);
    }
  });
}

}  // namespace ingle::cpu
