// Products with weights: which kernel serves which row count, and how the work is cut.
//
// A task is one panel of weight rows over a block of tokens. Few tokens (a decode): panels stream past them. Many: the
// panel is expanded once into L2 and every token group passes over it.
#include <cstring>

#include "backend/cpu/cpu_ops.h"
#include "backend/cpu/each_row.h"
#include "backend/cpu/op_scope.h"
#include "backend/cpu/task_list.h"
#include "base/error.h"

namespace ingle::cpu {
namespace {

// Longest piece of k that is expanded at once: 32 rows x 2048 bytes and their scales are 80 KiB, a part of any L2.
constexpr int64_t kSliceBlocks = 64;
constexpr int64_t kFloatSlice = 256;  // k of a float slice: a multiple of the kernels' chunk
// Tokens of one pass over an expanded panel: the results of a pass stay in L1.
constexpr int64_t kPassTokens = 48;

double product_bytes(const CpuMatrix& w, int64_t rows) {
  return static_cast<double>(w.bytes) + 4.0 * static_cast<double>(rows) * static_cast<double>(w.columns + w.rows);
}
double product_operations(const CpuMatrix& w, int64_t rows) {
  return 2.0 * static_cast<double>(rows) * static_cast<double>(w.columns) * static_cast<double>(w.rows);
}

size_t aligned(size_t bytes) { return (bytes + 63) & ~size_t{63}; }

size_t expanded_bytes(const CpuMatrix& w, int panel_rows) {
  return w.int_format->expanded_bytes_per_row * static_cast<size_t>(panel_rows) *
         static_cast<size_t>(std::min(w.blocks(), kSliceBlocks));
}

// Room for an expanded slice (behind it for a panel that is packed where it is used), then for results; all 64-byte
// aligned.
size_t slice_bytes(const CpuMatrix& w, int panel_rows) {
  if (w.int_format != nullptr) {
    return aligned(expanded_bytes(w, panel_rows)) + (w.packs_per_use() ? w.panel_bytes : 0);
  }
  // A float slice, and one decoded row where rows stay as in the file.
  return sizeof(float) * static_cast<size_t>(panel_rows * std::min(w.columns, kFloatSlice) + w.columns + 16);
}

bool several_slices(const CpuMatrix& w) {
  return w.int_format != nullptr ? w.blocks() > kSliceBlocks : w.columns > kFloatSlice;
}

}  // namespace

const QuantizedRows* CpuOps::quantize(const Tensor& x, bool fine) {
  INGLE_CHECK(x.row_size() % 32 == 0);
  auto* memo = static_cast<TensorMemo*>(x.memo);
  if (memo == nullptr) memo = make_memo();
  const int form = fine ? 1 : 0;
  QuantizedRows& q = memo->quantized[form];
  const int64_t lies_in = memo->layer[form];
  if (q.data == nullptr || (lies_in != memory_layer_ && lies_in > kept_)) {
    memo->layer[form] = memory_layer_;
    q = QuantizedRows(x.rows(), x.row_size(), fine, kernels_.tile_tokens);
    q.data = arena_.allocate_array<uint8_t>(static_cast<int64_t>(q.bytes()));
    quantize_rows(q, x.data);
  }
  return &q;
}

void CpuOps::quantize_rows(QuantizedRows& q, const float* x) {
  const int64_t row_size = q.blocks * 32;
  const auto group = [&](int64_t g) {
    kernels_.quantize(x + g * q.tile / q.terms * row_size, row_size, q.group_tokens(g) / q.terms, q.terms, q.blocks,
                      q.at(g, 0));
  };
  each_row(q.groups(), q.tile / q.terms * row_size, group);
}

CpuOps::Product CpuOps::product(const Linear& w, const Tensor& x, float* out, bool add) {
  const auto& m = static_cast<const CpuMatrix&>(*w.weight);
  INGLE_CHECK(x.row_size() == m.columns);
  return {&m, w.bias, x.rows(), x.data, m.int_format != nullptr ? quantize(x, w.fine) : nullptr, out, add};
}

int64_t CpuOps::token_block(const Product& p) const noexcept {
  const int terms = p.terms();
  if (p.rows * terms <= kMaxGemvTokens || several_slices(*p.w)) return p.rows;
  return kPassTokens / kernels_.tile_tokens * kernels_.tile_tokens / terms;
}

// Packed bytes that a thread is likely to expand next, asked for in shares while its tiles leave memory idle.
struct CpuOps::Ahead {
  const uint8_t* at = nullptr;
  int64_t lines = 0;
  void fetch(int64_t share, int64_t shares) const noexcept {
    for (int64_t line = lines * share / shares; line < lines * (share + 1) / shares; ++line)
      __builtin_prefetch(at + 64 * line, 0, 2);  // into L2
  }
};

// The slice after this one: of the same panel, or of the panel that comes when each thread has taken 32 rows.
CpuOps::Ahead CpuOps::after_slice(const Product& p, int64_t panel, int64_t block) const noexcept {
  const int panel_rows = kernels_.panel_rows;
  block += kSliceBlocks;
  if (block >= p.w->blocks()) {
    panel += 32 / panel_rows * pool_.size();
    block = 0;
  }
  if (p.w->packs_per_use() || panel >= p.w->panels(panel_rows)) return {};
  const IntFormat& format = *p.w->int_format;
  const int64_t blocks = std::min(kSliceBlocks, p.w->blocks() - block);
  return {p.w->panel(panel) + format.packed_bytes_per_row(block) * static_cast<size_t>(panel_rows),
          static_cast<int64_t>(format.packed_bytes_per_row(blocks)) * panel_rows / 64};
}

void CpuOps::int_panel(const Product& p, int64_t panel, int64_t first, int64_t last, float* acc, std::byte* slice,
                       bool fresh) {
  const IntFormat& format = *p.w->int_format;
  const QuantizedRows& q = *p.quantized;
  const int panel_rows = kernels_.panel_rows;
  const uint8_t* packed = p.w->panel(panel);
  if (p.w->packs_per_use()) {
    uint8_t* here = reinterpret_cast<uint8_t*>(slice) + aligned(expanded_bytes(*p.w, panel_rows));
    if (fresh) p.w->pack_panel(p.w->file_rows, panel, panel_rows, here);
    packed = here;
  }
  if (p.streams()) return stream_panels(p, {{packed}, {acc}, 1});
  const int64_t first_row = first * q.terms, last_row = last * q.terms;
  auto* expanded = reinterpret_cast<uint8_t*>(slice);
  for (int64_t block = 0; block < q.blocks; block += kSliceBlocks) {
    const int64_t blocks = std::min(kSliceBlocks, q.blocks - block);
    if (q.blocks > kSliceBlocks || fresh) {
      format.expand(packed + format.packed_bytes_per_row(block) * static_cast<size_t>(panel_rows), blocks, expanded);
    }
    const Ahead ahead = after_slice(p, panel, block);
    for (int64_t group = first_row / q.tile; group * q.tile < last_row; ++group) {
      ahead.fetch(group, q.groups());
      format.tile[q.group_tokens(group) - 1](expanded, blocks, q.at(group, block),
                                             acc + (group * q.tile - first_row) * panel_rows, block > 0);
    }
  }
  if (q.terms == 2) join_terms(acc, last - first);
}

// hi += lo
void CpuOps::join_terms(float* acc, int64_t tokens) const noexcept {
  const int panel_rows = kernels_.panel_rows;
  kernels_.store(acc + panel_rows, 2 * panel_rows, nullptr, tokens, panel_rows, acc, 2 * panel_rows, true);
}

void CpuOps::stream_panels(const Product& p, const PanelGroup& group) const noexcept {
  const QuantizedRows& q = *p.quantized;
  p.w->int_format->gemv[q.rows - 1](group.panel, group.acc, group.count, q.blocks, q.data);
  for (int i = 0; i < group.count && q.terms == 2; ++i) join_terms(group.acc[i], p.rows);
}

void CpuOps::float_panel(const Product& p, int64_t panel, int64_t first, int64_t last, float* acc, std::byte* slice) {
  const CpuMatrix& w = *p.w;
  const int panel_rows = kernels_.panel_rows;
  if (w.float_format != nullptr && p.rows == 1) {
    w.float_format->gemv(w.panel(panel), w.columns, p.x, acc);
    return;
  }
  auto* expanded = reinterpret_cast<float*>(slice);
  float* row = expanded + panel_rows * std::min(w.columns, kFloatSlice);
  const int tile = kernels_.tile_tokens;
  for (int64_t k = 0; k < w.columns; k += kFloatSlice) {
    const int64_t count = std::min(kFloatSlice, w.columns - k);
    if (w.float_format != nullptr) {
      const size_t number = w.float_format->type == DType::kF32 ? 4 : 2;
      w.float_format->expand(w.panel(panel) + static_cast<size_t>(k * panel_rows) * number, count, expanded);
    } else {
      // Rows as in the file: whole blocks are decoded, the slice is taken out of them.
      const Format& format = format_of(w.file_type);
      const int64_t begin = k / format.block_elements * format.block_elements;
      const int64_t blocks_end =
          (k + count + format.block_elements - 1) / format.block_elements * format.block_elements;
      for (int r = 0; r < panel_rows; ++r) {
        const int64_t index = panel * panel_rows + r;
        if (index < w.rows) {
          format.decode(w.file_rows.row(index) + format.row_bytes(begin), row, blocks_end - begin);
          for (int64_t i = 0; i < count; ++i) expanded[i * panel_rows + r] = row[k - begin + i];
        } else {
          for (int64_t i = 0; i < count; ++i) expanded[i * panel_rows + r] = 0.0f;
        }
      }
    }
    for (int64_t t = first; t < last; t += tile) {
      const int64_t tokens = std::min<int64_t>(tile, last - t);
      kernels_.float_tile[tokens - 1](expanded, count, p.x + t * w.columns + k, w.columns,
                                      acc + (t - first) * panel_rows, k > 0);
    }
  }
}

void CpuOps::panel_product(const Product& p, int64_t panel, int64_t first, int64_t last, float* acc, std::byte* slice,
                           bool fresh) {
  if (p.w->int_format != nullptr) {
    int_panel(p, panel, first, last, acc, slice, fresh);
  } else {
    float_panel(p, panel, first, last, acc, slice);
  }
}

void CpuOps::store_panel(const Product& p, int64_t panel, int64_t first, int64_t last, const float* acc) {
  const int64_t row = panel * kernels_.panel_rows;
  const int64_t count = std::min<int64_t>(kernels_.panel_rows, p.w->rows - row);
  const float* bias = p.bias == nullptr ? nullptr : p.bias + row;
  kernels_.store(acc, kernels_.panel_rows * p.terms(), bias, last - first, count, p.out + first * p.w->rows + row,
                 p.w->rows, p.add);
}

void CpuOps::product_task(const Product& p, int64_t begin, int64_t end, int thread) {
  std::byte* slice = thread_scratch(thread);
  if (p.streams_panels()) {
    auto* results = reinterpret_cast<float*>(slice);
    for (int64_t panel = begin; panel < end; panel += kMaxGemvPanels) {
      PanelGroup group;
      for (; group.count < std::min<int64_t>(kMaxGemvPanels, end - panel); ++group.count) {
        group.panel[group.count] = p.w->panel(panel + group.count);
        group.acc[group.count] = results + group.count * kMaxGemvTokens * kernels_.panel_rows;
      }
      stream_panels(p, group);
      for (int i = 0; i < group.count; ++i) store_panel(p, panel + i, 0, p.rows, group.acc[i]);
    }
    return;
  }
  auto* acc = reinterpret_cast<float*>(slice + aligned(slice_bytes(*p.w, kernels_.panel_rows)));
  const int64_t block = token_block(p);
  for (int64_t panel = begin; panel < end; ++panel) {
    for (int64_t first = 0; first < p.rows; first += block) {
      const int64_t last = std::min(first + block, p.rows);
      panel_product(p, panel, first, last, acc, slice, first == 0);
      store_panel(p, panel, first, last, acc);
    }
  }
}

int64_t CpuOps::stream_chunk(int64_t total) const noexcept {
  const int64_t chunk = total / (8 * pool_.size());
  if (chunk >= kMaxGemvPanels) return chunk / kMaxGemvPanels * kMaxGemvPanels;
  return total >= 2 * kMaxGemvPanels * pool_.size() ? kMaxGemvPanels : std::max<int64_t>(1, chunk);
}

CpuOps::ProductTasks CpuOps::product_tasks(std::span<const Product> products) const noexcept {
  const int panel_rows = kernels_.panel_rows;
  size_t scratch = streamed_results();
  int64_t total = 0;
  bool streams = true;
  for (const Product& p : products) {
    const auto results = static_cast<size_t>(token_block(p) * p.terms() * panel_rows) * sizeof(float);
    scratch = std::max(scratch, aligned(slice_bytes(*p.w, panel_rows)) + results);
    total += p.w->panels(panel_rows);
    streams &= p.streams();
  }
  return {scratch, streams ? stream_chunk(total) : 1};
}

void CpuOps::run_products(std::span<const Product> products) {
  const ProductTasks tasks = product_tasks(products);
  need_scratch(tasks.scratch);
  each_task(
      pool_, products.size(), tasks.chunk, [&](size_t i) { return products[i].w->panels(kernels_.panel_rows); },
      [&](size_t i, int64_t begin, int64_t end, int thread) { product_task(products[i], begin, end, thread); });
}

Tensor CpuOps::linear(const Linear& w, Tensor x, Into into) {
  const auto& m = static_cast<const CpuMatrix&>(*w.weight);
  const bool add = into.add_to.data != nullptr;
  if (x.empty()) return add ? into.add_to : make_tensor({0, m.rows});
  const Scope scope(*this, "linear", x.rows(), product_bytes(m, x.rows()), product_operations(m, x.rows()));
  Tensor result = add ? into.add_to : make_tensor({x.rows(), m.rows});
  INGLE_CHECK(result.rows() == x.rows() && result.row_size() == m.rows);
  const Product p = product(w, x, result.data, add);
  run_products({&p, 1});
  if (add) changed(result);
  return result;
}

void CpuOps::linears(std::initializer_list<LinearJob> jobs, std::initializer_list<Tensor*> results) {
  INGLE_CHECK(jobs.size() == results.size() && jobs.size() <= 8);
  double bytes = 0, operations = 0;
  for (const LinearJob& job : jobs) {
    const auto& m = static_cast<const CpuMatrix&>(*job.w->weight);
    bytes += product_bytes(m, job.x.rows());
    operations += product_operations(m, job.x.rows());
  }
  const Scope scope(*this, "linears", jobs.begin()->x.rows(), bytes, operations);
  Product products[8];
  size_t count = 0;
  auto result = results.begin();
  for (const LinearJob& job : jobs) {
    **result = make_tensor({job.x.rows(), job.w->out()});
    if (!job.x.empty()) products[count++] = product(*job.w, job.x, (*result)->data, false);
    ++result;
  }
  if (count > 0) run_products({products, count});
}

Tensor CpuOps::gated_mlp(const Linear& gate, const Linear& up, const Linear& down, Activation act, Tensor x,
                         Into into) {
  const auto& g = static_cast<const CpuMatrix&>(*gate.weight);
  const auto& u = static_cast<const CpuMatrix&>(*up.weight);
  const auto& d = static_cast<const CpuMatrix&>(*down.weight);
  const bool add = into.add_to.data != nullptr;
  if (x.empty()) return add ? into.add_to : make_tensor({0, d.rows});
  INGLE_CHECK(g.rows == u.rows && d.columns == g.rows);
  const Scope scope(
      *this, "gated_mlp", x.rows(),
      product_bytes(g, x.rows()) + product_bytes(u, x.rows()) + product_bytes(d, x.rows()),
      product_operations(g, x.rows()) + product_operations(u, x.rows()) + product_operations(d, x.rows()));
  Tensor result = add ? into.add_to : make_tensor({x.rows(), d.rows});
  INGLE_CHECK(result.rows() == x.rows() && result.row_size() == d.rows);
  gated_product(gate, up, down, act, x, result.data, add);
  if (add) changed(result);
  return result;
}

void CpuOps::gated_product(const Linear& gate, const Linear& up, const Linear& down, Activation act, const Tensor& x,
                           float* out, bool add) {
  const auto& g = static_cast<const CpuMatrix&>(*gate.weight);
  const auto& u = static_cast<const CpuMatrix&>(*up.weight);
  const auto& d = static_cast<const CpuMatrix&>(*down.weight);
  if (g.int_format != nullptr && u.int_format != nullptr && d.int_format != nullptr) {
    // The hidden rows exist only as the int8 form that `down` reads.
    QuantizedRows hidden(x.rows(), d.columns, down.fine, kernels_.tile_tokens);
    hidden.data = arena_.allocate_array<uint8_t>(static_cast<int64_t>(hidden.bytes()));
    const GatedJob job{product(gate, x, nullptr, false), product(up, x, nullptr, false), &hidden};
    const Product last{&d, down.bias, x.rows(), nullptr, &hidden, out, add};
    fused_gated({&job, 1}, act, {&last, 1});
    return;
  }
  Tensor gates = make_tensor({x.rows(), g.rows}), ups = make_tensor({x.rows(), g.rows});
  const Product both[2] = {product(gate, x, gates.data, false), product(up, x, ups.data, false)};
  run_products(both);
  const auto activate = activation(act);
  each_row(x.rows(), g.rows,
           [&](int64_t r) { activate(gates.row(r), ups.row(r), g.rows, 1, g.rows, gates.row(r), g.rows); });
  const Product last = product(down, gates, out, add);
  run_products({&last, 1});
}

void CpuOps::fused_gated(std::span<const GatedJob> jobs, Activation act, std::span<const Product> then) {
  GatedRoom room{};
  int64_t total = 0;
  bool streams = true;
  for (const GatedJob& job : jobs) {
    INGLE_CHECK(job.up.terms() == job.gate.terms());
    for (const Product* p : {&job.gate, &job.up}) {
      room.slice = std::max(room.slice, aligned(slice_bytes(*p->w, kernels_.panel_rows)));
      const auto results = static_cast<size_t>(token_block(*p) * kernels_.panel_rows * p->terms()) * sizeof(float);
      room.results = std::max(room.results, aligned(results));
      room.numbers = std::max(room.numbers, static_cast<size_t>(token_block(*p) * 32) * sizeof(float));
    }
    total += job.hidden->blocks;
    streams &= job.gate.streams();
  }
  const int panels = 2 * 32 / kernels_.panel_rows;
  const ProductTasks last = product_tasks(then);
  need_scratch(std::max({static_cast<size_t>(panels) * (room.slice + room.results) + room.numbers,
                         streamed_results() + room.numbers, last.scratch}));
  const auto units = [&](size_t j) { return jobs[j].hidden->blocks; };
  const auto unit_task = [&](size_t j, int64_t begin, int64_t end, int thread) {
    gated_units(jobs[j], begin, end, act, room, thread_scratch(thread));
  };
  TaskList hidden(jobs.size(), streams ? stream_chunk(total) : 1, units, unit_task);
  if (then.empty()) return hidden.run(pool_);
  const auto panels_of = [&](size_t i) { return then[i].w->panels(kernels_.panel_rows); };
  const auto panel_task = [&](size_t i, int64_t begin, int64_t end, int thread) {
    product_task(then[i], begin, end, thread);
  };
  TaskList results(then.size(), last.chunk, panels_of, panel_task);
  pool_.run([&](int thread) {
    hidden.work(thread);
    pool_.barrier();
    results.work(thread);
  });
}

// A unit is 32 hidden numbers, one block of the rows that `down` reads: as many panels of gate and of up as that takes.
void CpuOps::gated_units(const GatedJob& job, int64_t begin, int64_t end, Activation act, const GatedRoom& room,
                         std::byte* scratch) {
  const Product &gate = job.gate, &up = job.up;
  const int parts = 32 / kernels_.panel_rows, panels = 2 * parts;
  const auto product_of = [&](int i) -> const Product& { return i % 2 == 0 ? gate : up; };
  float* results[kMaxGatedPanels];
  if (gate.streams_panels() && up.streams_panels() && gate.w->int_format == up.w->int_format &&
      gate.quantized == up.quantized) {
    const int together = std::max(1, kMaxGemvPanels / panels);
    auto* numbers = reinterpret_cast<float*>(scratch + streamed_results());
    for (int i = 0; i < together * panels; ++i)
      results[i] = reinterpret_cast<float*>(scratch) + i * kMaxGemvTokens * kernels_.panel_rows;
    for (int64_t unit = begin; unit < end; unit += together) {
      const int units = static_cast<int>(std::min<int64_t>(together, end - unit));
      PanelGroup group;
      for (int i = 0; i < units * panels; ++i) {
        group.panel[group.count] = product_of(i).w->panel(unit * parts + i / 2);
        group.acc[group.count++] = results[i];
        if (group.count < kMaxGemvPanels && i + 1 < units * panels) continue;
        stream_panels(gate, group);
        group.count = 0;
      }
      for (int u = 0; u < units; ++u)
        finish_gated_unit(job, unit + u, 0, gate.rows, act, results + u * panels, numbers);
    }
    return;
  }
  const auto slice_of = [&](int i) { return scratch + static_cast<size_t>(i) * (room.slice + room.results); };
  for (int i = 0; i < panels; ++i) results[i] = reinterpret_cast<float*>(slice_of(i) + room.slice);
  auto* numbers = reinterpret_cast<float*>(slice_of(panels));
  // Blocks of tokens end at group borders of the input and of the hidden rows: both tiles divide 12.
  const int64_t block = std::min(token_block(gate), token_block(up));
  for (int64_t unit = begin; unit < end; ++unit) {
    for (int64_t first = 0; first < gate.rows; first += block) {
      const int64_t last = std::min(first + block, gate.rows);
      for (int i = 0; i < panels; ++i)
        panel_product(product_of(i), unit * parts + i / 2, first, last, results[i], slice_of(i), first == 0);
      finish_gated_unit(job, unit, first, last, act, results, numbers);
    }
  }
}

void CpuOps::finish_gated_unit(const GatedJob& job, int64_t unit, int64_t first, int64_t last, Activation act,
                               float* const* results, float* numbers) {
  const int panel_rows = kernels_.panel_rows;
  const int parts = 32 / panel_rows;
  const int64_t stride = panel_rows * job.gate.terms();
  const auto activate = activation(act);
  for (int part = 0; part < parts; ++part) {
    for (const Product* p : {&job.gate, &job.up}) {
      if (p->bias == nullptr) continue;
      float* result = results[2 * part + (p == &job.up)];
      kernels_.store(result, stride, p->bias + (unit * parts + part) * panel_rows, last - first, panel_rows, result,
                     stride, false);
    }
    activate(results[2 * part], results[2 * part + 1], stride, last - first, panel_rows, numbers + part * panel_rows,
             32);
  }
  const QuantizedRows& hidden = *job.hidden;
  const int64_t last_row = last * hidden.terms;
  for (int64_t group = first * hidden.terms / hidden.tile; group * hidden.tile < last_row; ++group) {
    kernels_.quantize(numbers + (group * hidden.tile / hidden.terms - first) * 32, 32,
                      hidden.group_tokens(group) / hidden.terms, hidden.terms, 1, hidden.at(group, unit));
  }
}

}  // namespace ingle::cpu
