// A backend's operations with adapters beside the weights: whoever multiplies by a weight gets its adapters' part of
// the result too, in the rows of those sequences that want them. A model does not know; without adapters nobody comes
// by here.
#pragma once

#include <vector>

#include "backend/backend.h"
#include "models/adapter.h"

namespace ingle {

class AdapterOps final : public Ops {
 public:
  struct InForce {
    const AdapterWeights* weights;
    float scale;
    bool operator==(const InForce&) const noexcept = default;
  };
  using Adapters = std::span<const InForce>;

  explicit AdapterOps(Ops& base) : base_(base) {}

  // For the step that begins. Everything that is multiplied has a row for each row of the batch or for each wanted one,
  // so the number of rows tells which; `by_slot` says what the sequence of each slot reads with. Both must outlive the
  // step.
  void set_rows(const RowNeed& need, std::span<const Adapters> by_slot);
  // From now on, until set_rows(): only these of the wanted rows (ascending).
  void select(std::span<const int32_t> wanted_rows);

  void begin_step() override { base_.begin_step(); }
  void set_layer(int layer) override { base_.set_layer(layer); }
  void keep() override { base_.keep(); }
  Tensor end_layer(Tensor x) override { return base_.end_layer(x); }
  Tensor embed(const Matrix& table, std::span<const int32_t> tokens, const EmbedOptions& options, Into into) override;
  Tensor linear(const Linear& w, Tensor x, Into into) override;
  void linears(std::initializer_list<LinearJob> jobs, std::initializer_list<Tensor*> results) override;
  Tensor linear_by_head(std::span<const Linear> w, Tensor x) override;
  Tensor gated_mlp(const Linear& gate, const Linear& up, const Linear& down, Activation act, Tensor x,
                   Into into) override;
  Routes route(Tensor scores, int64_t used, const RouteOptions& options) override {
    return base_.route(scores, used, options);
  }
  Tensor experts_mlp(const Experts& experts, const Routes& routes, Tensor x, Into into) override;
  Tensor norm(const Norm& n, Tensor x, Into into) override { return base_.norm(n, x, into); }
  void rope(Tensor x, std::span<const int32_t> positions, const Rope& rope) override { base_.rope(x, positions, rope); }
  void append(const KvLayer& kv, Tensor k, Tensor v, const RowSet& rows, const Rope* rope) override {
    base_.append(kv, k, v, rows, rope);
  }
  Tensor attention(Tensor q, const KvLayer& kv, const RowSet& rows, const AttentionOptions& options) override {
    return base_.attention(q, kv, rows, options);
  }
  Tensor gather_rows(Tensor x, std::span<const int32_t> rows) override { return base_.gather_rows(x, rows); }
  Tensor columns(std::initializer_list<Columns> parts) override { return base_.columns(parts); }
  void apply(const RowOp& op, Tensor x, const RowOperands& operands) override { base_.apply(op, x, operands); }
  Tensor stream(Tensor streams, int64_t index) override { return base_.stream(streams, index); }
  Tensor stack(std::span<const Tensor> rows) override { return base_.stack(rows); }
  Tensor mix(Tensor streams, Tensor weights) override { return base_.mix(streams, weights); }
  void add_to_streams(Tensor streams, Tensor y, Tensor weights) override { base_.add_to_streams(streams, y, weights); }
  void add_to_streams(Tensor streams, Tensor y, std::span<const float> weights) override {
    base_.add_to_streams(streams, y, weights);
  }
  void set_profile(bool on) override { base_.set_profile(on); }
  std::vector<OpTiming> profile() const override { return base_.profile(); }
  size_t arena_bytes() const noexcept override { return base_.arena_bytes(); }

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

  Ops& base_;
  const RowNeed* need_ = nullptr;
  std::span<const Adapters> by_slot_;
  bool selected_ = false;
  std::vector<RowRun> selection_;
  std::vector<Section> sections_;
  std::vector<int32_t> rows_;   // of one expert, or all
  std::vector<float> weights_;  // of these rows
};

}  // namespace ingle
