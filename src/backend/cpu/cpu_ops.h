// The CPU's operations: each cuts its work into tasks for the pool and calls the kernels of one instruction set.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "backend/cpu/activations.h"
#include "backend/cpu/arena.h"
#include "backend/cpu/matrix.h"

namespace ingle::cpu {

class CpuOps final : public Ops {
 public:
  CpuOps(ThreadPool& pool, const CpuKernels& kernels);

  void begin_step() override;
  void set_layer(int layer) override { layer_ = layer; }
  void keep() override {
    layer_mark_ = arena_.mark();
    kept_ = memory_layer_++;
  }
  Tensor end_layer(Tensor x) override;
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

  void set_profile(bool on) override;
  std::vector<OpTiming> profile() const override;
  size_t arena_bytes() const noexcept override { return arena_.capacity() + step_arena_.capacity(); }

 private:
  // One weight on some rows, and where the result goes.
  struct Product {
    const CpuMatrix* w;
    const float* bias;
    int64_t rows;
    const float* x;                  // [rows, w->columns], for float panels
    const QuantizedRows* quantized;  // of x, for integer panels
    float* out;                      // [rows, w->rows]
    bool add;
    int terms() const noexcept { return quantized == nullptr ? 1 : quantized->terms; }
    // So few rows that the packed weights stream past them.
    bool streams() const noexcept { return rows * terms() <= kMaxGemvTokens; }
    // Its panels may be read several at a time.
    bool streams_panels() const noexcept { return streams() && w->int_format != nullptr && !w->packs_per_use(); }
  };
  static constexpr int kMaxGatedPanels = 8;  // of a unit, gate and up: panels have at least 8 rows
  // Bytes for the results of panels that stream: of a group, or of a unit where that has more.
  size_t streamed_results() const noexcept {
    const int panels = std::max(kMaxGemvPanels, 2 * 32 / kernels_.panel_rows);
    return sizeof(float) * static_cast<size_t>(panels * kMaxGemvTokens * kernels_.panel_rows);
  }
  // Panels that are read at a time, and where the results of each go.
  struct PanelGroup {
    const uint8_t* panel[kMaxGemvPanels];
    float* acc[kMaxGemvPanels];
    int count = 0;
  };
  // act(gate x) * (up x), quantised into `hidden`.
  struct GatedJob {
    Product gate, up;
    const QuantizedRows* hidden;
  };
  struct GatedRoom {  // bytes of a thread's scratch: for one expanded panel, its results, and a unit of hidden numbers
    size_t slice, results, numbers;
  };
  class Scope;  // times one call

