// The cache and attention over it.
//
// Keys are visited in spans of 256 positions. Within a span online softmax runs block by block; the spans' (maximum,
// sum, output) are merged in order. So spans can be computed by different threads when rows are few, and a row's result
// is the same either way.
#include <algorithm>
#include <cstring>
#include <limits>
#include <numbers>

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
size_t round_up_64(size_t x) { return (x + 63) / 64 * 64; }

// m and sums (AttentionTile) of some query rows, in one piece of memory. A vector may be read from each m.
struct SoftmaxState {
  float *m, *sums;
  static size_t maxima_bytes(int64_t q_rows) {
    return static_cast<size_t>(round_up_16(q_rows) + kSumLanes) * sizeof(float);
  }
  SoftmaxState(std::byte* memory, int64_t q_rows) noexcept
      : m(reinterpret_cast<float*>(memory)), sums(reinterpret_cast<float*>(memory + maxima_bytes(q_rows))) {}
  void clear(int64_t q_rows, int64_t v_stride) const noexcept {
    std::fill(m, sums, -std::numeric_limits<float>::infinity());
    std::memset(sums, 0, static_cast<size_t>(q_rows * (kSumLanes + v_stride)) * sizeof(float));
  }
  // Adds what a later span has found.
  void merge(const SoftmaxState& later, int64_t q_rows, int64_t v_stride, const CpuKernels& kernels) const noexcept {
    kernels.attention_merge(m, sums, later.m, later.sums, static_cast<int>(q_rows), v_stride);
  }
};

}  // namespace

