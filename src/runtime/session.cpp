#include "ingle/session.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "runtime/adapter_impl.h"
#include "runtime/checking_ops.h"
#include "runtime/model_impl.h"
#include "runtime/session_impl.h"
#include "runtime/session_plan.h"
#include "runtime/tracing_ops.h"
#include "runtime/xxh64.h"

namespace ingle {
namespace {

const ModelGraph& graph_of(const Model& model) {
  const ModelGraph* graph = model.impl().loaded.graph.get();
  if (graph == nullptr) {
    throw_error(ErrorCode::kInvalidArgument, "{}: was opened for its vocabulary only; it has no weights to run",
                model.info().path);
  }
  return *graph;
}

}  // namespace

Session::Impl::Impl(const Model& model_, SessionOptions options_)
    : model(&model_),
      graph(&graph_of(model_)),
      options(resolve_options(std::move(options_), graph->hparams(), model_.impl().backend())),
      cache(
          [&] {
            auto groups = plan_cache(*graph, model_.impl().backend(), options);
            check_memory(model_.impl().loaded.weights->bytes(), cache_bytes(groups), options,
                         Engine::machine().memory_bytes);
            return groups;
          }(),
          options.context, options.sequences),
      ops(model_.impl().backend().make_ops()),
      planned_activation_bytes(plan_activations(*graph, model_.impl().backend(), options)),
      tables(cache.groups()),
      layers(static_cast<size_t>(graph->hparams().layer_count())),
      group_of_layer(layers.size()) {
  for (size_t g = 0; g < cache.groups(); ++g) {
    const KvLayout& layout = cache.group(g).layout;
    const std::vector<int>& members = graph->kv_groups()[g].layers;
    for (size_t i = 0; i < members.size(); ++i) {
      const auto layer = static_cast<size_t>(members[i]);
      group_of_layer[layer] = g;
      layers[layer] = {.layout = layout,
                       .base = cache.base(g) + i * layout.block_bytes(),
                       .block_stride = members.size() * layout.block_bytes(),
                       .tables = {}};
    }
  }
  for (size_t l = 0; l < layers.size(); ++l) {  // a layer that writes nothing reads its owner's
    const auto owner = static_cast<size_t>(graph->hparams().layers[l].kv_owner);
    group_of_layer[l] = group_of_layer[owner];
    layers[l] = layers[owner];
  }
  counts.by_layer.resize(layers.size());
  check_adapters(options.adapters);
  if (options.count_work) {
    auto dry = std::make_unique<CountingOps>();
    counting = dry.get();
    ops = std::move(dry);
  } else if (options.check_ops) {
    const Model::Impl& own = model->impl();
    auto twice = std::make_unique<CheckingOps>(std::move(ops), own.file, *own.loaded.weights,
                                               own.engine->impl().options.threads, own.backend().precision());
    checking = twice.get();
    ops = std::move(twice);
  }
  if (options.trace) ops = std::make_unique<TracingOps>(std::move(ops), options.trace);
}

Session::Session(const Model& model, SessionOptions options) {
  const int64_t context = options.context, sequences = options.sequences;
  try {
    impl_ = std::make_unique<Impl>(model, std::move(options));
  } catch (const std::bad_alloc&) {
    throw_error(ErrorCode::kOutOfMemory, "session: not enough memory for a context of {} and {} sequences", context,
                sequences);
  }
}
Session::~Session() = default;
Session::Session(Session&&) noexcept = default;

const Model& Session::model() const noexcept { return *impl_->model; }
const SessionOptions& Session::options() const noexcept { return impl_->options; }

void Session::Impl::check_adapters(std::span<const AppliedAdapter> list) const {
  for (const AppliedAdapter& applied : list) {
    if (applied.adapter == nullptr) throw_error(ErrorCode::kInvalidArgument, "adapters: one of them is none");
    const Adapter::Impl& adapter = applied.adapter->impl();
    if (adapter.model != &model->impl())
      throw_error(ErrorCode::kInvalidArgument, "{}: was opened for another model", adapter.info.path);
    if (!std::isfinite(applied.scale))
      throw_error(ErrorCode::kInvalidArgument, "{}: the scale {} is no number", adapter.info.path, applied.scale);
  }
}

// Sequences with the same adapters and scales, in the same order, compute the same.
void Session::Impl::set_adapters(SequenceId id, std::vector<AppliedAdapter> list) {
  if (const size_t length = cache.tokens(id).size(); length > 0) {
    throw_error(ErrorCode::kInvalidArgument, "sequence {}: has {} tokens; adapters are set before it reads any", id,
                length);
  }
  check_adapters(list);
  SequenceAdapters set;
  Xxh64 key;
  for (const AppliedAdapter& applied : list) {
    const Adapter::Impl& adapter = applied.adapter->impl();
    set.in_force.push_back({&adapter.weights, applied.scale});
    key.add_number(adapter.fingerprint);
    key.add_number(applied.scale);
  }
  cache.set_key(id, list.empty() ? 0 : std::max<uint64_t>(1, key.value()));
  set.applied = std::move(list);
  if (adapters.size() <= static_cast<size_t>(id)) adapters.resize(static_cast<size_t>(id) + 1);
  adapters[static_cast<size_t>(id)] = std::move(set);
}

SequenceId Session::create() {
  try {
    const SequenceId id = impl_->cache.create();
    impl_->set_adapters(id, impl_->options.adapters);
    return id;
  } catch (const std::bad_alloc&) {
    throw_error(ErrorCode::kOutOfMemory, "sequence: not enough memory for the lists of {} positions",
                impl_->options.context);
  }
}

SequenceId Session::fork(SequenceId from) {
  const SequenceId id = impl_->cache.fork(from);
  auto& adapters = impl_->adapters;
  if (adapters.size() <= static_cast<size_t>(id)) adapters.resize(static_cast<size_t>(id) + 1);
  adapters[static_cast<size_t>(id)] = adapters[static_cast<size_t>(from)];
  return id;
}

void Session::set_adapters(SequenceId id, std::vector<AppliedAdapter> adapters) {
  impl_->set_adapters(id, std::move(adapters));
}

std::span<const AppliedAdapter> Session::adapters(SequenceId id) const {
  impl_->cache.tokens(id);  // throws for a sequence that is not there
  return impl_->adapters[static_cast<size_t>(id)].applied;
}

void Session::truncate(SequenceId id, int64_t length) { impl_->cache.truncate(id, length); }
void Session::release(SequenceId id) { impl_->cache.release(id); }
int64_t Session::length(SequenceId id) const { return static_cast<int64_t>(impl_->cache.tokens(id).size()); }
std::span<const TokenId> Session::tokens(SequenceId id) const { return impl_->cache.tokens(id); }

int64_t Session::reuse_prefix(SequenceId id, std::span<const TokenId> prompt) {
  if (!impl_->causal()) {
    impl_->last_reuse = {};
    return 0;
  }
  impl_->last_reuse = impl_->cache.reuse_prefix(id, prompt, static_cast<int64_t>(prompt.size()) - 1);
  return impl_->last_reuse.reused;
}

PrefixReport Session::last_reuse() const noexcept {
  const PrefixReuse& reuse = impl_->last_reuse;
  PrefixReport report{.reused = reuse.reused, .matched = reuse.matched};
  if (reuse.difference) {
    report.difference = reuse.difference->position;
    report.cached = reuse.difference->cached;
    report.wanted = reuse.difference->wanted;
  }
  return report;
}

void Session::evaluate(std::span<const RunRequest> runs, const std::function<void(const ResultRow&)>& each) {
  try {
    impl_->evaluate(runs, each);
  } catch (const std::bad_alloc&) {
    throw_error(ErrorCode::kOutOfMemory, "step: not enough memory for micro-batches of {} rows",
                impl_->options.micro_batch);
  }
}
void Session::set_cancel(std::function<bool()> cancelled) { impl_->cancelled = std::move(cancelled); }

void Session::set_tap(std::vector<int> layers, std::function<void(const TappedRows&)> take) {
  std::ranges::sort(layers);
  const int64_t count = impl_->graph->hparams().layer_count();
  if (!layers.empty() && (layers.front() < 0 || layers.back() >= count)) {
    throw_error(ErrorCode::kInvalidArgument, "tap: layer {} is not from 0 to {}",
                layers.front() < 0 ? layers.front() : layers.back(), count - 1);
  }
  if (!layers.empty() && !take) throw_error(ErrorCode::kInvalidArgument, "tap: nobody takes the rows");
  impl_->tapped = std::move(layers);
  impl_->take_tapped = std::move(take);
}

std::vector<MemoryUse> Session::memory() const {
  const Impl& s = *impl_;
  std::vector<KvGroupOptions> groups;
  for (size_t g = 0; g < s.cache.groups(); ++g) groups.push_back(s.cache.group(g));
  std::vector<MemoryUse> uses = {{"weights", s.model->impl().loaded.weights->bytes(), "packed for this machine"},
                                 {"kv cache", s.cache.budget_bytes(), describe_cache(groups)},
                                 {"activations", std::max(s.planned_activation_bytes, s.ops->arena_bytes()),
                                  fmt::format("{} rows at once, logits included", s.options.micro_batch)}};
  for (const AppliedAdapter& applied : s.options.adapters) {
    const AdapterInfo& info = applied.adapter->info();
    uses.push_back({"adapter", info.memory_bytes,
                    fmt::format("{}, {} tensors, times {}", info.path, info.tensors, applied.scale)});
  }
  return uses;
}

RowCounts RowCounts::operator-(const RowCounts& earlier) const {
  RowCounts since = *this;
  since.computed -= earlier.computed;
  since.skipped -= earlier.skipped;
  since.tokens -= earlier.tokens;
  for (size_t i = 0; i < std::min(by_layer.size(), earlier.by_layer.size()); ++i)
    since.by_layer[i] -= earlier.by_layer[i];
  return since;
}

RowCounts Session::rows() const { return impl_->counts; }
std::vector<OpCheck> Session::op_checks() const {
  return impl_->checking == nullptr ? std::vector<OpCheck>{} : impl_->checking->checks();
}
void Session::set_profile(bool on) { impl_->ops->set_profile(on); }

std::vector<ProfileLine> Session::profile() const {
  std::vector<ProfileLine> lines;
  for (const OpTiming& t : impl_->ops->profile())
    lines.push_back({std::string(t.op), t.layer, t.calls, t.rows, t.seconds, t.bytes, t.operations, t.expert_rows,
                     t.streamed_gates, t.streamed_downs});
  return lines;
}

}  // namespace ingle
