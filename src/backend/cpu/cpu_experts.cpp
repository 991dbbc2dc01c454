// Mixtures of experts: every row goes to a few of many feed-forward blocks.
#include <cmath>
#include <cstring>
#include <numeric>

#include "backend/cpu/cpu_ops.h"
#include "backend/cpu/each_row.h"
#include "backend/cpu/op_scope.h"
#include "base/error.h"

namespace ingle::cpu {

Routes CpuOps::route(Tensor scores, int64_t used, const float* scale, Shares shares) {
  const int64_t rows = scores.rows(), experts = scores.row_size();
  INGLE_CHECK(used >= 1 && used <= experts);
  const Scope scope(*this, "route", rows, 4.0 * static_cast<double>(scores.shape.elements()),
                    static_cast<double>(scores.shape.elements()));
  auto* expert = arena_.allocate_array<int32_t>(rows * used);
  auto* weight = arena_.allocate_array<float>(rows * used);
  auto* order = arena_.allocate_array<int32_t>(rows * experts);
  each_row(rows, experts * 8, [&](int64_t r) {
    const float* score = scores.row(r);
    int32_t* best = order + r * experts;
    std::iota(best, best + experts, 0);
    std::partial_sort(best, best + used, best + experts,
                      [&](int32_t a, int32_t b) { return score[a] != score[b] ? score[a] > score[b] : a < b; });
    const int64_t shared = shares == Shares::kOfUsed ? used : experts;  // `best` names all of them, the used ones first
    double sum = 0;
    for (int64_t i = 0; i < shared; ++i) sum += std::exp(static_cast<double>(score[best[i]]) - score[best[0]]);
    for (int64_t i = 0; i < used; ++i) {
      const double share = std::exp(static_cast<double>(score[best[i]]) - score[best[0]]) / sum;
      expert[r * used + i] = best[i];
      weight[r * used + i] = static_cast<float>(share) * (scale == nullptr ? 1.0f : scale[best[i]]);
    }
  });
  return {rows, used, expert, weight};
}

// Expert by expert: the rows that go there are gathered, taken through its block, and put where the row's sum will find
// them. The sum is taken in the order of a row's own list, so it does not depend on the other rows.
Tensor CpuOps::experts_mlp(const Experts& experts, const Routes& routes, Tensor x, Into into) {
  const int64_t assignments = routes.rows * routes.used;
  const auto count = static_cast<int64_t>(experts.down.size());
  INGLE_CHECK(x.rows() == routes.rows);
  const int64_t d = experts.down[0].out();
  const bool add = into.add_to.data != nullptr;
  Tensor result = add ? into.add_to : make_tensor({routes.rows, d});
  INGLE_CHECK(result.rows() == routes.rows && result.row_size() == d);
  if (x.empty()) return result;
  const Scope scope(*this, "experts_mlp", x.rows(), 0,
                    6.0 * static_cast<double>(assignments * x.row_size() * experts.gate[0].out()));

  // Assignments sorted by expert: first[e] .. first[e + 1] of `sorted`.
  auto* first = arena_.allocate_array<int64_t>(count + 1);
  auto* sorted = arena_.allocate_array<int64_t>(assignments);
  std::fill_n(first, count + 1, 0);
  for (int64_t a = 0; a < assignments; ++a) ++first[routes.expert[a] + 1];
  for (int64_t e = 0; e < count; ++e) first[e + 1] += first[e];
  auto* next = arena_.allocate_array<int64_t>(count);
  std::copy_n(first, count, next);
  for (int64_t a = 0; a < assignments; ++a) sorted[next[routes.expert[a]]++] = a;

  Tensor outputs = make_tensor({assignments, d});  // by position in `sorted`
  auto* place = arena_.allocate_array<int64_t>(assignments);
  for (int64_t e = 0; e < count; ++e) {
    const int64_t rows = first[e + 1] - first[e];
    if (rows == 0) continue;
    const Arena::Mark mark = arena_.mark();
    Tensor mine = make_tensor({rows, x.row_size()});
    for (int64_t i = 0; i < rows; ++i) {
      const int64_t assignment = sorted[first[e] + i];
      place[assignment] = first[e] + i;
      std::memcpy(mine.row(i), x.row(assignment / routes.used), static_cast<size_t>(x.row_size()) * sizeof(float));
    }
    const auto index = static_cast<size_t>(e);
    gated_product(experts.gate[index], experts.up[index], experts.down[index], experts.activation, mine,
                  outputs.row(first[e]), false);
    arena_.rewind(mark);
  }
  if (add) need_scratch(static_cast<size_t>(d) * sizeof(float));
  each_row(routes.rows, d * routes.used, [&](int64_t r, int thread) {
    float* sum = add ? reinterpret_cast<float*>(thread_scratch(thread)) : result.row(r);
    std::memset(sum, 0, static_cast<size_t>(d) * sizeof(float));
    for (int64_t i = 0; i < routes.used; ++i) {
      const int64_t a = r * routes.used + i;
      kernels_.blend(sum, 1.0f, outputs.row(place[a]), routes.weight[a], d);
    }
    if (add) kernels_.blend(result.row(r), 1.0f, sum, 1.0f, d);
  });
  if (add) changed(result);
  return result;
}

}  // namespace ingle::cpu
