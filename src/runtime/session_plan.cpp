#include "runtime/session_plan.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "runtime/file_types.h"
#include "runtime/measuring_ops.h"

namespace ingle {
namespace {

// A longer context than anybody trains for; positions and block numbers stay far from overflow.
constexpr int64_t kMaxContext = int64_t{1} << 26;

void check_range(std::string_view name, int64_t value, int64_t least, int64_t most) {
  if (value < least || value > most)
    throw_error(ErrorCode::kInvalidArgument, "{}: {} is not from {} to {}", name, value, least, most);
}

// In small letters, whatever the option's.
std::string resolve_cache_type(std::string_view option, const std::string& name, DType preferred) {
  const Format* format = name.empty() ? &format_of(preferred) : find_format(name);
  if (format == nullptr)
    throw_error(ErrorCode::kInvalidArgument, "{}: '{}' is not a type; f32, f16, i16, q8_0 and q4_0 are", option, name);
  return lower_case(format->name);
}

int64_t blocks_for(int64_t positions) { return (positions + kKvBlockPositions - 1) / kKvBlockPositions; }

}  // namespace

SessionOptions resolve_options(SessionOptions o, const Hparams& h, const Backend& backend) {
  const int64_t most = h.position_rows > 0 ? h.position_rows : kMaxContext;
  if (o.context == 0) o.context = std::min({int64_t{4096}, h.context_length, most});
  if (o.context > most && h.position_rows > 0) {
    throw_error(ErrorCode::kInvalidArgument, "context: {} is more than the {} positions this model has learned",
                o.context, most);
  }
  check_range("context", o.context, 1, kMaxContext);
  check_range("sequences", o.sequences, 1, 65536);
  check_range("batch", o.batch, 1, 1 << 20);
  check_range("micro_batch", o.micro_batch, 1, 65536);
  o.micro_batch = std::min(o.micro_batch, o.batch);
  o.cache_type_k = resolve_cache_type("cache_type_k", o.cache_type_k, backend.cache_type());
  o.cache_type_v = resolve_cache_type("cache_type_v", o.cache_type_v, backend.cache_type());
  return o;
}

std::vector<KvGroupOptions> plan_cache(const ModelGraph& graph, const Backend& backend, const SessionOptions& options) {
  std::vector<KvGroupOptions> plan;
  for (const KvGroup& group : graph.kv_groups()) {
    int64_t blocks = blocks_for(options.context);
    // Behind the window a block of slack stays (see kv_cache.cpp), and at both ends a block is only partly used.
    if (group.window != 0)
      blocks = std::min(blocks, blocks_for(int64_t{group.window} + options.micro_batch + kKvBlockPositions) + 2);
    blocks *= options.sequences;
    if (blocks > std::numeric_limits<int32_t>::max())
      throw_error(ErrorCode::kOutOfMemory, "key/value cache: {} blocks of {} positions are wanted, the most is {}",
                  blocks, kKvBlockPositions, std::numeric_limits<int32_t>::max());
    plan.push_back(
        {.layout = backend.kv_layout(find_format(options.cache_type_k)->type, find_format(options.cache_type_v)->type,
                                     group.kv_heads, group.k_dim, group.v_dim),
         .layers = static_cast<int64_t>(group.layers.size()),
         .window = group.window,
         .blocks = static_cast<int32_t>(blocks)});
  }
  return plan;
}

size_t cache_bytes(const std::vector<KvGroupOptions>& groups) {
  size_t bytes = 0;
  for (const KvGroupOptions& g : groups)
    bytes += static_cast<size_t>(g.blocks) * static_cast<size_t>(g.layers) * g.layout.block_bytes();
  return bytes;
}

std::string describe_cache(const std::vector<KvGroupOptions>& groups) {
  std::string text;
  for (const KvGroupOptions& g : groups) {
    text += fmt::format("{}{} layers x {} kv heads x ({} {} + {} {}) x {} positions", text.empty() ? "" : "; ",
                        g.layers, g.layout.kv_heads, g.layout.k_dim, format_of(g.layout.k_type).name, g.layout.v_dim,
                        format_of(g.layout.v_type).name, int64_t{g.blocks} * kKvBlockPositions);
    if (g.window != 0) text += fmt::format(" (window {})", g.window);
  }
  return text;
}

size_t plan_activations(const ModelGraph& graph, const Backend& backend, const SessionOptions& options) {
  const int64_t sequences = std::min(options.sequences, options.micro_batch);
  const auto tokens = std::vector<int32_t>(static_cast<size_t>(options.micro_batch), 0);
  Batch batch;
  for (int64_t i = 0; i < sequences; ++i) {
    const int64_t first = options.micro_batch * i / sequences;
    const int64_t last = options.micro_batch * (i + 1) / sequences;
    batch.add_run(std::span(tokens).subspan(static_cast<size_t>(first), static_cast<size_t>(last - first)), 0);
    batch.wants.back() = RowWant::kLogits;
  }
  const RowNeed need(batch, {.last_writer = graph.last_writer(), .every_row = options.every_row});
  MeasuringOps ops;
  std::vector<KvLayer> layers(static_cast<size_t>(graph.hparams().layer_count()));
  for (size_t l = 0; l < layers.size(); ++l) layers[l].layout.v_dim = graph.hparams().layers[l].v_dim;
  Tensor hidden = graph.forward(ops, {.batch = batch, .need = need, .kv = layers, .context = options.context});
  hidden.shape.extent[0] = std::min(hidden.shape[0], kLogitsRows);
  if (graph.has_logits()) graph.logits(ops, hidden);
  return ops.arena_bytes();
}

void check_memory(uint64_t weight_bytes, uint64_t kv_bytes, const SessionOptions& options, uint64_t machine_bytes) {
  if (machine_bytes == 0 || weight_bytes + kv_bytes <= machine_bytes) return;
  const double left = machine_bytes > weight_bytes ? static_cast<double>(machine_bytes - weight_bytes) : 0;
  const double share = left / static_cast<double>(kv_bytes);
  constexpr double kMiB = 1 << 20;
  throw_error(
      ErrorCode::kOutOfMemory,
      "key/value cache: {} sequences of {} positions want {:.0f} MiB beside {:.0f} MiB of weights, the machine has "
      "{:.0f} MiB; a context of {} fits",
      options.sequences, options.context, static_cast<double>(kv_bytes) / kMiB,
      static_cast<double>(weight_bytes) / kMiB, static_cast<double>(machine_bytes) / kMiB,
      static_cast<int64_t>(share * static_cast<double>(options.context)) / kKvBlockPositions * kKvBlockPositions);
}

}  // namespace ingle