  Tensor make_tensor(const Shape& shape);
  TensorMemo* make_memo();
  // x has new numbers: forms made of the old ones are void.
  static void changed(const Tensor& x) {
    if (x.memo != nullptr) *static_cast<TensorMemo*>(x.memo) = TensorMemo{};
  }
  // body(row), or body(row, thread), for every row, in parallel when it is worth it. `row_size`: numbers a row's work
  // goes over.
  template <class F>
  void each_row(int64_t rows, int64_t row_size, F&& body);
  // dst = act(gate) * up
  auto activation(Activation act) const noexcept {
    return act == Activation::kSilu   ? kernels_.silu_mul
           : act == Activation::kGelu ? kernels_.gelu_mul
                                      : kernels_.clamped_silu_mul;
  }
  // down(act(gate x) * (up x)) into out [x.rows, down.out], or added to it.
  void gated_product(const Linear& gate, const Linear& up, const Linear& down, Activation act, const Tensor& x,
                     float* out, bool add);
  Product product(const Linear& w, const Tensor& x, float* out, bool add);
  const QuantizedRows* quantize(const Tensor& x, bool fine);
  void quantize_rows(QuantizedRows& rows, const float* x);
  // Panels, or units of hidden numbers, that a thread takes at a time: several of those that stream past few rows, so
  // that it reads one piece of memory, whole groups where there are enough; of others each is work enough.
  int64_t stream_chunk(int64_t total) const noexcept;
  struct ProductTasks {  // a list of products as tasks, one a panel
    size_t scratch;      // bytes that a thread needs
    int64_t chunk;       // panels that it takes at a time
  };
  ProductTasks product_tasks(std::span<const Product> products) const noexcept;
  void product_task(const Product& p, int64_t begin, int64_t end, int thread);  // panels [begin, end) on all rows
  void run_products(std::span<const Product> products);                         // one parallel region for all of them
  // acc[token][panel_rows] of one panel over tokens [first, last), which start and end at group borders. `slice` is
  // room for the expanded panel; unless `fresh` it still holds it.
  void panel_product(const Product& p, int64_t panel, int64_t first, int64_t last, float* acc, std::byte* slice,
                     bool fresh);
  // All of p's rows past a group of panels of weights like p's.
  void stream_panels(const Product& p, const PanelGroup& group) const noexcept;
  void join_terms(float* acc, int64_t tokens) const noexcept;
  struct Ahead;
  Ahead after_slice(const Product& p, int64_t panel, int64_t block) const noexcept;
  void int_panel(const Product& p, int64_t panel, int64_t first, int64_t last, float* acc, std::byte* slice,
                 bool fresh);
  void float_panel(const Product& p, int64_t panel, int64_t first, int64_t last, float* acc, std::byte* slice);
  int64_t token_block(const Product& p) const noexcept;
  void store_panel(const Product& p, int64_t panel, int64_t first, int64_t last, const float* acc);
  void need_scratch(size_t bytes_per_thread);
  std::byte* thread_scratch(int thread) const noexcept {
    return scratch_.data() + static_cast<size_t>(thread) * scratch_per_thread_;
  }
  // One parallel region for all of them, and for the products that read what they give.
  void fused_gated(std::span<const GatedJob> jobs, Activation act, std::span<const Product> then = {});
  void gated_units(const GatedJob& job, int64_t begin, int64_t end, Activation act, const GatedRoom& room,
                   std::byte* scratch);
  // The hidden numbers of a unit for tokens [first, last), from the results of its panels, gate and up in turns.
  void finish_gated_unit(const GatedJob& job, int64_t unit, int64_t first, int64_t last, Activation act,
                         float* const* results, float* numbers);
  struct ExpertRows;
  struct ExpertInputs;
  ExpertRows sort_by_expert(const Routes& routes, int64_t count);
  void add_form(ExpertInputs& inputs, const ExpertRows& lists, const Linear& reader, const Tensor& x);
  static void note_experts(OpTiming& line, const Experts& experts, const ExpertRows& lists);
  QuantizedRows* make_forms(const ExpertRows& lists, int64_t columns, bool fine);
  static Product expert_product(const ExpertRows& lists, int64_t i, std::span<const Linear> weights,
                                const ExpertInputs& inputs, float* out);
  Tensor expert_outputs(const Experts& experts, const ExpertRows& lists, const Tensor& x);
  struct RopeTable {
    const int32_t* positions;
    int64_t rows;
    const Rope* rope;
    float *cos, *sin;  // [rows][pairs]
  };
  const RopeTable& rope_table(std::span<const int32_t> positions, const Rope& rope);
  void turn(float* head, const RopeTable& table, int64_t row) const noexcept;  // one head of one row, in place
  struct AttentionWork;
  void attention_queries(const AttentionWork& work, int64_t head, int64_t first, int64_t last, std::byte* q);
  void attention_span(const AttentionWork& work, const RowRun& run, int64_t head, int64_t first, int64_t last,
                      int64_t span, const std::byte* q, std::byte* state, std::byte* tiles);
  void attention_result(const AttentionWork& work, int64_t head, int64_t first, int64_t last, const std::byte* state);
  void attention_block(const AttentionWork& work, const RowRun& run, int64_t head, int64_t first, int64_t last,
                       int thread);
  void attention_split(const AttentionWork& work);

  ThreadPool& pool_;
  const CpuKernels& kernels_;
  Arena arena_;       // tensors and their int8 forms
  Arena step_arena_;  // what lasts the whole step: rope tables
  Arena::Mark layer_mark_;
  int64_t memory_layer_ = 0;  // counts keep() and end_layer() in this step
  int64_t kept_ = -1;         // memory of layers up to this one stays
  AlignedBuffer scratch_;     // one part per thread
  size_t scratch_per_thread_ = 0;
  int layer_ = -1;
  static constexpr int kRopeTables = 8;
  RopeTable rope_tables_[kRopeTables];
  int rope_table_count_ = 0;
  bool profiling_ = false;
  std::map<std::pair<int, std::string_view>, OpTiming> timings_;
};

}  // namespace ingle::cpu
