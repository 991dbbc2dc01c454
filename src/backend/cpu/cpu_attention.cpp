// The cache and attention over it.
//
// Keys are visited in spans of 256 positions. Within a span online softmax runs block by block; the spans' (maximum,
// sum, output) are merged in order. So spans can be computed by different threads when rows are few, and a row's result
// is the same either way.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "backend/cpu/cpu_ops.h"
#include "backend/cpu/op_scope.h"
#include "base/error.h"

namespace ingle::cpu {
namespace {

constexpr int64_t kSpanPositions = 256;
// Query rows (tokens x heads of a group) of one task: their scores and outputs stay in L1 and L2 while keys pass.
constexpr int64_t kTaskRows = 96;
// Up to this many tokens of a run (and query rows of a task), spans are computed by different threads.
constexpr int64_t kSplitTokens = 4;

const KvFormat& kv_format_of(const CpuKernels& kernels, DType type) {
  for (int i = 0; i < kernels.kv_format_count; ++i) {
    if (kernels.kv_formats[i].type == type) return kernels.kv_formats[i];
  }
  throw_error(ErrorCode::kInternal, "no cache kernels for type {}", static_cast<uint32_t>(type));
}

int64_t round_up_16(int64_t x) { return (x + 15) / 16 * 16; }

}  // namespace

void CpuOps::append(const KvLayer& kv, Tensor k, Tensor v, const RowSet& rows) {
  const KvLayout& layout = kv.layout;
  INGLE_CHECK(k.rows() == rows.size() && v.rows() == rows.size());
  const Scope scope(*this, "append", rows.size(), 4.0 * static_cast<double>(k.shape.elements() + v.shape.elements()),
                    0);
  const KvFormat& k_format = kv_format_of(kernels_, layout.k_type);
  const KvFormat& v_format = kv_format_of(kernels_, layout.v_type);
  const auto append_rows = [&](int64_t head, const RowRun& run, int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const int32_t position = rows.positions[static_cast<size_t>(r)];
      const int32_t block = kv.tables[static_cast<size_t>(run.slot)][static_cast<size_t>(position / kKvBlockPositions)];
      const int offset = position % kKvBlockPositions;
      k_format.append_k(k.row(r) + head * layout.k_dim, layout.k_dim, offset,
                        reinterpret_cast<uint8_t*>(kv.k(block, head)));
      v_format.append_v(v.row(r) + head * layout.v_dim, layout.v_dim, offset,
                        reinterpret_cast<uint8_t*>(kv.v(block, head)));
    }
  };
  if (rows.size() <= kSplitTokens) {
    for (const RowRun& run : rows.runs) {
      for (int64_t head = 0; head < layout.kv_heads; ++head)
        append_rows(head, run, run.first_row, run.first_row + run.rows);
    }
    return;
  }
  // A task is one head and the rows of a run that fall into one block: two threads never write the same cache line.
  const auto position = [&](int64_t row) { return rows.positions[static_cast<size_t>(row)]; };
  const auto first_block = [&](const RowRun& run) { return position(run.first_row) / kKvBlockPositions; };
  const auto blocks_of = [&](const RowRun& run) {
    return position(run.first_row + run.rows - 1) / kKvBlockPositions - first_block(run) + 1;
  };
  int64_t blocks = 0;
  for (const RowRun& run : rows.runs) blocks += blocks_of(run);
  TaskCounter tasks(layout.kv_heads * blocks);
  pool_.run([&](int) {
    int64_t task, end;
    while (tasks.next(task, end)) {
      int64_t block = task / layout.kv_heads;
      size_t i = 0;
      while (block >= blocks_of(rows.runs[i])) block -= blocks_of(rows.runs[i++]);
      const RowRun& run = rows.runs[i];
      const int64_t first = (first_block(run) + block) * kKvBlockPositions;
      const auto begin = rows.positions.begin() + run.first_row, behind = begin + run.rows;
      append_rows(task % layout.kv_heads, run, std::lower_bound(begin, behind, first) - rows.positions.begin(),
                  std::lower_bound(begin, behind, first + kKvBlockPositions) - rows.positions.begin());
    }
  });
}

// What every task of one attention call shares.
struct CpuOps::AttentionWork {
  const KvLayer& kv;
  const RowSet& rows;
  const AttentionOptions& options;
  const KvFormat &k_format, &v_format;
  Tensor q, out;
  int64_t group, k_dim, v_dim, v_stride;

