// Operations that say what they do: one line for each, with its weights and shapes, when it is done.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <string_view>

#include "runtime/forwarding_ops.h"

namespace ingle {

// Passes every call on and changes nothing: results are those of `inner`.
class TracingOps final : public ForwardingOps {
 public:
  using Sink = std::function<void(std::string_view)>;  // gets a line without its end
  TracingOps(std::unique_ptr<Ops> inner, Sink sink) : ForwardingOps(std::move(inner)), sink_(std::move(sink)) {}

  void begin_step() override;
  void set_layer(int layer) override;
  Tensor embed(const Matrix& table, std::span<const int32_t> tokens, const EmbedOptions& options, Into into) override;
  Tensor linear(const Linear& w, Tensor x, Into into) override;
  void linears(std::initializer_list<LinearJob> jobs, std::initializer_list<Tensor*> results) override;
  Tensor linear_by_head(std::span<const Linear> w, Tensor x) override;
  Tensor gated_mlp(const Linear& gate, const Linear& up, const Linear& down, Activation act, Tensor x,
                   Into into) override;
  Routes route(Tensor scores, int64_t used, const RouteOptions& options) override;
  Tensor experts_mlp(const Experts& experts, const Routes& routes, Tensor x, Into into) override;
  Tensor norm(const Norm& n, Tensor x, Into into) override;
  void rope(Tensor x, std::span<const int32_t> positions, const Rope& rope) override;
  void append(const KvLayer& kv, Tensor k, Tensor v, const RowSet& rows, const Rope* rope) override;
  Tensor attention(Tensor q, const KvLayer& kv, const RowSet& rows, const AttentionOptions& options) override;
  Tensor gather_rows(Tensor x, std::span<const int32_t> rows) override;
  Tensor columns(std::initializer_list<Columns> parts) override;
  void apply(const RowOp& op, Tensor x, const RowOperands& operands) override;
  Tensor stream(Tensor streams, int64_t index) override;
  Tensor stack(std::span<const Tensor> rows) override;
  Tensor mix(Tensor streams, Tensor weights) override;
  void add_to_streams(Tensor streams, Tensor y, Tensor weights) override;
  void add_to_streams(Tensor streams, Tensor y, std::span<const float> weights) override;

 private:
  template <class... Args>
  void say(std::string_view op, fmt::format_string<Args...> format, Args&&... args);

  Sink sink_;
  int64_t step_ = -1;
  int layer_ = -1;
};

}  // namespace ingle
