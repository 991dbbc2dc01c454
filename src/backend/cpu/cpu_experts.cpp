// Mixtures of experts: every row goes to a few of many feed-forward blocks.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "backend/cpu/cpu_ops.h"
#include "backend/cpu/each_row.h"
#include "backend/cpu/op_scope.h"
#include "backend/cpu/task_list.h"
#include "base/error.h"

namespace ingle::cpu {

namespace {

// What the choice of a row is made by, and what its weights are made of.
struct Choice {
  const float* score;  // of the router
  float* value;        // [experts], room
  const RouteOptions& options;
  int64_t experts;

  float worth(int64_t expert) const noexcept {
    return static_cast<float>(1 / (1 + std::exp(-static_cast<double>(score[expert]))));
  }
  // What orders the experts: scores do, unless a bias or a sum of several needs what they stand for.
  const float* order_by() const noexcept {
    if (options.gating == Gating::kSoftmax && options.bias == nullptr) return score;
    if (options.gating == Gating::kSigmoid) {
      for (int64_t e = 0; e < experts; ++e) value[e] = worth(e);
    } else {
      const float top = *std::max_element(score, score + experts);
      double sum = 0;
      for (int64_t e = 0; e < experts; ++e) sum += std::exp(static_cast<double>(score[e]) - top);
      for (int64_t e = 0; e < experts; ++e)
        value[e] = static_cast<float>(std::exp(static_cast<double>(score[e]) - top) / sum);
    }
    for (int64_t e = 0; options.bias != nullptr && e < experts; ++e) value[e] += options.bias[e];
    return value;
  }
  // The experts of the best groups come first in `order` [experts], all others behind; gives how many those are.
  int64_t candidates(const float* by, int32_t* order, float* group_values, int32_t* group_order) const noexcept {
    std::iota(order, order + experts, 0);
    if (options.groups == 1) return experts;
    const int64_t size = experts / options.groups;
    const auto better = [](const float* v) {
      return [v](int32_t a, int32_t b) { return v[a] != v[b] ? v[a] > v[b] : a < b; };
    };
    for (int64_t g = 0; g < options.groups; ++g) {
      int32_t* first = order + g * size;
      std::partial_sort(first, first + options.group_best, first + size, better(by));
      group_values[g] = 0;
      for (int64_t i = 0; i < options.group_best; ++i) group_values[g] += by[first[i]];
    }
    std::iota(group_order, group_order + options.groups, 0);
    std::partial_sort(group_order, group_order + options.groups_used, group_order + options.groups,
                      better(group_values));
    std::iota(order, order + experts, 0);
    std::stable_partition(order, order + experts, [&](int32_t e) {
      return std::find(group_order, group_order + options.groups_used, e / size) != group_order + options.groups_used;
    });
    return options.groups_used * size;
  }
  // The weights of the chosen experts `best` [used].
  void weigh(const int32_t* best, int64_t used, float* weight) const noexcept {
    const bool all = options.shares == Shares::kOfAll;
    const float top = *std::max_element(score, score + experts);
    const auto part = [&](int64_t e) {
      if (options.gating == Gating::kSigmoid) return static_cast<double>(worth(e));
      return std::exp(static_cast<double>(score[e]) - top);
    };
    double sum = 0;  // of what the weights are shares of; a sigmoid is one by itself
    for (int64_t i = 0; i < used && !all; ++i) sum += part(best[i]);
    for (int64_t e = 0; e < experts && all && options.gating == Gating::kSoftmax; ++e) sum += part(e);
    if (all && options.gating == Gating::kSigmoid) sum = 1;
    for (int64_t i = 0; i < used; ++i) {
      weight[i] = static_cast<float>(part(best[i]) / sum) * (options.scale == nullptr ? 1.0f : options.scale[best[i]]);
    }
  }
};

}  // namespace

Routes CpuOps::route(Tensor scores, int64_t used, const RouteOptions& options) {
  const int64_t rows = scores.rows(), experts = scores.row_size(), groups = options.groups;
  INGLE_CHECK(groups >= 1 && experts % groups == 0 && options.groups_used >= 1 && options.groups_used <= groups);
  INGLE_CHECK(used >= 1 && used <= experts / groups * options.groups_used);
  INGLE_CHECK(options.group_best >= 1 && options.group_best <= experts / groups);
  const Scope scope(*this, "route", rows, 4.0 * static_cast<double>(scores.shape.elements()),
                    static_cast<double>(scores.shape.elements()));
  auto* expert = arena_.allocate_array<int32_t>(rows * used);
  auto* weight = arena_.allocate_array<float>(rows * used);
  auto* orders = arena_.allocate_array<int32_t>(rows * (experts + groups));
  auto* values = arena_.allocate_array<float>(rows * (experts + groups));
  each_row(rows, experts * 8, [&](int64_t r) {
    int32_t* best = orders + r * (experts + groups);
    float* value = values + r * (experts + groups);
    const Choice choice{scores.row(r), value, options, experts};
    const float* by = choice.order_by();
    const int64_t count = choice.candidates(by, best, value + experts, best + experts);
    std::partial_sort(best, best + used, best + count,
                      [&](int32_t a, int32_t b) { return by[a] != by[b] ? by[a] > by[b] : a < b; });
    std::copy_n(best, used, expert + r * used);
    choice.weigh(best, used, weight + r * used);
  });
  return {rows, used, expert, weight};
}

// Who gets which rows. An assignment is a row and a place in its list: row * used + place.
struct CpuOps::ExpertRows {
  int64_t experts = 0;        // that there are
  int64_t count = 0;          // experts that get any
  int64_t used = 0;           // experts of a row
  int64_t assignments = 0;    // of all rows
  int32_t* expert = nullptr;  // [count]
  int64_t* first = nullptr;   // [count + 1], into `sorted`
  int64_t* sorted = nullptr;  // [assignments], by expert and then by row
  int64_t* place = nullptr;   // [assignments], where each stands in `sorted`

