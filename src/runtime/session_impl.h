// The inside of a Session: cache, operations and the buffers of a step.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "batch/batch.h"
#include "batch/row_need.h"
#include "ingle/session.h"
#include "models/model.h"
#include "runtime/adapter_ops.h"
#include "runtime/counting_ops.h"
#include "runtime/kv_cache.h"

namespace ingle {

class CheckingOps;

struct Session::Impl {
  Impl(const Model& model, SessionOptions options);

  // What one run still has to do: its tokens are the sequence's own from computed() on, then the request's.
  struct Work {
    int32_t id = 0;
    size_t run = 0;
    Want logits = Want::kNothing, hidden = Want::kNothing, scores = Want::kNothing;
    int64_t old_length = 0;                // before the call
    int64_t second_text = 0;               // position where the second text of a pair begins; `end`: there is none
    std::span<const TokenId> tokens;       // new ones
    int64_t begin = 0, next = 0, end = 0;  // positions: first to compute, next to compute, behind the last
    int64_t queued = 0;                    // rows taken into the step queue and not computed yet
    int64_t granted = 0;                   // rows of the next micro-batch

    RowWant wants(int64_t position) const {
      const auto wanted = [&](Want want) {
        switch (want) {
          case Want::kNothing:
            return false;
          case Want::kFirst:
            return position == old_length;
          case Want::kLast:
            return position == end - 1;
          case Want::kAll:
            return position >= old_length;
        }
        return false;
      };
      return (wanted(logits) ? RowWant::kLogits : RowWant::kNone) |
             (wanted(hidden) ? RowWant::kHidden : RowWant::kNone) |
             (wanted(scores) ? RowWant::kScores : RowWant::kNone);
    }
  };

  void check_adapters(std::span<const AppliedAdapter> list) const;
  void set_adapters(SequenceId id, std::vector<AppliedAdapter> list);
  void evaluate(std::span<const RunRequest> runs, const std::function<void(const ResultRow&)>& each);
  void check_requests(std::span<const RunRequest> runs, bool can_deliver) const;
  void check_model_gives(const RunRequest& run) const;
  bool causal() const noexcept { return graph->hparams().causal; }
  // One of the model's outputs of those of the rows [first, last) of `hidden` that want it; no tensor where none does.
  template <class Output>
  Tensor output_of(Ops& op, const Tensor& hidden, int64_t first, int64_t last, RowWant want, Output&& output);
  RowWant wants_of(int64_t wanted_row) const {
    return batch.wants[static_cast<size_t>(need.wanted().rows[static_cast<size_t>(wanted_row)])];
  }
  void plan_work(std::span<const RunRequest> runs);
  void queue_rows(size_t first);
  void grant_rows();
  void run_micro_batch(const std::function<void(const ResultRow&)>& each);
  // Throws Error{kInvalidFile} where a number of a result is none, or infinite: nothing can be made of it.
  void check_numbers(std::span<const float> numbers, std::string_view what, int32_t position) const;
  void deliver(Ops& op, Tensor hidden, const std::function<void(const ResultRow&)>& each);
  Ops& step_ops();
  void set_ops(std::unique_ptr<Ops> other) {
    adapted.reset();  // it goes over the old ones
    ops = std::move(other);
  }
  void fill_batch();
  void roll_back() noexcept;

  const Model* model;
  const ModelGraph* graph;
  SessionOptions options;
  KvCache cache;
  std::unique_ptr<Ops> ops;
  std::optional<AdapterOps> adapted;  // ops with adapters, once there are any
  struct SequenceAdapters {
    std::vector<AppliedAdapter> applied;
    std::vector<AdapterOps::InForce> in_force;  // the same, as operations take it
  };
  std::vector<SequenceAdapters> adapters;  // by sequence
  CountingOps* counting = nullptr;         // in ops, where nothing is computed
  CheckingOps* checking = nullptr;         // in ops, where everything is computed twice
  size_t planned_activation_bytes = 0;
  std::function<bool()> cancelled;
  std::vector<int> tapped;  // layers, ascending
  std::function<void(const TappedRows&)> take_tapped;
  RowCounts counts;
  PrefixReuse last_reuse;

  // Buffers of a step, kept so that a step allocates nothing.
  std::vector<Work> work;
  std::vector<size_t> batch_work;  // the work of each slot
  std::vector<int32_t> output_rows;
  Batch batch;
  RowNeed need;
  std::vector<KvCache::Append> appends;
  std::vector<AdapterOps::Adapters> slot_adapters;
  std::vector<std::vector<std::span<const int32_t>>> tables;  // [group][slot]
  std::vector<KvLayer> layers;
  std::vector<size_t> group_of_layer;
};

}  // namespace ingle
