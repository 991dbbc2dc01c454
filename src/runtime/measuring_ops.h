// A dry run of a model: every operation answers with the shape of its result and counts the memory it would take.
#pragma once

#include <deque>

#include "backend/backend.h"

namespace ingle {

class MeasuringOps : public Ops {
 public:
  void begin_step() override;
  void set_layer(int layer) override {}
  void keep() override { kept_ = live_; }
  Tensor end_layer(Tensor x) override;
  Tensor embed(const Matrix& table, std::span<const int32_t> tokens, const EmbedOptions& options, Into into) override;
  Tensor linear(const Linear& w, Tensor x, Into into) override;
  void linears(std::initializer_list<LinearJob> jobs, std::initializer_list<Tensor*> results) override;
  Tensor linear_by_head(std::span<const Linear> w, Tensor x) override;
  Tensor gated_mlp(const Linear& gate, const Linear& up, const Linear& down, Activation act, Tensor x,
                   Into into) override;
  Routes route(Tensor scores, int64_t used, const RouteOptions& options) override;
  Tensor experts_mlp(const Experts& experts, const Routes& routes, Tensor x, Into into) override;
  Tensor norm(const Norm& n, Tensor x, Into into) override;
  void rope(Tensor x, std::span<const int32_t> positions, const Rope& rope) override {}
  void append(const KvLayer& kv, Tensor k, Tensor v, const RowSet& rows, const Rope* rope) override {}
  Tensor attention(Tensor q, const KvLayer& kv, const RowSet& rows, const AttentionOptions& options) override;
  Tensor gather_rows(Tensor x, std::span<const int32_t> rows) override;
  Tensor columns(std::initializer_list<Columns> parts) override;
  void apply(const RowOp& op, Tensor x, const RowOperands& operands) override {}
  Tensor stream(Tensor streams, int64_t index) override { return result({streams.rows(), streams.shape[2]}); }
  Tensor stack(std::span<const Tensor> rows) override {
    return result({rows[0].rows(), static_cast<int64_t>(rows.size()), rows[0].row_size()});
  }
  Tensor mix(Tensor streams, Tensor weights) override { return result(streams.shape); }
  void add_to_streams(Tensor streams, Tensor y, Tensor weights) override {}
  void add_to_streams(Tensor streams, Tensor y, std::span<const float> weights) override {
    result({streams.rows(), static_cast<int64_t>(weights.size())});
  }
  void set_profile(bool on) override {}
  std::vector<OpTiming> profile() const override { return {}; }
  size_t arena_bytes() const noexcept override { return peak_; }  // the most at once

 private:
  struct Form {
    bool counted[2] = {false, false};  // for products in one term and in two
  };
  Tensor result(const Shape& shape);
  void take(double bytes);
  void take_form(const Linear& w, Tensor x);  // the product's own form of x, made once

  size_t live_ = 0, kept_ = 0, peak_ = 0;
  std::deque<Form> forms_;  // what the memos of results point at
  float never_read_ = 0;    // what results point at: a model may ask whether a tensor is there, not for its numbers
};

}  // namespace ingle
