#include "runtime/adapter_ops.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"

namespace ingle {
namespace {

// What kClampedSilu is, as gated_mlp and experts_mlp have it inside.
constinit const RowOp kClampedSiluMul = {.name = "clamped_silu_mul",
                                         .operations_per_number = 12,
                                         .elementwise = true,
                                         .reads_y = true,
                                         .row = [](const RowView& r) noexcept {
                                           for (int64_t i = 0; i < r.n; ++i) {
                                             const float gate = std::min(r.x[i], 7.0f),
                                                         up = std::clamp(r.y[i], -7.0f, 7.0f);
                                             r.x[i] = gate / (1.0f + std::exp(-1.702f * gate)) * (up + 1.0f);
                                           }
                                         }};

// Some rows of a tensor.
Tensor rows_of(Tensor x, int64_t first, int64_t rows) {
  if (first == 0 && rows == x.rows()) return x;
  x.data = x.row(first);
  x.shape.extent[0] = rows;
  x.memo = nullptr;
  return x;
}

}  // namespace

void AdapterOps::set_rows(const RowNeed& need, std::span<const Adapters> by_slot) {
  need_ = &need;
  by_slot_ = by_slot;
  selected_ = false;
}

void AdapterOps::select(std::span<const int32_t> wanted_rows) {
  selected_ = true;
  selection_.clear();
  auto run = need_->wanted().runs.begin();
  for (size_t i = 0; i < wanted_rows.size(); ++i) {
    while (wanted_rows[i] >= run->first_row + run->rows) ++run;
    if (selection_.empty() || selection_.back().slot != run->slot)
      selection_.push_back({run->slot, static_cast<int32_t>(i), 0});
    ++selection_.back().rows;
  }
}

const std::vector<AdapterOps::Section>& AdapterOps::sections(int64_t rows) {
  const bool all = rows == need_->all().size();
  INGLE_CHECK(selected_ || all || rows == need_->wanted().size());
  const std::span<const RowRun> runs = selected_ ? selection_ : all ? need_->all().runs : need_->wanted().runs;
  sections_.clear();
  for (const RowRun& run : runs) {
    const Adapters adapters = by_slot_[static_cast<size_t>(run.slot)];
    if (!sections_.empty() && std::ranges::equal(sections_.back().adapters, adapters)) {
      sections_.back().rows += run.rows;
    } else {
      sections_.push_back({run.first_row, run.rows, adapters});
    }
  }
  return sections_;
}

bool AdapterOps::touch(Adapters adapters, std::initializer_list<const Linear*> weights) {
  return std::ranges::any_of(adapters, [&](const InForce& adapter) {
    return std::ranges::any_of(weights, [&](const Linear* w) { return adapter.weights->find(w->weight) != nullptr; });
  });
}

bool AdapterOps::touch(std::initializer_list<const Linear*> weights) const {
  return std::ranges::any_of(by_slot_, [&](Adapters adapters) { return touch(adapters, weights); });
}

void AdapterOps::add_section(Adapters adapters, const Linear& w, Tensor x, Tensor y) {
  for (const InForce& adapter : adapters) {
    const LowRank* pair = adapter.weights->find(w.weight);
    if (pair == nullptr) continue;
    const Tensor inner = inner_->linear(pair->a, x);  // [rows, rank]
    inner_->apply(kScale, inner, {.a = adapter.scale * pair->scale});
    inner_->linear(pair->b, inner, {.add_to = y});
  }
}

void AdapterOps::add(const Linear& w, Tensor x, Tensor y) {
  if (x.empty() || !touch({&w})) return;
  for (const Section& s : sections(x.rows()))
    add_section(s.adapters, w, rows_of(x, s.first, s.rows), rows_of(y, s.first, s.rows));
}

Tensor AdapterOps::section_linear(Adapters adapters, const Linear& w, Tensor x) {
  const Tensor y = inner_->linear(w, x);
  add_section(adapters, w, x, y);
  return y;
}

Tensor AdapterOps::embed(const Matrix& table, std::span<const int32_t> tokens, const EmbedOptions& options, Into into) {
  const Tensor y = inner_->embed(table, tokens, options, into);
  for (const Section& s : sections(static_cast<int64_t>(tokens.size()))) {
    for (const InForce& adapter : s.adapters) {
      const LowRankTable* pair = adapter.weights->find_table(&table);
      if (pair == nullptr) continue;
      const auto own = tokens.subspan(static_cast<size_t>(s.first), static_cast<size_t>(s.rows));
      const Tensor inner = inner_->embed(*pair->a, own, {.scale = adapter.scale * pair->scale * options.scale});
      const Tensor row = inner_->linear(pair->b, inner);
      inner_->apply(kAddScaled, rows_of(y, s.first, s.rows), {.y = row, .column = options.first_column, .a = 1});
    }
  }
  return y;
}

Tensor AdapterOps::linear(const Linear& w, Tensor x, Into into) {
  const Tensor y = inner_->linear(w, x, into);
  add(w, x, y);
  return y;
}

void AdapterOps::linears(std::initializer_list<LinearJob> jobs, std::initializer_list<Tensor*> results) {
  inner_->linears(jobs, results);
  auto y = results.begin();
  for (const LinearJob& job : jobs) add(*job.w, job.x, **y++);
}

Tensor AdapterOps::linear_by_head(std::span<const Linear> w, Tensor x) {
  const Tensor y = inner_->linear_by_head(w, x);  // [rows, heads, out]
  if (x.empty()) return y;
  const auto heads = static_cast<int64_t>(w.size());
  for (const Section& s : sections(x.rows())) {
    for (int64_t h = 0; h < heads; ++h) {
      const Linear& own = w[static_cast<size_t>(h)];
      if (!touch(s.adapters, {&own})) continue;
      const Tensor asking = inner_->stream(rows_of(x, s.first, s.rows), h);  // [rows, in]
      Tensor change = inner_->stream(rows_of(y, s.first, s.rows), h);        // [rows, out]
      inner_->apply(kScale, change, {.a = 0});
      add_section(s.adapters, own, asking, change);
      for (int64_t r = 0; r < s.rows; ++r) {  // the rows of one head do not lie together
        const Tensor head{y.row(s.first + r) + h * own.out(), {1, own.out()}};
        inner_->apply(kAddScaled, head, {.y = rows_of(change, r, 1), .a = 1});
      }
    }
  }
  return y;
}

void AdapterOps::activate(Activation act, Tensor gate, Tensor up) {
  inner_->apply(act == Activation::kSilu   ? kSiluMul
                : act == Activation::kGelu ? kGeluMul
                                           : kClampedSiluMul,
                gate, {.y = up});
}

Tensor AdapterOps::zeros_like(Tensor x) {
  rows_.resize(static_cast<size_t>(x.rows()));
  std::iota(rows_.begin(), rows_.end(), 0);
  const Tensor zeros = inner_->gather_rows(x, rows_);
  inner_->apply(kScale, zeros, {.a = 0});
  return zeros;
}

// What adapters change goes into the activation, so that there the parts come one after another. Other sequences' rows
// take the way they take without company.
Tensor AdapterOps::gated_mlp(const Linear& gate, const Linear& up, const Linear& down, Activation act, Tensor x,
                             Into into) {
  if (x.empty() || !touch({&gate, &up, &down})) return inner_->gated_mlp(gate, up, down, act, x, into);
  INGLE_CHECK(down.out() == x.row_size());
  const Tensor result = into.add_to.data != nullptr ? into.add_to : zeros_like(x);
  for (const Section& s : sections(x.rows())) {
    const Tensor asking = rows_of(x, s.first, s.rows), sum = rows_of(result, s.first, s.rows);
    if (!touch(s.adapters, {&gate, &up, &down})) {
      inner_->gated_mlp(gate, up, down, act, asking, {.add_to = sum});
      continue;
    }
    const Tensor gates = section_linear(s.adapters, gate, asking);
    activate(act, gates, section_linear(s.adapters, up, asking));
    inner_->linear(down, gates, {.add_to = sum});
    add_section(s.adapters, down, gates, sum);
  }
  return result;
}

Tensor AdapterOps::experts_mlp(const Experts& experts, const Routes& routes, Tensor x, Into into) {
  // A file adapts a matrix for all experts or for none.
  const std::initializer_list<const Linear*> weights = {&experts.gate[0], &experts.up[0], &experts.down[0]};
  if (x.empty() || !touch(weights)) return inner_->experts_mlp(experts, routes, x, into);
  INGLE_CHECK(experts.down[0].out() == x.row_size());
  const Tensor result = into.add_to.data != nullptr ? into.add_to : zeros_like(x);
  for (const Section& s : sections(x.rows())) {
    const Routes own{s.rows, routes.used, routes.expert + s.first * routes.used, routes.weight + s.first * routes.used};
    const Tensor asking = rows_of(x, s.first, s.rows), sum = rows_of(result, s.first, s.rows);
    if (touch(s.adapters, weights)) {
      section_experts(s.adapters, experts, own, asking, sum);
    } else {
      inner_->experts_mlp(experts, own, asking, {.add_to = sum});
    }
  }
  return result;
}

// Expert by expert, each for the rows that go to it.
void AdapterOps::section_experts(Adapters adapters, const Experts& experts, const Routes& routes, Tensor x,
                                 Tensor sum) {
  const Tensor total = zeros_like(x);
  for (size_t e = 0; e < experts.down.size(); ++e) {
    rows_.clear();
    weights_.clear();
    for (int64_t i = 0; i < routes.rows * routes.used; ++i) {
      if (routes.expert[i] != static_cast<int32_t>(e)) continue;
      rows_.push_back(static_cast<int32_t>(i / routes.used));
      weights_.push_back(routes.weight[i]);
    }
    if (rows_.empty()) continue;
    const Tensor asking = inner_->gather_rows(x, rows_);
    const Tensor gates = section_linear(adapters, experts.gate[e], asking);
    activate(experts.activation, gates, section_linear(adapters, experts.up[e], asking));
    const Tensor y = section_linear(adapters, experts.down[e], gates);
    for (size_t i = 0; i < rows_.size(); ++i) {
      inner_->apply(kAddScaled, rows_of(total, rows_[i], 1),
                    {.y = rows_of(y, static_cast<int64_t>(i), 1), .a = weights_[i]});
    }
  }
  inner_->apply(kAddScaled, sum, {.y = total, .a = 1});
}

}  // namespace ingle
