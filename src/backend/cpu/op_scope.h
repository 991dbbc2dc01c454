// Times one operation for --profile; costs a branch when profiling is off.
#pragma once

#include "backend/cpu/cpu_ops.h"

namespace ingle::cpu {

class CpuOps::Scope {
 public:
  Scope(CpuOps& ops, std::string_view op, int64_t rows, double bytes, double operations) : ops_(ops) {
    if (!ops.profiling_) return;
    line_ = &ops.timings_[{ops.layer_, op}];
    line_->op = op;
    line_->layer = ops.layer_;
    line_->calls += 1;
    line_->rows += rows;
    line_->bytes += bytes;
    line_->operations += operations;
    start_ = std::chrono::steady_clock::now();
  }
  ~Scope() {
    if (line_ != nullptr)
      line_->seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }
  OpTiming* line() const noexcept { return line_; }  // for what else there is to say; nullptr: nobody asks
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  CpuOps& ops_;
  OpTiming* line_ = nullptr;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace ingle::cpu
