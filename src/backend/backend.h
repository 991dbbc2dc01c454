// What a device offers: weights made ready for it, the cache's block layout, and some fifteen coarse operations that
// run in the order they are called, one of which applies any row operation of row_ops.h. There is no graph. A backend
// fuses inside an operation, never across what a model might call next.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/ceilings.h"
#include "backend/row_ops.h"
#include "batch/batch.h"
#include "batch/kv_view.h"
#include "batch/row_need.h"
#include "tensor/tensor.h"

namespace ingle {

// The promises of design section 4. Default arithmetic already has a fixed order (a row's result depends neither on the
// number of threads nor on what else is in the batch), so there is no third mode to choose.
enum class Precision {
  kDefault,  // activations int8 per block of 32 where the weight is quantised; a cache of 16 bits
  kExact,    // activations and cache f32: equal to an f32 implementation on the decoded weights, to rounding
};

// A weight matrix [out, in] in the layout the device's kernels read. Immutable.
class Matrix {
 public:
  virtual ~Matrix() = default;
  std::string name;
  DType file_type = DType::kF32;
  int64_t rows = 0;        // out
  int64_t columns = 0;     // in
  size_t bytes = 0;        // as it lies in memory
  double input_bytes = 0;  // what a product takes, per number of its input, for a form of its own of that input
  // Of a weight, as an integer product takes it (or would: not every format has a kernel): 4, 5, 8. 0: a product of
  // floats.
  int product_bits = 0;
  std::string layout;  // for --explain: "q4_1 x32, gemv avx512_vnni, gemm 2x6"
  std::string reason;  // why this layout, when it is not the obvious one
};

struct Linear {
  const Matrix* weight = nullptr;
  const float* bias = nullptr;  // [out] or none
  // In default precision the input is taken to 15 bits (two int8 terms) instead of 8. For products whose rounding shows
  // most in the logits for what they cost: keys, values, the output matrix (measured:
  // docs/adr/0011-activation-precision.md).
  bool fine = false;
  int64_t in() const noexcept { return weight->columns; }
  int64_t out() const noexcept { return weight->rows; }
};

inline Linear fine(Linear linear) {
  linear.fine = true;
  return linear;
}

// Over the last dimension. RMS norm: x / sqrt(mean(x^2) + eps) * gain. `centred`, layer norm (Ba et al.,
// arXiv:1607.06450): y / sqrt(mean(y^2) + eps) * gain + bias, with y = x - mean(x).
struct Norm {
  const float* gain = nullptr;  // [size], or nullptr: ones
  int64_t size = 0;
  float eps = 0;
  bool centred = false;
  const float* bias = nullptr;  // [size], or nullptr: zeros; of a centred norm only
};

// kGelu: tanh form. kClampedSilu (gpt-oss, arXiv:2508.10925), where what up gives is taken one higher:
//   g = min(gate, 7), u = max(-7, min(up, 7)):  g * sigmoid(1.702 * g) * (u + 1)
enum class Activation { kSilu, kGelu, kClampedSilu };

// The gated feed-forward blocks of a mixture (Shazeer et al., arXiv:1701.06538): one entry per expert.
struct Experts {
  std::vector<Linear> gate, up, down;  // d_model -> d_ff twice, d_ff -> d_model
  Activation activation = Activation::kSilu;
};

// What a row's weights are made of: the softmax of its scores over all experts, or the sigmoid of each.
enum class Gating { kSoftmax, kSigmoid };
// That divided by its sum over the used experts, or as it is.
enum class Shares { kOfUsed, kOfAll };

struct RouteOptions {
  Gating gating = Gating::kSoftmax;
  Shares shares = Shares::kOfUsed;
  const float* scale = nullptr;  // [experts], or nullptr: what weights are multiplied by
  const float* bias = nullptr;   // [experts], or nullptr: added to what chooses, and to nothing else
  // Experts side by side form `groups` of one size; only those of the `groups_used` best ones are chosen from. A group
  // is as good as the sum of its `group_best` best experts.
  int64_t groups = 1, groups_used = 1, group_best = 1;
};

// Which experts each row goes to and what their outputs are multiplied by. Lives as long as a Tensor.
struct Routes {
  int64_t rows = 0, used = 0;
  const int32_t* expert = nullptr;  // [rows, used], best first
  const float* weight = nullptr;    // [rows, used]
};

// Rotary positions (Su et al., arXiv:2104.09864) on the first `rotated` channels of each head.
// angle(p, i) = f32(p) * inverse_frequency[i]; cos and sin are multiplied by magnitude.
struct Rope {
  enum class Pairs { kAdjacent, kHalves };  // (2i, 2i+1), or (i, i + rotated/2)
  Pairs pairs = Pairs::kAdjacent;
  int64_t rotated = 0;
  std::vector<float> inverse_frequency;  // [rotated / 2], scaling already inside
  float magnitude = 1.0f;
};

struct AttentionOptions {
  float scale = 1.0f;
  int32_t window = 0;     // 0: none; otherwise a query at p sees positions > p - window
  float soft_cap = 0.0f;  // 0: none; otherwise cap * tanh(score / cap)
  // [heads], or nullptr. One more score of every row's softmax that takes its share of the weights and has no value
  // (a learned attention sink). It is not scaled, capped or windowed.
  const float* sinks = nullptr;
  // [heads], or nullptr. A score gains slope * (key position - query position) (ALiBi, Press et al., arXiv:2108.12409),
  // after scale and cap.
  const float* slopes = nullptr;
  // nullptr: a row sees what stands up to its own position. Otherwise (encoders) a row sees its whole sequence, up to
  // the sequence's last row in this set, which has rows of every sequence that asks; then no window and no slopes.
  const RowSet* whole = nullptr;
};

// Part of an embedding table's columns, and what they are multiplied by.
struct EmbedOptions {
  int64_t first_column = 0;
  int64_t columns = 0;  // 0: all that follow. A part starts and ends at block borders of the table's format.
  float scale = 1.0f;
};

// Where a result goes: nowhere special, or added to rows that exist (the residual stream).
struct Into {
  Tensor add_to = {};
};

struct OpTiming {  // one line of --profile
  std::string_view op;
  int layer;  // -1 outside layers
  int64_t calls = 0;
  double seconds = 0;
  double bytes = 0;       // weights and cache read, activations read and written
  double operations = 0;  // multiply-adds count two
  int64_t rows = 0;
  // Of a mixture: how often an expert got so many rows in a call (0 too), and how often the weights of its gate and up,
  // and of its down, streamed past these rows instead of being expanded for tiles of rows.
  std::map<int64_t, int64_t> expert_rows = {};
  int64_t streamed_gates = 0, streamed_downs = 0;
};

// One step's operations. Not thread-safe: one caller; parallel inside. Every Tensor it hands out lives until
// begin_step(), or until the end_layer() of the layer that made it.
// Kernels assume shapes that the loader has checked; a mismatch is our own mistake (INGLE_CHECK).
class Ops {
 public:
  virtual ~Ops() = default;
  virtual void begin_step() = 0;  // forgets the last step's tensors; allocates nothing once sizes have been seen
  virtual void set_layer(int layer) = 0;  // for profile and trace; -1 outside layers
  // Every tensor made so far in this step stays until the step ends; call it before the first end_layer().
  virtual void keep() = 0;
  // The end of a layer: every tensor made since the last end (or keep(), or the step's begin) is forgotten, except x,
  // which is returned, perhaps moved. A step so needs the memory of one layer, and that stays in cache.
  virtual Tensor end_layer(Tensor x) = 0;

