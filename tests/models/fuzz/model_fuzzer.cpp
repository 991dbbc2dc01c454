// A file that claims to be a model: it is refused with an Error, or it loads, reads a text in several steps on a cache
// like a session's, long enough for small windows to leave blocks behind, and gives what it has of the last token
// (logits, a classifier's scores) without touching memory that is not its own. What the numbers are is anybody's guess.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/error.h"
#include "models/model.h"
#include "runtime/kv_cache.h"
#include "runtime/session_plan.h"

namespace ingle {
namespace {

constexpr int64_t kTokens = 3 * kKvBlockPositions, kStep = kKvBlockPositions / 2;

// The cache as the layers of a step see it; `tables`: one for each group.
std::vector<KvLayer> cache_layers(const ModelGraph& graph, const KvCache& cache,
                                  std::span<const std::array<std::span<const int32_t>, 1>> tables) {
  const Hparams& h = graph.hparams();
  std::vector<KvLayer> layers(h.layers.size());
  for (size_t g = 0; g < cache.groups(); ++g) {
    const size_t bytes = cache.group(g).layout.block_bytes();
    const std::vector<int>& members = graph.kv_groups()[g].layers;
    for (size_t i = 0; i < members.size(); ++i)
      layers[static_cast<size_t>(members[i])] = {cache.group(g).layout, cache.base(g) + i * bytes,
                                                 members.size() * bytes, tables[g]};
  }
  for (size_t l = 0; l < layers.size(); ++l) layers[l] = layers[static_cast<size_t>(h.layers[l].kv_owner)];
  return layers;
}

// Shapes were checked against the file's own tensors, so what this takes is bounded by the size of the input.
void read_text(const LoadedModel& model, Backend& backend) {
  const ModelGraph& graph = *model.graph;
  const Hparams& h = graph.hparams();
  // Fewer where a model has learned fewer positions: no session is longer.
  const int64_t count = h.position_rows > 0 ? std::min(kTokens, h.position_rows) : kTokens;
  const int64_t step = h.causal ? kStep : count;
  const SessionOptions options = resolve_options({.context = count, .micro_batch = step}, h, backend);
  KvCache cache(plan_cache(graph, backend, options), count, 1);
  const int32_t id = cache.create();
  const std::unique_ptr<Ops> ops = backend.make_ops();
  for (int64_t first = 0; first < count; first += step) {
    const KvCache::Append append{id, std::min(step, count - first)};
    std::vector<int32_t> tokens(static_cast<size_t>(append.rows), 0);
    tokens[tokens.size() / 2] = static_cast<int32_t>(h.vocab - 1);
    Batch batch;
    batch.add_run(tokens, static_cast<int32_t>(first));
    if (h.segment_rows > 1) batch.segments.back() = 1;
    const bool last = first + step >= count;
    if (last) batch.wants.back() = RowWant::kHidden;
    cache.prepare({&append, 1});
    std::vector<std::array<std::span<const int32_t>, 1>> tables;
    for (size_t g = 0; g < cache.groups(); ++g) tables.push_back({cache.table(id, g)});
    const std::vector<KvLayer> layers = cache_layers(graph, cache, tables);
    const RowNeed need(batch, {.last_writer = graph.last_writer()});
    ops->begin_step();
    const Tensor hidden = graph.forward(*ops, {.batch = batch, .need = need, .kv = layers, .context = options.context});
    cache.commit(id, tokens);
    if (!last) continue;
    INGLE_CHECK(hidden.rows() == 1 && hidden.row_size() == h.d_model);
    if (graph.has_logits()) {
      const Tensor logits = graph.logits(*ops, hidden);
      INGLE_CHECK(logits.rows() == 1 && logits.row_size() == h.vocab);
    }
    if (model.classifier) INGLE_CHECK((*model.classifier)(*ops, hidden).rows() == 1);
  }
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
    read_text(model, *backend);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kInternal) throw;
  }
  return 0;
}