void CpuOps::append(const KvLayer& kv, Tensor k, Tensor v, const RowSet& rows, const Rope* rope) {
  if (rows.empty()) return;
  const KvLayout& layout = kv.layout;
  INGLE_CHECK(k.rows() == rows.size() && v.rows() == rows.size());
  INGLE_CHECK(rope == nullptr || rope->rotated <= layout.k_dim);
  const bool turns = rope != nullptr && rope->rotated > 0;
  const Scope scope(*this, turns ? "rope, append" : "append", rows.size(),
                    4.0 * static_cast<double>(k.shape.elements() + v.shape.elements()),
                    turns ? 3.0 * static_cast<double>(k.shape.elements()) : 0.0);
  // Turned keys exist only in a thread's scratch, as many as a kernel takes.
  const RopeTable* table = turns ? &rope_table(rows.positions, *rope) : nullptr;
  if (turns) need_scratch(static_cast<size_t>(kAppendRows * layout.k_dim) * sizeof(float));
  const KvFormat& k_format = kv_format_of(kernels_, layout.k_type);
  const KvFormat& v_format = kv_format_of(kernels_, layout.v_type);
  const auto append_rows = [&](int64_t head, const RowRun& run, int64_t begin, int64_t end, int thread) {
    int count;  // of rows that the kernels take at once
    for (int64_t r = begin; r < end; r += count) {
      const int32_t position = rows.positions[static_cast<size_t>(r)];
      const int32_t block = kv.tables[static_cast<size_t>(run.slot)][static_cast<size_t>(position / kKvBlockPositions)];
      const int offset = position % kKvBlockPositions;
      count = 1;
      while (r + count < end && (offset + count) % kAppendRows != 0 &&
             rows.positions[static_cast<size_t>(r + count)] == position + count) {
        ++count;
      }
      const float* keys = k.row(r) + head * layout.k_dim;
      int64_t stride = k.row_size();
      if (turns) {
        auto* turned = reinterpret_cast<float*>(thread_scratch(thread));
        for (int i = 0; i < count; ++i) {
          std::memcpy(turned + i * layout.k_dim, keys + i * stride, static_cast<size_t>(layout.k_dim) * sizeof(float));
          turn(turned + i * layout.k_dim, *table, r + i);
        }
        keys = turned;
        stride = layout.k_dim;
      }
      k_format.append_k(keys, stride, count, layout.k_dim, offset, reinterpret_cast<uint8_t*>(kv.k(block, head)));
      v_format.append_v(v.row(r) + head * layout.v_dim, v.row_size(), count, layout.v_dim, offset,
                        reinterpret_cast<uint8_t*>(kv.v(block, head)));
    }
  };
  if (rows.size() <= kSplitTokens) {
    for (const RowRun& run : rows.runs) {
      for (int64_t head = 0; head < layout.kv_heads; ++head)
        append_rows(head, run, run.first_row, run.first_row + run.rows, 0);
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
  pool_.run([&](int thread) {
    int64_t task, end;
    while (tasks.next(task, end)) {
      int64_t block = task / layout.kv_heads;
      size_t i = 0;
      while (block >= blocks_of(rows.runs[i])) block -= blocks_of(rows.runs[i++]);
      const RowRun& run = rows.runs[i];
      const int64_t first = (first_block(run) + block) * kKvBlockPositions;
      const auto begin = rows.positions.begin() + run.first_row, behind = begin + run.rows;
      append_rows(task % layout.kv_heads, run, std::lower_bound(begin, behind, first) - rows.positions.begin(),
                  std::lower_bound(begin, behind, first + kKvBlockPositions) - rows.positions.begin(), thread);
    }
  });
}

// What every task of one attention call shares.
struct CpuOps::AttentionWork {
  const KvLayer& kv;
  const RowSet& rows;
  const AttentionOptions& options;
  const KvFormat &k_format, &v_format;
  const AttentionKernel& kernel;
  bool direct;  // the kernel reads blocks as they are
  Tensor q, out;
  // A key head's query heads are taken `group` at a time, in `parts` pieces: a "head" of all that follows is such a
  // piece.
  int64_t heads, group, parts, k_dim, v_dim, v_stride;

  // Room for one task: queries and their scales, a later span's and the merged state, and the float tiles of a block.
  int64_t query_stride() const noexcept { return kernel.query_bytes(k_dim); }
  size_t query_bytes(int64_t q_rows) const noexcept {
    return round_up_64(static_cast<size_t>(q_rows * query_stride())) + scale_bytes(q_rows);
  }
  static size_t scale_bytes(int64_t q_rows) noexcept {
    return round_up_64(static_cast<size_t>(q_rows) * sizeof(float));
  }
  size_t state_bytes(int64_t q_rows) const noexcept {
    return SoftmaxState::maxima_bytes(q_rows) + static_cast<size_t>(q_rows * (kSumLanes + v_stride)) * sizeof(float);
  }
  bool split(const RowRun& run) const noexcept { return run.rows <= kSplitTokens && run.rows * group <= kTaskRows; }
  size_t tile_bytes() const noexcept {
    return direct ? 0 : static_cast<size_t>(kKvBlockPositions * (k_dim + v_stride)) * sizeof(float);
  }
  int64_t position(int64_t row) const noexcept { return rows.positions[static_cast<size_t>(row)]; }
  int64_t first_position(int64_t row) const noexcept {  // the first key this row sees
    return options.window > 0 ? std::max<int64_t>(0, position(row) - options.window + 1) : 0;
  }
  // Behind the last key that rows of this run see, whichever row it is; 0: each sees up to itself.
  int64_t whole_end(const RowRun& run) const noexcept {
    return options.whole == nullptr ? 0 : options.whole->end_of(run.slot);
  }
  // Behind the last key that this row sees.
  int64_t end_position(int64_t row, int64_t whole) const noexcept { return whole > 0 ? whole : position(row) + 1; }
  // The span of the last key that a run's rows up to this one see.
  int64_t last_span(const RowRun& run, int64_t row) const noexcept {
    return (end_position(row, whole_end(run)) - 1) / kSpanPositions;
  }
  // The blocks from the first to the last key that a run sees are there. Those before them may be gone, where a window
  // has passed: a wider one than that of the cache's group would read them.
  void check_blocks(const RowRun& run, int64_t first, int64_t end) const {
    const auto table = kv.tables[static_cast<size_t>(run.slot)];
    INGLE_CHECK(end <= std::ssize(table) * kKvBlockPositions);
    INGLE_CHECK(table[static_cast<size_t>(first / kKvBlockPositions)] >= 0);
  }
  bool bent() const noexcept { return options.soft_cap > 0.0f || options.slopes != nullptr; }
};

// Queries of tokens [first, last) as the kernel takes them, the heads of a group side by side: [token][head of the
// group], behind them their scales.
void CpuOps::attention_queries(const AttentionWork& work, int64_t head, int64_t first, int64_t last, std::byte* q) {
  const int64_t count = (last - first) * work.group;
  auto* scales = reinterpret_cast<float*>(q + work.query_bytes(count) - AttentionWork::scale_bytes(count));
  const float factor = work.options.scale * (work.bent() ? 1.0f : std::numbers::log2e_v<float>);
  auto* to = reinterpret_cast<uint8_t*>(q);
  for (int64_t row = first; row < last; ++row) {
    const float* from = work.q.row(row) + head * work.group * work.k_dim;
    for (int64_t h = 0; h < work.group; ++h, from += work.k_dim, to += work.query_stride())
      work.kernel.query(from, work.k_dim, factor, to, scales++);
  }
}

// The keys of one span against query rows of tokens [first, last) of one kv head. `state` begins anew.
void CpuOps::attention_span(const AttentionWork& work, const RowRun& run, int64_t head, int64_t first, int64_t last,
                            int64_t span, const std::byte* q, std::byte* state, std::byte* tiles) {
  const int64_t q_rows = (last - first) * work.group;
  const SoftmaxState s(state, q_rows);
  s.clear(q_rows, work.v_stride);
  int32_t limit[kTaskRows], start[kTaskRows];
  float slope[kTaskRows], distance[kTaskRows];
  AttentionTile tile{
      .q = reinterpret_cast<const uint8_t*>(q),
      .q_scale = reinterpret_cast<const float*>(q + work.query_bytes(q_rows) - AttentionWork::scale_bytes(q_rows)),
      .limit = nullptr,
      .start = nullptr,
      .rows = static_cast<int>(q_rows),
      .k = nullptr,
      .v = nullptr,
      .k_dim = work.k_dim,
      .v_stride = work.v_stride,
      .soft_cap = work.options.soft_cap,
      .slope = nullptr,
      .distance = nullptr,
      .m = s.m,
      .sums = s.sums};
  if (work.options.slopes != nullptr) {
    for (int64_t i = 0; i < q_rows; ++i) slope[i] = work.options.slopes[head * work.group + i % work.group];
    tile.slope = slope;
    tile.distance = distance;
  }
  auto* k_tile = reinterpret_cast<float*>(tiles);
  float* v_tile = k_tile + kKvBlockPositions * work.k_dim;
  const auto table = work.kv.tables[static_cast<size_t>(run.slot)];
  const int64_t whole = work.whole_end(run);
  const int64_t end = std::min(work.end_position(last - 1, whole), (span + 1) * kSpanPositions);
  for (int64_t begin = span * kSpanPositions; begin < end; begin += kKvBlockPositions) {
    if (begin + kKvBlockPositions <= work.first_position(first)) continue;  // behind the window of every row
    const int32_t block = table[static_cast<size_t>(begin / kKvBlockPositions)];
    const bool all =
        begin + kKvBlockPositions <= work.end_position(first, whole) && work.first_position(last - 1) <= begin;
    tile.limit = all ? nullptr : limit;
    tile.start = all ? nullptr : start;
    for (int64_t row = first, i = 0; row < last && (!all || tile.slope != nullptr); ++row) {
      const int64_t behind = std::clamp<int64_t>(work.end_position(row, whole) - begin, 0, kKvBlockPositions);
      const int64_t from = std::clamp<int64_t>(work.first_position(row) - begin, 0, kKvBlockPositions);
      for (int64_t h = 0; h < work.group; ++h, ++i) {
        limit[i] = static_cast<int32_t>(behind);
        start[i] = static_cast<int32_t>(from);
        distance[i] = static_cast<float>(begin - work.position(row));
      }
    }
    const auto* k = reinterpret_cast<const uint8_t*>(work.kv.k(block, head / work.parts));
    const auto* v = reinterpret_cast<const uint8_t*>(work.kv.v(block, head / work.parts));
    if (!work.direct) {
      const int keys = static_cast<int>(std::min<int64_t>(kKvBlockPositions, end - begin));
      k = reinterpret_cast<const uint8_t*>(work.k_format.expand_k(k, work.k_dim, keys, k_tile));
      v = reinterpret_cast<const uint8_t*>(work.v_format.expand_v(v, work.v_dim, keys, v_tile));
    }
    tile.k = k;
    tile.v = v;
    work.kernel.tile(tile);
  }
}

void CpuOps::attention_result(const AttentionWork& work, int64_t head, int64_t first, int64_t last,
                              const std::byte* state) {
  const SoftmaxState s(const_cast<std::byte*>(state), (last - first) * work.group);
  const int64_t stride = kSumLanes + work.v_stride;
  for (int64_t row = first, i = 0; row < last; ++row) {
    for (int64_t h = head * work.group; h < (head + 1) * work.group; ++h, ++i) {
      kernels_.attention_finish(s.m[i], s.sums + i * stride,
                                work.options.sinks == nullptr ? nullptr : work.options.sinks + h, work.v_dim,
                                work.out.row(row) + h * work.v_dim);
    }
  }
}

// A block of tokens of one head, all its spans.
void CpuOps::attention_block(const AttentionWork& work, const RowRun& run, int64_t head, int64_t first, int64_t last,
                             int thread) {
  const int64_t q_rows = (last - first) * work.group;
  std::byte* q = thread_scratch(thread);
  std::byte* total = q + work.query_bytes(kTaskRows);
  std::byte* later = total + work.state_bytes(kTaskRows);
  std::byte* tiles = later + work.state_bytes(kTaskRows);
  attention_queries(work, head, first, last, q);
  const int64_t begin = work.first_position(first) / kSpanPositions, end = work.last_span(run, last - 1);
  attention_span(work, run, head, first, last, begin, q, total, tiles);
  for (int64_t span = begin + 1; span <= end; ++span) {
    attention_span(work, run, head, first, last, span, q, later, tiles);
    SoftmaxState(total, q_rows).merge(SoftmaxState(later, q_rows), q_rows, work.v_stride, kernels_);
  }
  attention_result(work, head, first, last, total);
}

// A run of few tokens: every span of every head is a task of its own; the merge, where there are several, follows.
void CpuOps::attention_split(const AttentionWork& work) {
  struct Split {
    const RowRun* run;
    int64_t first_span, spans;
  };
  const int64_t heads = work.heads;
  auto* splits = arena_.allocate_array<Split>(static_cast<int64_t>(work.rows.runs.size()));
  int64_t runs = 0, spans = 0, most_rows = 0;
  for (const RowRun& run : work.rows.runs) {
    if (!work.split(run)) continue;
    const int64_t first = work.first_position(run.first_row) / kSpanPositions;
    const int64_t last = work.last_span(run, run.first_row + run.rows - 1);
    splits[runs++] = {&run, first, last - first + 1};
    spans += last - first + 1;
    most_rows = std::max<int64_t>(most_rows, run.rows);
  }
  if (runs == 0) return;
  const size_t state_bytes = work.state_bytes(most_rows * work.group);
  std::byte* states = arena_.allocate(state_bytes * static_cast<size_t>(spans * heads));
  TaskCounter tasks(spans * heads), merges(runs * heads);
  const auto state = [&](int64_t index, int64_t head) {  // index: spans of all runs in one list
    return states + state_bytes * static_cast<size_t>(index * heads + head);
  };
  pool_.run([&](int thread) {
    int64_t task, end;
    std::byte* q = thread_scratch(thread);
    std::byte* tiles = q + work.query_bytes(kTaskRows) + 2 * work.state_bytes(kTaskRows);
    while (tasks.next(task, end)) {
      const int64_t head = task % heads, index = task / heads;
      int64_t i = 0, span = index;
      while (span >= splits[i].spans) span -= splits[i++].spans;
      const RowRun& run = *splits[i].run;
      attention_queries(work, head, run.first_row, run.first_row + run.rows, q);
      attention_span(work, run, head, run.first_row, run.first_row + run.rows, splits[i].first_span + span, q,
                     state(index, head), tiles);
      if (splits[i].spans == 1)
        attention_result(work, head, run.first_row, run.first_row + run.rows, state(index, head));
    }
    if (spans == runs) return;  // nothing to merge, so nothing to wait for
    pool_.barrier();
    while (merges.next(task, end)) {
      const int64_t head = task % heads, i = task / heads;
      if (splits[i].spans == 1) continue;
      int64_t index = 0;
      for (int64_t before = 0; before < i; ++before) index += splits[before].spans;
      const RowRun& run = *splits[i].run;
      const int64_t count = run.rows * work.group;
      const SoftmaxState sum(state(index, head), count);
      for (int64_t span = 1; span < splits[i].spans; ++span)
        sum.merge(SoftmaxState(state(index + span, head), count), count, work.v_stride, kernels_);
      attention_result(work, head, run.first_row, run.first_row + run.rows, state(index, head));
    }
  });
}

Tensor CpuOps::attention(Tensor q, const KvLayer& kv, const RowSet& rows, const AttentionOptions& options) {
  const KvLayout& layout = kv.layout;
  const int64_t heads = q.shape[1];
  if (rows.empty()) return make_tensor({0, heads * layout.v_dim});
  INGLE_CHECK(q.shape.rank == 3 && q.rows() == rows.size() && q.shape[2] == layout.k_dim);
  INGLE_CHECK(heads % layout.kv_heads == 0);
  INGLE_CHECK(options.whole == nullptr || (options.window == 0 && options.slopes == nullptr));
  const int64_t group = heads / layout.kv_heads;
  int64_t parts = (group + kTaskRows - 1) / kTaskRows;
  while (group % parts != 0) ++parts;
  const KvFormat& k_format = kv_format_of(kernels_, layout.k_type);
  const KvFormat& v_format = kv_format_of(kernels_, layout.v_type);
  const bool direct = k_format.pairs && v_format.pairs;
  AttentionWork work{.kv = kv,
                     .rows = rows,
                     .options = options,
                     .k_format = k_format,
                     .v_format = v_format,
                     .kernel = direct ? kernels_.attention_pairs : kernels_.attention_float,
                     .direct = direct,
                     .q = q,
                     .out = {},
                     .heads = layout.kv_heads * parts,
                     .group = group / parts,
                     .parts = parts,
                     .k_dim = layout.k_dim,
                     .v_dim = layout.v_dim,
                     .v_stride = round_up_16(layout.v_dim)};
  double pairs = 0;  // of a query and a visible key
  double cache_bytes = 0;
  for (const RowRun& run : rows.runs) {
    const int64_t whole = work.whole_end(run), behind = run.first_row + run.rows;
    work.check_blocks(run, work.first_position(run.first_row), work.end_position(behind - 1, whole));
    for (int64_t r = run.first_row; r < behind; ++r)
      pairs += static_cast<double>(work.end_position(r, whole) - work.first_position(r));
    const auto keys = static_cast<double>(work.end_position(behind - 1, whole) - work.first_position(run.first_row));
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
    TaskCounter tasks(blocks * work.heads);
    pool_.run([&](int thread) {
      int64_t task, end;
      while (tasks.next(task, end)) {
        int64_t block = task / work.heads;
        for (const RowRun& run : rows.runs) {
          if (work.split(run)) continue;
          const int64_t here = (run.rows + block_tokens - 1) / block_tokens;
          if (block >= here) {
            block -= here;
            continue;
          }
          const int64_t first = run.first_row + (here - 1 - block) * block_tokens;
          const int64_t last = std::min<int64_t>(first + block_tokens, run.first_row + run.rows);
          attention_block(work, run, task % work.heads, first, last, thread);
          break;
        }
      }
    });
  }
  return work.out;
}

}  // namespace ingle::cpu
