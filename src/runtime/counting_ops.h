// A dry run that counts what a step takes: multiply-adds by kind, and the bytes it cannot do without. The graph itself
// runs, so what it leaves out (rows nobody needs, experts nobody goes to, layers that read another's cache) is left out
// of the count.
#pragma once

#include <set>

#include "ingle/ceilings.h"
#include "runtime/measuring_ops.h"

namespace ingle {

class CountingOps final : public MeasuringOps {
 public:
  void begin_step() override;
  Tensor embed(const Matrix& table, std::span<const int32_t> tokens, const EmbedOptions& options, Into into) override;
  Tensor linear(const Linear& w, Tensor x, Into into) override;
  Tensor linear_by_head(std::span<const Linear> w, Tensor x) override;
  Tensor gated_mlp(const Linear& gate, const Linear& up, const Linear& down, Activation act, Tensor x,
                   Into into) override;
  Tensor experts_mlp(const Experts& experts, const Routes& routes, Tensor x, Into into) override;
  Tensor attention(Tensor q, const KvLayer& kv, const RowSet& rows, const AttentionOptions& options) override;

  const StepWork& work() const noexcept { return work_; }  // since begin_step()

 private:
  void multiply(const Matrix& w, double rows);  // the product alone
  void read(const Matrix& w);                   // once a step
  void count(const Linear& w, int64_t rows);    // both

  StepWork work_;
  std::set<const void*> read_;  // matrices and caches
  bool inside_ = false;         // an operation that is counted as a whole uses others
};

}  // namespace ingle