  // Rows of an embedding table, or of some of its columns: [tokens, columns].
  virtual Tensor embed(const Matrix& table, std::span<const int32_t> tokens, const EmbedOptions& options = {},
                       Into into = {}) = 0;
  // x W^T + bias: [rows, in] -> [rows, out]. With add_to the result is added to it in place, and it is returned.
  virtual Tensor linear(const Linear& w, Tensor x, Into into = {}) = 0;
  // Several products at once, each on its own input (usually the same): one parallel region, one quantised input.
  struct LinearJob {
    const Linear* w;
    Tensor x;
  };
  virtual void linears(std::initializer_list<LinearJob> jobs, std::initializer_list<Tensor*> results) = 0;
  // x W_h^T of each head h: [rows, heads, in] -> [rows, heads, out]. All weights are of one shape and format.
  virtual Tensor linear_by_head(std::span<const Linear> w, Tensor x) = 0;
  // down(act(gate x) * (up x)).
  virtual Tensor gated_mlp(const Linear& gate, const Linear& up, const Linear& down, Activation act, Tensor x,
                           Into into = {}) = 0;
  // The `used` best experts of each row of router scores [rows, experts]. Of equal ones the first wins.
  virtual Routes route(Tensor scores, int64_t used, const RouteOptions& options = {}) = 0;
  // Sum over a row's experts, best first, of weight * down(act(gate x) * (up x)): [rows, d_model].
  virtual Tensor experts_mlp(const Experts& experts, const Routes& routes, Tensor x, Into into = {}) = 0;
  // Over the last dimension of [rows, size] or [rows, heads, size].
  virtual Tensor norm(const Norm& n, Tensor x, Into into = {}) = 0;
  // In place on [rows, heads, head_dim].
  virtual void rope(Tensor x, std::span<const int32_t> positions, const Rope& rope) = 0;
  // Writes K and V [rows, kv_heads, head_dim] of these rows into the cache, keys turned by their positions as rope()
  // would (nullptr: as they are). The tensors stay what they are.
  virtual void append(const KvLayer& kv, Tensor k, Tensor v, const RowSet& rows, const Rope* rope = nullptr) = 0;
  // Attention of each row over its own sequence, up to its position (or all of it, AttentionOptions::whole): [rows,
  // heads, head_dim] -> [rows, heads * v_dim].
  virtual Tensor attention(Tensor q, const KvLayer& kv, const RowSet& rows, const AttentionOptions& options) = 0;
  virtual Tensor gather_rows(Tensor x, std::span<const int32_t> rows) = 0;
  // Some columns (of each head) of one or several tensors, side by side: [..., sum of counts].
  struct Columns {
    Tensor x;
    int64_t first, count;
  };
  virtual Tensor columns(std::initializer_list<Columns> parts) = 0;
  // In place, row by row, [rows, n] or [rows, heads, n]: apply(kSoftCap, logits, {.a = 30}).
  virtual void apply(const RowOp& op, Tensor x, const RowOperands& operands = {}) = 0;

