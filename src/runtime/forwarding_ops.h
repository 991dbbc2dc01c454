// Another Ops whose operations it passes on: for those that look at some of them or change them.
#pragma once

#include <memory>
#include <utility>

#include "backend/backend.h"

namespace ingle {

class ForwardingOps : public Ops {
 public:
  explicit ForwardingOps(std::unique_ptr<Ops> inner) : owned_(std::move(inner)), inner_(owned_.get()) {}
  explicit ForwardingOps(Ops& inner) : inner_(&inner) {}  // must outlive this

  void begin_step() override { inner_->begin_step(); }
  void set_layer(int layer) override { inner_->set_layer(layer); }
  void keep() override { inner_->keep(); }
  Tensor end_layer(Tensor x) override { return inner_->end_layer(x); }
  Tensor embed(const Matrix& table, std::span<const int32_t> tokens, const EmbedOptions& options, Into into) override {
    return inner_->embed(table, tokens, options, into);
  }
  Tensor linear(const Linear& w, Tensor x, Into into) override { return inner_->linear(w, x, into); }
  void linears(std::initializer_list<LinearJob> jobs, std::initializer_list<Tensor*> results) override {
    inner_->linears(jobs, results);
  }
  Tensor linear_by_head(std::span<const Linear> w, Tensor x) override { return inner_->linear_by_head(w, x); }
  Tensor gated_mlp(const Linear& gate, const Linear& up, const Linear& down, Activation act, Tensor x,
                   Into into) override {
    return inner_->gated_mlp(gate, up, down, act, x, into);
  }
  Routes route(Tensor scores, int64_t used, const RouteOptions& options) override {
    return inner_->route(scores, used, options);
  }
  Tensor experts_mlp(const Experts& experts, const Routes& routes, Tensor x, Into into) override {
    return inner_->experts_mlp(experts, routes, x, into);
  }
  Tensor norm(const Norm& n, Tensor x, Into into) override { return inner_->norm(n, x, into); }
  void rope(Tensor x, std::span<const int32_t> positions, const Rope& rope) override {
    inner_->rope(x, positions, rope);
  }
  void append(const KvLayer& kv, Tensor k, Tensor v, const RowSet& rows, const Rope* rope) override {
    inner_->append(kv, k, v, rows, rope);
  }
  Tensor attention(Tensor q, const KvLayer& kv, const RowSet& rows, const AttentionOptions& options) override {
    return inner_->attention(q, kv, rows, options);
  }
  Tensor gather_rows(Tensor x, std::span<const int32_t> rows) override { return inner_->gather_rows(x, rows); }
  Tensor columns(std::initializer_list<Columns> parts) override { return inner_->columns(parts); }
  void apply(const RowOp& op, Tensor x, const RowOperands& operands) override { inner_->apply(op, x, operands); }
  Tensor stream(Tensor streams, int64_t index) override { return inner_->stream(streams, index); }
  Tensor stack(std::span<const Tensor> rows) override { return inner_->stack(rows); }
  Tensor mix(Tensor streams, Tensor weights) override { return inner_->mix(streams, weights); }
  void add_to_streams(Tensor streams, Tensor y, Tensor weights) override {
    inner_->add_to_streams(streams, y, weights);
  }
  void add_to_streams(Tensor streams, Tensor y, std::span<const float> weights) override {
    inner_->add_to_streams(streams, y, weights);
  }
  void set_profile(bool on) override { inner_->set_profile(on); }
  std::vector<OpTiming> profile() const override { return inner_->profile(); }
  size_t arena_bytes() const noexcept override { return inner_->arena_bytes(); }

 protected:
  std::unique_ptr<Ops> owned_;  // inner_, unless it is somebody else's
  Ops* inner_;
};

}  // namespace ingle
