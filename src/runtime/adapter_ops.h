// A backend's operations with adapters beside the weights: whoever multiplies by a weight gets its adapters' part of
// the result too, in the rows of those sequences that want them. A model does not know; without adapters nobody comes
// by here.
#pragma once

#include <vector>

#include "models/adapter.h"
#include "runtime/forwarding_ops.h"

namespace ingle {

class AdapterOps final : public ForwardingOps {
 public:
  struct InForce {
    const AdapterWeights* weights;
    float scale;
    bool operator==(const InForce&) const noexcept = default;
  };
  using Adapters = std::span<const InForce>;

  explicit AdapterOps(Ops& base) : ForwardingOps(base) {}

  // For the step that begins. Everything that is multiplied has a row for each row of the batch or for each wanted one,
  // so the number of rows tells which; `by_slot` says what the sequence of each slot reads with. Both must outlive the
  // step.
  void set_rows(const RowNeed& need, std::span<const Adapters> by_slot);
  // From now on, until set_rows(): only these of the wanted rows (ascending).
  void select(std::span<const int32_t> wanted_rows);

  Tensor embed(const Matrix& table, std::span<const int32_t> tokens, const EmbedOptions& options, Into into) override;
  Tensor linear(const Linear& w, Tensor x, Into into) override;
  void linears(std::initializer_list<LinearJob> jobs, std::initializer_list<Tensor*> results) override;
  Tensor linear_by_head(std::span<const Linear> w, Tensor x) override;
  Tensor gated_mlp(const Linear& gate, const Linear& up, const Linear& down, Activation act, Tensor x,
                   Into into) override;
  Tensor experts_mlp(const Experts& experts, const Routes& routes, Tensor x, Into into) override;

 private:
  // Rows side by side that read with the same adapters.
  struct Section {
    int64_t first, rows;
    Adapters adapters;
  };
  // Of something with so many rows, in order; sections without adapters are among them. Valid until the next call.
  const std::vector<Section>& sections(int64_t rows);
  static bool touch(Adapters adapters, std::initializer_list<const Linear*> weights);
  bool touch(std::initializer_list<const Linear*> weights) const;            // in any sequence of the step
  void add(const Linear& w, Tensor x, Tensor y);                             // to y = w x
  void add_section(Adapters adapters, const Linear& w, Tensor x, Tensor y);  // the same with these in every row
  Tensor section_linear(Adapters adapters, const Linear& w, Tensor x);
  void section_experts(Adapters adapters, const Experts& experts, const Routes& routes, Tensor x, Tensor sum);
  void activate(Activation act, Tensor gate, Tensor up);
  Tensor zeros_like(Tensor x);

  const RowNeed* need_ = nullptr;
  std::span<const Adapters> by_slot_;
  bool selected_ = false;
  std::vector<RowRun> selection_;
  std::vector<Section> sections_;
  std::vector<int32_t> rows_;   // of one expert, or all
  std::vector<float> weights_;  // of these rows
};

}  // namespace ingle