  // Several residual streams per row, [rows, streams, d] (AltUp, Baykal et al., arXiv:2301.13310).
  virtual Tensor stream(Tensor streams, int64_t index) = 0;  // a copy of one: [rows, d]
  // One after another as streams: [rows, streams, d].
  virtual Tensor stack(std::span<const Tensor> rows) = 0;
  // out[i] = in[i] + sum over j of weights[i, j] * in[j]; weights is [rows, streams * streams].
  virtual Tensor mix(Tensor streams, Tensor weights) = 0;
  // In place: streams[i] += weights[i] * y; the weights are [rows, streams], or the same for all rows.
  virtual void add_to_streams(Tensor streams, Tensor y, Tensor weights) = 0;
  virtual void add_to_streams(Tensor streams, Tensor y, std::span<const float> weights) = 0;

  // [rows, heads * head_dim] as [rows, heads, head_dim]: the same numbers.
  static Tensor split_heads(Tensor x, int64_t heads) {
    x.shape = {x.shape[0], heads, x.row_size() / heads};
    x.memo = nullptr;
    return x;
  }

  virtual void set_profile(bool on) = 0;
  virtual std::vector<OpTiming> profile() const = 0;  // since set_profile(true), by layer and op
  virtual size_t arena_bytes() const noexcept = 0;
};

class ThreadPool;

// When a weight takes the layout that kernels read: once, in memory of its own, or a part of it whenever it is used.
enum class Packing { kAtLoad, kPerUse };

// A device. Outlives everything made by it. pack() and make_ops() may be called from one thread at a time.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view name() const noexcept = 0;  // "cpu"
  virtual std::string description() const = 0;         // "avx512_vnni, 2 threads"
  // Copies a weight into the device's layout. Any format; throws Error{kUnsupported} naming the tensor for one it
  // cannot use. With kPerUse nothing is copied, products are slow, and the view must outlive the matrix.
  virtual std::unique_ptr<Matrix> pack(std::string name, const ConstTensorView& w,
                                       Packing packing = Packing::kAtLoad) = 0;
  // Keeps the rows as they are in the file, to be read row by row (embedding tables); the view must outlive it.
  virtual std::unique_ptr<Matrix> table(std::string name, const ConstTensorView& w) = 0;
  // Sizes of a cache block for this device. Throws Error{kUnsupported} for a cache type it has no kernels for.
  virtual KvLayout kv_layout(DType k_type, DType v_type, int64_t kv_heads, int64_t k_dim, int64_t v_dim) const = 0;
  // Zeroes in a block of one layer what positions from `first` on hold.
  virtual void clear_positions(const KvLayout& layout, std::byte* block, int32_t first) const = 0;
  // The cache type for keys and values when nobody asks for one: f32 in exact precision, otherwise what takes 16 bits
  // and is fastest here.
  virtual DType cache_type() const noexcept = 0;
  virtual std::unique_ptr<Ops> make_ops() = 0;
  virtual Precision precision() const noexcept = 0;
  // What the device can do at most. Takes a second; empty where there is no probe.
  virtual DeviceCeilings measure_ceilings(const CeilingProbe& probe) { return {}; }
};

struct BackendOptions {
  int threads = 0;  // 0: one per physical core
  std::string isa;  // "": the best this processor has; otherwise by name, kInvalidArgument if it cannot run here
  Precision precision = Precision::kDefault;
};

// By name from the registry ("cpu"). Throws Error{kNotFound} listing the names.
std::unique_ptr<Backend> make_backend(std::string_view name, const BackendOptions& options);
std::vector<std::string> backend_names();

}  // namespace ingle
