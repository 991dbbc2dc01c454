#include "runtime/tracing_ops.h"

#include <iterator>

namespace ingle {
namespace {

// What comes out, or what it is added to.
std::string result(const Tensor& r, const Into& into = {}) {
  return fmt::format("{} {}", into.add_to.data == nullptr ? "->" : "+=", to_string(r.shape));
}

std::string product(const Linear& w, const Tensor& x, const Tensor& r, const Into& into = {}) {
  return fmt::format("{} {} {}", w.weight->name, to_string(x.shape), result(r, into));
}

}  // namespace

template <class... Args>
void TracingOps::say(std::string_view op, fmt::format_string<Args...> format, Args&&... args) {
  std::string line =
      layer_ < 0 ? fmt::format("step {}  outside   ", step_) : fmt::format("step {}  layer {:<4}", step_, layer_);
  fmt::format_to(std::back_inserter(line), "{:<15} ", op);
  fmt::format_to(std::back_inserter(line), format, std::forward<Args>(args)...);
  sink_(line);
}

void TracingOps::begin_step() {
  ++step_;
  layer_ = -1;
  inner_->begin_step();
}

void TracingOps::set_layer(int layer) {
  layer_ = layer;
  inner_->set_layer(layer);
}

Tensor TracingOps::embed(const Matrix& table, std::span<const int32_t> tokens, const EmbedOptions& options, Into into) {
  const Tensor r = inner_->embed(table, tokens, options, into);
  say("embed", "{} {} tokens {}", table.name, tokens.size(), result(r, into));
  return r;
}

Tensor TracingOps::linear(const Linear& w, Tensor x, Into into) {
  const Tensor r = inner_->linear(w, x, into);
  say("linear", "{}", product(w, x, r, into));
  return r;
}

void TracingOps::linears(std::initializer_list<LinearJob> jobs, std::initializer_list<Tensor*> results) {
  inner_->linears(jobs, results);
  std::string products;
  auto r = results.begin();
  for (const LinearJob& job : jobs) products += (products.empty() ? "" : ", ") + product(*job.w, job.x, **r++);
  say("linears", "{}", products);
}

Tensor TracingOps::linear_by_head(std::span<const Linear> w, Tensor x) {
  const Tensor r = inner_->linear_by_head(w, x);
  say("linear_by_head", "{}", product(w[0], x, r));
  return r;
}

Tensor TracingOps::gated_mlp(const Linear& gate, const Linear& up, const Linear& down, Activation act, Tensor x,
                             Into into) {
  const Tensor r = inner_->gated_mlp(gate, up, down, act, x, into);
  say("gated_mlp", "{}, {}, {} hidden {} {} {}", gate.weight->name, up.weight->name, down.weight->name, down.in(),
      to_string(x.shape), result(r, into));
  return r;
}

Routes TracingOps::route(Tensor scores, int64_t used, const RouteOptions& options) {
  const Routes r = inner_->route(scores, used, options);
  say("route", "{} -> {} of each row", to_string(scores.shape), used);
  return r;
}

Tensor TracingOps::experts_mlp(const Experts& experts, const Routes& routes, Tensor x, Into into) {
  const Tensor r = inner_->experts_mlp(experts, routes, x, into);
  say("experts_mlp", "{} experts like {} {} {}", experts.down.size(), experts.down[0].weight->name, to_string(x.shape),
      result(r, into));
  return r;
}

Tensor TracingOps::norm(const Norm& n, Tensor x, Into into) {
  const Tensor r = inner_->norm(n, x, into);
  say("norm", "{} {}", to_string(x.shape), result(r, into));
  return r;
}

void TracingOps::rope(Tensor x, std::span<const int32_t> positions, const Rope& rope) {
  inner_->rope(x, positions, rope);
  say("rope", "{} rotated {}", to_string(x.shape), rope.rotated);
}

void TracingOps::append(const KvLayer& kv, Tensor k, Tensor v, const RowSet& rows, const Rope* rope) {
  inner_->append(kv, k, v, rows, rope);
  say("append", "{} as {}, {} as {}, runs {}", to_string(k.shape), format_of(kv.layout.k_type).name, to_string(v.shape),
      format_of(kv.layout.v_type).name, rows.runs.size());
}

Tensor TracingOps::attention(Tensor q, const KvLayer& kv, const RowSet& rows, const AttentionOptions& options) {
  const Tensor r = inner_->attention(q, kv, rows, options);
  say("attention", "{} {} runs {}{}", to_string(q.shape), result(r), rows.runs.size(),
      options.window > 0 ? fmt::format(" window {}", options.window) : "");
  return r;
}

Tensor TracingOps::gather_rows(Tensor x, std::span<const int32_t> rows) {
  const Tensor r = inner_->gather_rows(x, rows);
  say("gather_rows", "{} {}", to_string(x.shape), result(r));
  return r;
}

Tensor TracingOps::columns(std::initializer_list<Columns> parts) {
  const Tensor r = inner_->columns(parts);
  say("columns", "{} parts {}", parts.size(), result(r));
  return r;
}

void TracingOps::apply(const RowOp& op, Tensor x, const RowOperands& operands) {
  inner_->apply(op, x, operands);
  say(op.name, "{}", to_string(x.shape));
}

Tensor TracingOps::stream(Tensor streams, int64_t index) {
  const Tensor r = inner_->stream(streams, index);
  say("stream", "{} of {} {}", index, to_string(streams.shape), result(r));
  return r;
}

Tensor TracingOps::stack(std::span<const Tensor> rows) {
  const Tensor r = inner_->stack(rows);
  say("stack", "{} of {} {}", rows.size(), to_string(rows[0].shape), result(r));
  return r;
}

Tensor TracingOps::mix(Tensor streams, Tensor weights) {
  const Tensor r = inner_->mix(streams, weights);
  say("mix", "{} {}", to_string(streams.shape), result(r));
  return r;
}

void TracingOps::add_to_streams(Tensor streams, Tensor y, Tensor weights) {
  inner_->add_to_streams(streams, y, weights);
  say("add_to_streams", "{} += {}", to_string(streams.shape), to_string(y.shape));
}

void TracingOps::add_to_streams(Tensor streams, Tensor y, std::span<const float> weights) {
  inner_->add_to_streams(streams, y, weights);
  say("add_to_streams", "{} += {}", to_string(streams.shape), to_string(y.shape));
}

}  // namespace ingle
