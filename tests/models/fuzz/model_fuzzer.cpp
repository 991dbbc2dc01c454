// A file that claims to be a model: it is refused with an Error, or it loads, reads three tokens and gives what it has
// of them (logits, a classifier's scores) without touching memory that is not its own. What the numbers are is
// anybody's guess.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/error.h"
#include "models/model.h"

namespace ingle {
namespace {

// Fewer where a model has learned fewer positions: no session is longer.
Batch few_tokens(const Hparams& h) {
  const auto last = static_cast<int32_t>(h.vocab - 1);
  const std::array<int32_t, 3> tokens{0, last, 0};
  const size_t count =
      h.position_rows > 0 ? std::min<size_t>(tokens.size(), static_cast<size_t>(h.position_rows)) : tokens.size();
  Batch batch;
  batch.add_run(std::span(tokens).first(count), 0);
  if (h.segment_rows > 1) batch.segments.back() = 1;
  batch.wants.back() = RowWant::kHidden;
  return batch;
}

// Blocks for the fuzzed model's layers, one sequence of 64 positions. Shapes were checked against the file's own
// tensors, so this is bounded by the size of the input.
void read_few_tokens(const LoadedModel& model, Backend& backend) {
  const ModelGraph& graph = *model.graph;
  std::vector<std::vector<std::byte>> memory;
  const std::array<int32_t, 1> table{0};
  const std::array<std::span<const int32_t>, 1> tables{table};
  std::vector<KvLayer> layers(static_cast<size_t>(graph.hparams().layer_count()));
  for (const KvGroup& group : graph.kv_groups()) {
    const KvLayout layout = backend.kv_layout(DType::kF32, DType::kF32, group.kv_heads, group.k_dim, group.v_dim);
    for (int layer : group.layers) {
      memory.emplace_back(layout.block_bytes() + 64);
      auto* base =
          reinterpret_cast<std::byte*>((reinterpret_cast<uintptr_t>(memory.back().data()) + 63) & ~uintptr_t{63});
      layers[static_cast<size_t>(layer)] = {layout, base, layout.block_bytes(), tables};
    }
  }
  for (size_t l = 0; l < layers.size(); ++l)
    layers[l] = layers[static_cast<size_t>(graph.hparams().layers[l].kv_owner)];
  const Batch batch = few_tokens(graph.hparams());
  const RowNeed need(batch, {.last_writer = graph.last_writer()});
  const std::unique_ptr<Ops> ops = backend.make_ops();
  ops->begin_step();
  const Tensor hidden = graph.forward(*ops, {.batch = batch, .need = need, .kv = layers});
  INGLE_CHECK(hidden.rows() == 1 && hidden.row_size() == graph.hparams().d_model);
  if (graph.has_logits()) {
    const Tensor logits = graph.logits(*ops, hidden);
    INGLE_CHECK(logits.rows() == 1 && logits.row_size() == graph.hparams().vocab);
  }
  if (model.classifier) INGLE_CHECK((*model.classifier)(*ops, hidden).rows() == 1);
}

}  // namespace
}  // namespace ingle

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ingle;
  static const std::unique_ptr<Backend> backend =
      make_backend("cpu", {.threads = 1, .isa = "scalar", .precision = Precision::kExact});
  try {
    const GgufFile file = GgufFile::parse({reinterpret_cast<const std::byte*>(data), size}, "fuzz");
    const LoadedModel model = load_model(file, *backend, {.progress = {}, .warn = {}, .drop_pages = false});
    read_few_tokens(model, *backend);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kInternal) throw;
  }
  return 0;
}