  // Room for one task: scaled queries, a span's and the merged state, limits, and the float tiles of a block.
  size_t query_bytes(int64_t q_rows) const noexcept { return static_cast<size_t>(q_rows * k_dim) * sizeof(float); }
  size_t state_bytes(int64_t q_rows) const noexcept {
    return static_cast<size_t>(round_up_16(2 * q_rows) + q_rows * v_stride) * sizeof(float);
  }
  bool split(const RowRun& run) const noexcept { return run.rows <= kSplitTokens && run.rows * group <= kTaskRows; }
  size_t tile_bytes() const noexcept { return static_cast<size_t>(64 * (k_dim + v_stride)) * sizeof(float); }
  int64_t first_position(int64_t row) const noexcept {  // the first key this row sees
    const int64_t position = rows.positions[static_cast<size_t>(row)];
    return options.window > 0 ? std::max<int64_t>(0, position - options.window + 1) : 0;
  }
};

namespace {

// m, l and o of some query rows, in one piece of memory.
struct SoftmaxState {
  float *m, *l, *o;
  SoftmaxState(std::byte* memory, int64_t q_rows) noexcept
      : m(reinterpret_cast<float*>(memory)), l(m + q_rows), o(m + round_up_16(2 * q_rows)) {}
  void clear(int64_t q_rows, int64_t v_stride) noexcept {
    for (int64_t i = 0; i < q_rows; ++i) {
      m[i] = -std::numeric_limits<float>::infinity();
      l[i] = 0.0f;
    }
    std::memset(o, 0, static_cast<size_t>(q_rows * v_stride) * sizeof(float));
  }
  // Adds what a later span has found.
  void merge(const SoftmaxState& span, int64_t q_rows, int64_t v_stride, const CpuKernels& kernels) noexcept {
    for (int64_t i = 0; i < q_rows; ++i) {
      if (span.m[i] == -std::numeric_limits<float>::infinity()) continue;
      const float top = std::max(m[i], span.m[i]);
      const float mine = std::exp(m[i] - top), theirs = std::exp(span.m[i] - top);
      kernels.blend(o + i * v_stride, mine, span.o + i * v_stride, theirs, v_stride);
      l[i] = l[i] * mine + span.l[i] * theirs;
      m[i] = top;
    }
  }
};

}  // namespace

// The keys of one span against query rows of tokens [first, last) of one kv head.
void CpuOps::attention_span(const AttentionWork& work, const RowRun& run, int64_t head, int64_t first, int64_t last,
                            int64_t span, const float* q, std::byte* state, std::byte* tiles) {
  const int64_t q_rows = (last - first) * work.group;
  SoftmaxState s(state, q_rows);
  s.clear(q_rows, work.v_stride);
  auto* k_tile = reinterpret_cast<float*>(tiles);
  float* v_tile = k_tile + 64 * work.k_dim;
  int32_t limit[kTaskRows], start[kTaskRows];
  const auto table = work.kv.tables[static_cast<size_t>(run.slot)];
  const int64_t end = work.rows.positions[static_cast<size_t>(last - 1)] + 1;
  for (int64_t begin = span * kSpanPositions; begin < std::min(end, (span + 1) * kSpanPositions);
       begin += kKvBlockPositions) {
    if (begin + kKvBlockPositions <= work.first_position(first)) continue;  // behind the window of every row
    const int32_t block = table[static_cast<size_t>(begin / kKvBlockPositions)];
    for (int64_t i = 0; i < q_rows; ++i) {
      const int64_t row = first + i / work.group;
      limit[i] = static_cast<int32_t>(
          std::clamp<int64_t>(work.rows.positions[static_cast<size_t>(row)] + 1 - begin, 0, kKvBlockPositions));
      start[i] = static_cast<int32_t>(std::clamp<int64_t>(work.first_position(row) - begin, 0, kKvBlockPositions));
    }
    const int keys = static_cast<int>(std::min<int64_t>(kKvBlockPositions, end - begin));
    const auto* k = reinterpret_cast<const uint8_t*>(work.kv.k(block, head));
    const auto* v = reinterpret_cast<const uint8_t*>(work.kv.v(block, head));
    kernels_.attention_tile({.q = q,
                             .limit = limit,
                             .start = start,
                             .rows = static_cast<int>(q_rows),
                             .k = work.k_format.expand_k(k, work.k_dim, keys, k_tile),
                             .v = work.v_format.expand_v(v, work.v_dim, keys, v_tile),
                             .k_dim = work.k_dim,
                             .v_stride = work.v_stride,
                             .soft_cap = work.options.soft_cap,
                             .m = s.m,
                             .l = s.l,
                             .o = s.o});
  }
}

