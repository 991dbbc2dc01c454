#include "runtime/checking_ops.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include "base/error.h"

namespace ingle {
namespace {

// Forms that a backend has made of the numbers are its own.
Tensor plain(Tensor x) {
  x.memo = nullptr;
  return x;
}

// Numbers to change in place, for the reference.
struct Copy {
  explicit Copy(const Tensor& x) {
    if (x.empty()) return;
    numbers.assign(x.data, x.data + x.shape.elements());
    tensor = {.data = numbers.data(), .shape = x.shape};
  }
  Copy(const Copy&) = delete;
  Into into() const { return {.add_to = tensor}; }

  std::vector<float> numbers;
  Tensor tensor;
};

struct Difference {
  double error = 0;
  int64_t row = 0;
};

// The largest difference in a row, in units of the largest number that row has by the definition; infinite where one of
// both is no number, or should be nothing but zeros.
Difference largest_difference(const Tensor& x, const Tensor& expected) {
  Difference worst;
  for (int64_t r = 0; r < x.rows(); ++r) {
    const float *got = x.row(r), *want = expected.row(r);
    double difference = 0, largest = 0;
    for (int64_t i = 0; i < x.row_size(); ++i) {
      if (got[i] == want[i] || (std::isnan(got[i]) && std::isnan(want[i]))) {
        if (std::isfinite(want[i])) largest = std::max(largest, std::abs(static_cast<double>(want[i])));
        continue;
      }
      const double apart = std::abs(static_cast<double>(got[i]) - want[i]);
      if (!std::isfinite(apart)) return {std::numeric_limits<double>::infinity(), r};
      difference = std::max(difference, apart);
      largest = std::max(largest, std::abs(static_cast<double>(want[i])));
    }
    const double error = difference == 0 ? 0 : difference / largest;
    if (error > worst.error) worst = {error, r};
  }
  return worst;
}

}  // namespace

CheckingOps::CheckingOps(std::unique_ptr<Ops> inner, const GgufFile& file, const WeightStore& weights, int threads,
                         Precision precision)
    : ForwardingOps(std::move(inner)),
      backend_(make_backend("cpu", {.threads = threads, .isa = "scalar", .precision = precision})),
      model_(
          load_model(file, *backend_, {.progress = {}, .warn = {}, .drop_pages = false, .packing = Packing::kPerUse})),
      reference_(backend_->make_ops()) {
  INGLE_CHECK(model_.weights->matrices.size() == weights.matrices.size());
  for (size_t i = 0; i < weights.matrices.size(); ++i) {
    const Matrix& own = *model_.weights->matrices[i];
    INGLE_CHECK(own.name == weights.matrices[i]->name);
    twins_[weights.matrices[i].get()] = &own;
  }
}

CheckingOps::Blocks::Blocks(const KvLayer& kv, const RowSet& rows) : layout(kv.layout), tables(kv.tables.size()) {
  int32_t count = 0;
  for (const RowRun& run : rows.runs) {
    const auto slot = static_cast<size_t>(run.slot);
    tables[slot].assign(kv.tables[slot].begin(), kv.tables[slot].end());
    count += static_cast<int32_t>(std::ranges::count_if(tables[slot], [](int32_t block) { return block >= 0; }));
  }
  const size_t bytes = layout.block_bytes();
  memory = AlignedBuffer(static_cast<size_t>(count) * bytes);
  int32_t next = 0;
  for (std::vector<int32_t>& table : tables) {
    for (int32_t& block : table) {
      if (block < 0) continue;
      std::memcpy(memory.data() + static_cast<size_t>(next) * bytes, kv.k(block, 0), bytes);
      block = next++;
    }
  }
  borrowed.assign(tables.begin(), tables.end());
}

KvLayer CheckingOps::Blocks::layer() const {
  return {.layout = layout, .base = memory.data(), .block_stride = layout.block_bytes(), .tables = borrowed};
}

Ops& CheckingOps::reference() {
  reference_->begin_step();
  return *reference_;
}

const Matrix* CheckingOps::twin(const Matrix* weight) const {
  const auto found = twins_.find(weight);
  return found == twins_.end() ? nullptr : found->second;
}

std::vector<Linear> CheckingOps::twins(std::span<const Linear> all) const {
  std::vector<Linear> result(all.begin(), all.end());
  for (Linear& w : result) {
    w.weight = twin(w.weight);
    if (w.weight == nullptr) return {};
  }
  return result;
}

void CheckingOps::compare(std::string_view op, const Tensor& x, const Tensor& expected, std::string_view weight) {
  if (x.empty()) return;
  OpCheck& line = lines_[{layer_, std::string(op)}];
  line.op = op;
  line.layer = layer_;
  if (expected.empty()) {
    ++line.unchecked;
    return;
  }
  ++line.calls;
  INGLE_CHECK(x.shape == expected.shape);
  const Difference worst = largest_difference(x, expected);
  if (worst.error <= line.error && line.calls > 1) return;
  line.error = worst.error;
  line.step = step_;
  line.row = worst.row;
  line.weight = weight;
}

std::vector<OpCheck> CheckingOps::checks() const {
  std::vector<OpCheck> all;
  for (const auto& [key, line] : lines_) all.push_back(line);
  std::ranges::stable_sort(all, std::greater{}, &OpCheck::error);
  return all;
}

void CheckingOps::begin_step() {
  ++step_;
  layer_ = -1;
  written_.clear();
  inner_->begin_step();
}

void CheckingOps::set_layer(int layer) {
  layer_ = layer;
  inner_->set_layer(layer);
}

Tensor CheckingOps::embed(const Matrix& table, std::span<const int32_t> tokens, const EmbedOptions& options,
                          Into into) {
  const Copy sum(into.add_to);
  const Matrix* own = twin(&table);
  const Tensor expected = own == nullptr ? Tensor{} : reference().embed(*own, tokens, options, sum.into());
  const Tensor r = inner_->embed(table, tokens, options, into);
  compare("embed", r, expected, table.name);
  return r;
}

template <class Compute>
Tensor CheckingOps::product(std::string_view op, std::span<const Linear> weights, Tensor x, Into into,
                            Compute&& compute) {
  const Copy sum(into.add_to);
  const std::vector<Linear> own = twins(weights);
  const Tensor expected = own.empty() ? Tensor{} : compute(reference(), std::span(own), plain(x), sum.into());
  const Tensor r = compute(*inner_, weights, x, into);
  compare(op, r, expected, weights.back().weight->name);
  return r;
}

Tensor CheckingOps::linear(const Linear& w, Tensor x, Into into) {
  return product("linear", {&w, 1}, x, into, [](Ops& op, std::span<const Linear> all, Tensor input, Into sum) {
    return op.linear(all[0], input, sum);
  });
}

void CheckingOps::linears(std::initializer_list<LinearJob> jobs, std::initializer_list<Tensor*> results) {
  inner_->linears(jobs, results);
  auto r = results.begin();
  for (const LinearJob& job : jobs) {
    const std::vector<Linear> own = twins({job.w, 1});
    compare("linears", **r++, own.empty() ? Tensor{} : reference().linear(own[0], plain(job.x)), job.w->weight->name);
  }
}

Tensor CheckingOps::linear_by_head(std::span<const Linear> w, Tensor x) {
  return product("linear_by_head", w, x, {}, [](Ops& op, std::span<const Linear> all, Tensor input, Into) {
    return op.linear_by_head(all, input);
  });
}

Tensor CheckingOps::gated_mlp(const Linear& gate, const Linear& up, const Linear& down, Activation act, Tensor x,
                              Into into) {
  const Linear weights[] = {gate, up, down};
  return product("gated_mlp", weights, x, into, [&](Ops& op, std::span<const Linear> all, Tensor input, Into sum) {
    return op.gated_mlp(all[0], all[1], all[2], act, input, sum);
  });
}

// Where a row goes to another expert, its weight is as wrong as can be.
Routes CheckingOps::route(Tensor scores, int64_t used, const RouteOptions& options) {
  const Routes expected = reference().route(plain(scores), used, options);
  const Routes r = inner_->route(scores, used, options);
  std::vector<float> got(r.weight, r.weight + r.rows * used), want(expected.weight, expected.weight + r.rows * used);
  for (size_t i = 0; i < got.size(); ++i)
    if (r.expert[i] != expected.expert[i]) got[i] = std::numeric_limits<float>::infinity();
  compare("route", {.data = got.data(), .shape = {r.rows, used}}, {.data = want.data(), .shape = {r.rows, used}});
  return r;
}

Tensor CheckingOps::experts_mlp(const Experts& experts, const Routes& routes, Tensor x, Into into) {
  const Copy sum(into.add_to);
  const Experts own{.gate = twins(experts.gate),
                    .up = twins(experts.up),
                    .down = twins(experts.down),
                    .activation = experts.activation};
  const bool known = !own.gate.empty() && !own.up.empty() && !own.down.empty();
  const Tensor expected = known ? reference().experts_mlp(own, routes, plain(x), sum.into()) : Tensor{};
  const Tensor r = inner_->experts_mlp(experts, routes, x, into);
  compare("experts_mlp", r, expected, experts.down[0].weight->name);
  return r;
}

Tensor CheckingOps::norm(const Norm& n, Tensor x, Into into) {
  const Copy sum(into.add_to);
  const Tensor expected = reference().norm(n, plain(x), sum.into());
  const Tensor r = inner_->norm(n, x, into);
  compare("norm", r, expected);
  return r;
}

void CheckingOps::rope(Tensor x, std::span<const int32_t> positions, const Rope& rope) {
  const Copy expected(x);
  reference().rope(expected.tensor, positions, rope);
  inner_->rope(x, positions, rope);
  compare("rope", x, expected.tensor);
}

// What was written is judged by what attention reads of it.
void CheckingOps::append(const KvLayer& kv, Tensor k, Tensor v, const RowSet& rows, const Rope* rope) {
  if (!rows.empty()) {
    const Blocks& blocks = written_.insert_or_assign(kv.base, Blocks(kv, rows)).first->second;
    reference().append(blocks.layer(), plain(k), plain(v), rows, rope);
  }
  inner_->append(kv, k, v, rows, rope);
}

Tensor CheckingOps::attention(Tensor q, const KvLayer& kv, const RowSet& rows, const AttentionOptions& options) {
  const Tensor r = inner_->attention(q, kv, rows, options);
  const Copy expected(reference().attention(plain(q), kv, rows, options));
  compare("attention", r, expected.tensor);
  if (const auto blocks = written_.find(kv.base); blocks != written_.end()) {
    compare("append", expected.tensor, reference().attention(plain(q), blocks->second.layer(), rows, options));
    written_.erase(blocks);
  }
  return r;
}

Tensor CheckingOps::gather_rows(Tensor x, std::span<const int32_t> rows) {
  const Tensor r = inner_->gather_rows(x, rows);
  compare("gather_rows", r, reference().gather_rows(plain(x), rows));
  return r;
}

Tensor CheckingOps::columns(std::initializer_list<Columns> parts) {
  const Tensor r = inner_->columns(parts);
  compare("columns", r, reference().columns(parts));
  return r;
}

void CheckingOps::apply(const RowOp& op, Tensor x, const RowOperands& operands) {
  const Copy expected(x);
  RowOperands given = operands;
  given.y = plain(operands.y);
  if (!x.empty()) reference().apply(op, expected.tensor, given);
  inner_->apply(op, x, operands);
  compare(op.name, x, expected.tensor);
}

Tensor CheckingOps::stream(Tensor streams, int64_t index) {
  const Tensor r = inner_->stream(streams, index);
  compare("stream", r, reference().stream(plain(streams), index));
  return r;
}

Tensor CheckingOps::stack(std::span<const Tensor> rows) {
  const Tensor r = inner_->stack(rows);
  compare("stack", r, reference().stack(rows));
  return r;
}

Tensor CheckingOps::mix(Tensor streams, Tensor weights) {
  const Tensor r = inner_->mix(streams, weights);
  compare("mix", r, reference().mix(plain(streams), plain(weights)));
  return r;
}

void CheckingOps::add_to_streams(Tensor streams, Tensor y, Tensor weights) {
  const Copy expected(streams);
  reference().add_to_streams(expected.tensor, plain(y), plain(weights));
  inner_->add_to_streams(streams, y, weights);
  compare("add_to_streams", streams, expected.tensor);
}

void CheckingOps::add_to_streams(Tensor streams, Tensor y, std::span<const float> weights) {
  const Copy expected(streams);
  reference().add_to_streams(expected.tensor, plain(y), weights);
  inner_->add_to_streams(streams, y, weights);
  compare("add_to_streams", streams, expected.tensor);
}

}  // namespace ingle