  int64_t rows(int64_t i) const noexcept { return first[i + 1] - first[i]; }
};

// Rows in the order of `sorted`, in the forms that products read: as they are, and quantised in one term and in two.
struct CpuOps::ExpertInputs {
  bool in_order = false;                                   // x already is
  const float* rows = nullptr;                             // [assignments, columns]
  const QuantizedRows* quantized[2] = {nullptr, nullptr};  // [count]
};

CpuOps::ExpertRows CpuOps::sort_by_expert(const Routes& routes, int64_t count) {
  ExpertRows lists;
  lists.experts = count;
  lists.used = routes.used;
  lists.assignments = routes.rows * routes.used;
  lists.expert = arena_.allocate_array<int32_t>(count);
  lists.first = arena_.allocate_array<int64_t>(count + 1);
  lists.sorted = arena_.allocate_array<int64_t>(lists.assignments);
  lists.place = arena_.allocate_array<int64_t>(lists.assignments);
  auto* next = arena_.allocate_array<int64_t>(count);  // first how many, then where the next one goes
  std::fill_n(next, count, 0);
  for (int64_t a = 0; a < lists.assignments; ++a) ++next[routes.expert[a]];
  lists.first[0] = 0;
  for (int64_t e = 0; e < count; ++e) {
    const int64_t rows = next[e], begin = lists.first[lists.count];
    next[e] = begin;
    if (rows == 0) continue;
    lists.expert[lists.count] = static_cast<int32_t>(e);
    lists.first[++lists.count] = begin + rows;
  }
  for (int64_t a = 0; a < lists.assignments; ++a) {
    lists.place[a] = next[routes.expert[a]]++;
    lists.sorted[lists.place[a]] = a;
  }
  return lists;
}

// Makes the form of x that `reader` and its likes of all experts take, unless it is there. x is [rows, columns], or
// [assignments, columns] when the inputs are in order.
void CpuOps::add_form(ExpertInputs& inputs, const ExpertRows& lists, const Linear& reader, const Tensor& x) {
  const int64_t columns = x.row_size();
  const auto source = [&](int64_t place) { return x.row(inputs.in_order ? place : lists.sorted[place] / lists.used); };
  const auto row_bytes = static_cast<size_t>(columns) * sizeof(float);
  if (static_cast<const CpuMatrix&>(*reader.weight).int_format == nullptr) {
    if (inputs.rows != nullptr) return;
    inputs.rows = x.data;
    if (inputs.in_order) return;
    auto* rows = arena_.allocate_array<float>(lists.assignments * columns);
    each_row(lists.assignments, columns,
             [&](int64_t place) { std::memcpy(rows + place * columns, source(place), row_bytes); });
    inputs.rows = rows;
    return;
  }
  const QuantizedRows*& made = inputs.quantized[reader.fine];
  if (made != nullptr) return;
  QuantizedRows* forms = make_forms(lists, columns, reader.fine);
  made = forms;
  need_scratch(static_cast<size_t>(kMaxTileTokens) * row_bytes);
  each_task(
      pool_, static_cast<size_t>(lists.count), 1, [&](size_t i) { return forms[i].groups(); },
      [&](size_t i, int64_t begin, int64_t end, int thread) {
        const QuantizedRows& q = forms[i];
        auto* numbers = reinterpret_cast<float*>(thread_scratch(thread));
        for (int64_t group = begin; group < end; ++group) {
          const int64_t first = lists.first[i] + group * q.tile / q.terms;
          const int rows = q.group_tokens(group) / q.terms;
          for (int r = 0; r < rows; ++r) std::memcpy(numbers + r * columns, source(first + r), row_bytes);
          kernels_.quantize(numbers, columns, rows, q.terms, q.blocks, q.at(group, 0));
        }
      });
}

// Room for the quantised rows of every expert, in one piece, each beginning on a cache line. How much does not depend
// on who gets how many.
QuantizedRows* CpuOps::make_forms(const ExpertRows& lists, int64_t columns, bool fine) {
  auto* forms = arena_.allocate_array<QuantizedRows>(lists.experts);
  const auto all = static_cast<int64_t>(QuantizedRows(lists.assignments, columns, fine, kernels_.tile_tokens).bytes());
  auto* at = arena_.allocate_array<uint8_t>(all + 64 * std::min(lists.experts, lists.assignments));
  for (int64_t i = 0; i < lists.count; ++i) {
    forms[i] = QuantizedRows(lists.rows(i), columns, fine, kernels_.tile_tokens);
    forms[i].data = at;
    at += (forms[i].bytes() + 63) / 64 * 64;
  }
  return forms;
}

void CpuOps::note_experts(OpTiming& line, const Experts& experts, const ExpertRows& lists) {
  const auto streams = [](const Linear& w, int64_t rows) {
    const auto& m = static_cast<const CpuMatrix&>(*w.weight);
    if (m.int_format != nullptr) return rows * (w.fine ? 2 : 1) <= kMaxGemvTokens;
    return m.float_format != nullptr && rows == 1;
  };
  line.expert_rows[0] += lists.experts - lists.count;
  for (int64_t i = 0; i < lists.count; ++i) {
    const int64_t rows = lists.rows(i);
    const auto e = static_cast<size_t>(lists.expert[i]);
    ++line.expert_rows[rows];
    line.streamed_gates += streams(experts.gate[e], rows);
    line.streamed_downs += streams(experts.down[e], rows);
    for (const Linear* w : {&experts.gate[e], &experts.up[e], &experts.down[e]}) {
      line.bytes += static_cast<double>(w->weight->bytes) +
                    4.0 * static_cast<double>(rows) * static_cast<double>(w->in() + w->out());
    }
  }
}

// What expert i of the lists multiplies its rows by; the result goes to its place in `out` [assignments, w.out].
CpuOps::Product CpuOps::expert_product(const ExpertRows& lists, int64_t i, std::span<const Linear> weights,
                                       const ExpertInputs& inputs, float* out) {
  const Linear& w = weights[static_cast<size_t>(lists.expert[i])];
  const auto& m = static_cast<const CpuMatrix&>(*w.weight);
  Product p{&m, w.bias, lists.rows(i), nullptr, nullptr, nullptr, false};
  if (m.int_format != nullptr) {
    p.quantized = &inputs.quantized[w.fine][i];
  } else {
    p.x = inputs.rows + lists.first[i] * m.columns;
  }
  if (out != nullptr) p.out = out + lists.first[i] * m.rows;
  return p;
}

// Four parallel regions, however many experts: rows are put in order and quantised, gate and up of all experts run as
// one list of tasks, then down of all; the sum of a row's results is taken in the order of its own list, so it does not
// depend on the other rows. Every expert's product is the one for as many rows as it gets.
Tensor CpuOps::experts_mlp(const Experts& experts, const Routes& routes, Tensor x, Into into) {
  INGLE_CHECK(x.rows() == routes.rows);
  const int64_t d = experts.down[0].out();
  const bool add = into.add_to.data != nullptr;
  Tensor result = add ? into.add_to : make_tensor({routes.rows, d});
  INGLE_CHECK(result.rows() == routes.rows && result.row_size() == d);
  if (x.empty()) return result;
  const Scope scope(*this, "experts_mlp", x.rows(), 0,
                    6.0 * static_cast<double>(routes.rows * routes.used * x.row_size() * experts.gate[0].out()));
  const ExpertRows lists = sort_by_expert(routes, std::ssize(experts.down));
  if (scope.line() != nullptr) note_experts(*scope.line(), experts, lists);
  const Tensor outputs = expert_outputs(experts, lists, x);
  if (add) need_scratch(static_cast<size_t>(d) * sizeof(float));
  each_row(routes.rows, d * routes.used, [&](int64_t r, int thread) {
    float* sum = add ? reinterpret_cast<float*>(thread_scratch(thread)) : result.row(r);
    std::memset(sum, 0, static_cast<size_t>(d) * sizeof(float));
    for (int64_t a = r * routes.used; a < (r + 1) * routes.used; ++a)
      kernels_.blend(sum, 1.0f, outputs.row(lists.place[a]), routes.weight[a], d);
    if (add) kernels_.blend(result.row(r), 1.0f, sum, 1.0f, d);
  });
  if (add) changed(result);
  return result;
}

// Heads are experts whose rows are known beforehand.
Tensor CpuOps::linear_by_head(std::span<const Linear> w, Tensor x) {
  const auto heads = static_cast<int64_t>(w.size());
  const int64_t out = w[0].out();
  INGLE_CHECK(x.shape.rank == 3 && x.shape[1] == heads && x.shape[2] == w[0].in());
  Tensor result = make_tensor({x.rows(), heads, out});
  if (x.empty()) return result;
  const int64_t rows = x.rows() * heads;
  double bytes = 0;
  for (const Linear& one : w) bytes += static_cast<double>(one.weight->bytes);
  const Scope scope(*this, "linear_by_head", x.rows(), bytes + 4.0 * static_cast<double>(rows * (w[0].in() + out)),
                    2.0 * static_cast<double>(rows * w[0].in() * out));
  const Arena::Mark mark = arena_.mark();
  auto* head = arena_.allocate_array<int32_t>(rows);
  for (int64_t i = 0; i < rows; ++i) head[i] = static_cast<int32_t>(i % heads);
  const ExpertRows lists = sort_by_expert({rows, 1, head, nullptr}, heads);
  ExpertInputs inputs;
  add_form(inputs, lists, w[0], {x.data, {rows, x.shape[2]}});
  auto* outputs = arena_.allocate_array<float>(rows * out);
  auto* products = arena_.allocate_array<Product>(heads);
  for (int64_t i = 0; i < lists.count; ++i) products[i] = expert_product(lists, i, w, inputs, outputs);
  run_products({products, static_cast<size_t>(lists.count)});
  each_row(rows, out, [&](int64_t i) {
    std::memcpy(result.data + i * out, outputs + lists.place[i] * out, static_cast<size_t>(out) * sizeof(float));
  });
  arena_.rewind(mark);
  return result;
}

// [assignments, d_model] in the order of `sorted`.
Tensor CpuOps::expert_outputs(const Experts& experts, const ExpertRows& lists, const Tensor& x) {
  const Linear &gate = experts.gate[0], &up = experts.up[0], &down = experts.down[0];
  const auto is_int = [](const Linear& w) { return static_cast<const CpuMatrix&>(*w.weight).int_format != nullptr; };
  ExpertInputs inputs, hidden;
  if (is_int(gate) && is_int(up) && is_int(down)) {
    // Hidden rows exist only in the form that `down` reads.
    hidden.quantized[down.fine] = make_forms(lists, down.in(), down.fine);
    auto* jobs = arena_.allocate_array<GatedJob>(lists.experts);
    const Arena::Mark mark = arena_.mark();
    add_form(inputs, lists, gate, x);
    add_form(inputs, lists, up, x);
    for (int64_t i = 0; i < lists.count; ++i) {
      jobs[i] = {expert_product(lists, i, experts.gate, inputs, nullptr),
                 expert_product(lists, i, experts.up, inputs, nullptr), &hidden.quantized[down.fine][i]};
    }
    fused_gated({jobs, static_cast<size_t>(lists.count)}, experts.activation);
    arena_.rewind(mark);
  } else {
    Tensor gates = make_tensor({lists.assignments, gate.out()});
    const Arena::Mark mark = arena_.mark();
    const Tensor ups = make_tensor(gates.shape);
    add_form(inputs, lists, gate, x);
    add_form(inputs, lists, up, x);
    auto* products = arena_.allocate_array<Product>(2 * lists.experts);
    for (int64_t i = 0; i < lists.count; ++i) {
      products[2 * i] = expert_product(lists, i, experts.gate, inputs, gates.data);
      products[2 * i + 1] = expert_product(lists, i, experts.up, inputs, ups.data);
    }
    run_products({products, static_cast<size_t>(2 * lists.count)});
    const auto activate = activation(experts.activation);
    const int64_t n = gates.row_size();
    each_row(lists.assignments, n, [&](int64_t r) { activate(gates.row(r), ups.row(r), n, 1, n, gates.row(r), n); });
    arena_.rewind(mark);
    hidden.in_order = true;
    add_form(hidden, lists, down, gates);
  }
  Tensor outputs = make_tensor({lists.assignments, down.out()});
  auto* products = arena_.allocate_array<Product>(lists.experts);
  for (int64_t i = 0; i < lists.count; ++i) products[i] = expert_product(lists, i, experts.down, hidden, outputs.data);
  run_products({products, static_cast<size_t>(lists.count)});
  return outputs;
}

}  // namespace ingle::cpu