// Scaled queries of tokens [first, last), the heads of a group side by side: [token][head of the group][k_dim].
void CpuOps::attention_queries(const AttentionWork& work, int64_t head, int64_t first, int64_t last, float* q) {
  for (int64_t row = first; row < last; ++row) {
    float* to = q + (row - first) * work.group * work.k_dim;
    std::memcpy(to, work.q.row(row) + head * work.group * work.k_dim, work.query_bytes(work.group));
    kernels_.scale(to, work.group * work.k_dim, work.options.scale);
  }
}

void CpuOps::attention_result(const AttentionWork& work, int64_t head, int64_t first, int64_t last, std::byte* state) {
  const SoftmaxState s(state, (last - first) * work.group);
  for (int64_t i = 0; i < (last - first) * work.group; ++i) {
    float* to = work.out.row(first + i / work.group) + (head * work.group + i % work.group) * work.v_dim;
    std::memcpy(to, s.o + i * work.v_stride, static_cast<size_t>(work.v_dim) * sizeof(float));
    kernels_.scale(to, work.v_dim, 1.0f / s.l[i]);
  }
}

// A block of tokens of one kv head, all its spans.
void CpuOps::attention_block(const AttentionWork& work, const RowRun& run, int64_t head, int64_t first, int64_t last,
                             int thread) {
  const int64_t q_rows = (last - first) * work.group;
  std::byte* scratch = thread_scratch(thread);
  auto* q = reinterpret_cast<float*>(scratch);
  std::byte* total = scratch + work.query_bytes(kTaskRows);
  std::byte* span_state = total + work.state_bytes(kTaskRows);
  std::byte* tiles = span_state + work.state_bytes(kTaskRows);
  attention_queries(work, head, first, last, q);
  SoftmaxState sum(total, q_rows);
  sum.clear(q_rows, work.v_stride);
  const int64_t end = work.rows.positions[static_cast<size_t>(last - 1)];
  for (int64_t span = work.first_position(first) / kSpanPositions; span <= end / kSpanPositions; ++span) {
    attention_span(work, run, head, first, last, span, q, span_state, tiles);
    sum.merge(SoftmaxState(span_state, q_rows), q_rows, work.v_stride, kernels_);
  }
  attention_result(work, head, first, last, total);
}

// A run of few tokens: every span of every kv head is a task of its own; the merge follows.
void CpuOps::attention_split(const AttentionWork& work) {
  struct Split {
    const RowRun* run;
    int64_t first_span, spans;
  };
  const int64_t kv_heads = work.kv.layout.kv_heads;
  auto* splits = arena_.allocate_array<Split>(static_cast<int64_t>(work.rows.runs.size()));
  int64_t runs = 0, spans = 0, most_rows = 0;
  for (const RowRun& run : work.rows.runs) {
    if (!work.split(run)) continue;
    const int64_t first = work.first_position(run.first_row) / kSpanPositions;
    const int64_t last = work.rows.positions[static_cast<size_t>(run.first_row + run.rows - 1)] / kSpanPositions;
    splits[runs++] = {&run, first, last - first + 1};
    spans += last - first + 1;
    most_rows = std::max<int64_t>(most_rows, run.rows);
  }
  if (runs == 0) return;
  const int64_t q_rows = most_rows * work.group;
  const size_t state_bytes = work.state_bytes(q_rows);
  std::byte* states = arena_.allocate(state_bytes * static_cast<size_t>(spans * kv_heads));
  TaskCounter tasks(spans * kv_heads), merges(runs * kv_heads);
  const auto state = [&](int64_t index, int64_t head) {  // index: spans of all runs in one list
    return states + state_bytes * static_cast<size_t>(index * kv_heads + head);
  };
  pool_.run([&](int thread) {
    int64_t task, end;
    std::byte* scratch = thread_scratch(thread);
    auto* q = reinterpret_cast<float*>(scratch);
    std::byte* total = scratch + work.query_bytes(kTaskRows);
    std::byte* tiles = total + 2 * work.state_bytes(kTaskRows);
    while (tasks.next(task, end)) {
      const int64_t head = task % kv_heads, index = task / kv_heads;
      int64_t i = 0, span = index;
      while (span >= splits[i].spans) span -= splits[i++].spans;
      const RowRun& run = *splits[i].run;
      attention_queries(work, head, run.first_row, run.first_row + run.rows, q);
      attention_span(work, run, head, run.first_row, run.first_row + run.rows, splits[i].first_span + span, q,
                     state(index, head), tiles);
    }
    pool_.barrier();
    while (merges.next(task, end)) {
      const int64_t head = task % kv_heads, i = task / kv_heads;
      int64_t index = 0;
      for (int64_t before = 0; before < i; ++before) index += splits[before].spans;
      const RowRun& run = *splits[i].run;
      const int64_t count = run.rows * work.group;
      SoftmaxState sum(total, count);
      sum.clear(count, work.v_stride);
      for (int64_t span = 0; span < splits[i].spans; ++span) {
        sum.merge(SoftmaxState(state(index + span, head), count), count, work.v_stride, kernels_);
      }
      attention_result(work, head, run.first_row, run.first_row + run.rows, total);
    }
  });
}

Tensor CpuOps::attention(Tensor q, const KvLayer& kv, const RowSet& rows, const AttentionOptions& options) {
  const KvLayout& layout = kv.layout;
  const int64_t heads = q.shape[1];
  if (rows.empty()) return make_tensor({0, heads * layout.v_dim});
  INGLE_CHECK(q.shape.rank == 3 && q.rows() == rows.size() && q.shape[2] == layout.k_dim);
  INGLE_CHECK(heads % layout.kv_heads == 0 && heads / layout.kv_heads <= kTaskRows);
  AttentionWork work{.kv = kv,
                     .rows = rows,
                     .options = options,
                     .k_format = kv_format_of(kernels_, layout.k_type),
                     .v_format = kv_format_of(kernels_, layout.v_type),
                     .q = q,
                     .out = {},
                     .group = heads / layout.kv_heads,
                     .k_dim = layout.k_dim,
                     .v_dim = layout.v_dim,
                     .v_stride = round_up_16(layout.v_dim)};
  double pairs = 0;  // of a query and a visible key
  for (int64_t r = 0; r < rows.size(); ++r) {
    pairs += static_cast<double>(rows.positions[static_cast<size_t>(r)] + 1 - work.first_position(r));
  }
  double cache_bytes = 0;
  for (const RowRun& run : rows.runs) {
    const double keys =
        rows.positions[static_cast<size_t>(run.first_row + run.rows - 1)] + 1 - work.first_position(run.first_row);
    cache_bytes += keys * static_cast<double>(layout.block_bytes()) / kKvBlockPositions;
  }
  const Scope scope(*this, "attention", rows.size(), cache_bytes,
                    2.0 * pairs * static_cast<double>(heads * (layout.k_dim + layout.v_dim)));
  work.out = make_tensor({rows.size(), heads * layout.v_dim});
  need_scratch(work.query_bytes(kTaskRows) + 2 * work.state_bytes(kTaskRows) + work.tile_bytes());

  attention_split(work);
  // The other runs: blocks of tokens, the longest (latest) first.
  const int64_t block_tokens = std::max<int64_t>(1, kTaskRows / work.group);
  int64_t blocks = 0;
  for (const RowRun& run : rows.runs) {
    if (!work.split(run)) blocks += (run.rows + block_tokens - 1) / block_tokens;
  }
  if (blocks > 0) {
    TaskCounter tasks(blocks * layout.kv_heads);
    pool_.run([&](int thread) {
      int64_t task, end;
      while (tasks.next(task, end)) {
        int64_t block = task / layout.kv_heads;
        for (const RowRun& run : rows.runs) {
          if (work.split(run)) continue;
          const int64_t here = (run.rows + block_tokens - 1) / block_tokens;
          if (block >= here) {
            block -= here;
            continue;
          }
          const int64_t first = run.first_row + (here - 1 - block) * block_tokens;
          const int64_t last = std::min<int64_t>(first + block_tokens, run.first_row + run.rows);
          attention_block(work, run, task % layout.kv_heads, first, last, thread);
          break;
        }
      }
    });
  }
  return work.out;
}

}  // namespace ingle::cpu
