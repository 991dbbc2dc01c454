// Session::evaluate: checks everything, then computes the runs in micro-batches. Up to options.batch tokens, in the
// order of the requests, form a queue; each micro-batch takes as many rows from every run of the queue as fit evenly,
// so that a short run never waits for a long one. Where a model reads in both directions a micro-batch takes whole
// runs, one after the other.
#include <algorithm>
#include <bit>
#include <cmath>

#include "base/error.h"
#include "runtime/model_impl.h"
#include "runtime/session_impl.h"
#include "runtime/session_plan.h"

namespace ingle {
namespace {

// Hands a model's tapped rows on, run by run.
class SessionTaps final : public Taps {
 public:
  explicit SessionTaps(const Session::Impl& session) : session_(session) {}
  bool on(int layer) const noexcept override { return std::ranges::binary_search(session_.tapped, layer); }
  void take(int layer, const RowSet& rows, Tensor x) override {
    for (const RowRun& run : rows.runs) {
      session_.take_tapped({.layer = layer,
                            .run = session_.work[session_.batch_work[static_cast<size_t>(run.slot)]].run,
                            .position = rows.positions[static_cast<size_t>(run.first_row)],
                            .hidden = {x.row(run.first_row), static_cast<size_t>(run.rows * x.row_size())}});
    }
  }

 private:
  const Session::Impl& session_;
};

}  // namespace

void Session::Impl::check_model_gives(const RunRequest& run) const {
  const Hparams& h = graph->hparams();
  if (run.want != Want::kNothing && !graph->has_logits()) {
    throw_error(ErrorCode::kUnsupported,
                "{}: a {} model turns texts into vectors and has no output layer that gives next tokens", h.file,
                h.architecture);
  }
  if (run.scores != Want::kNothing && !model->impl().loaded.classifier)
    throw_error(ErrorCode::kUnsupported, "{}: has no classifier (cls.output.weight) that gives scores", h.file);
}

void Session::Impl::check_requests(std::span<const RunRequest> runs, bool can_deliver) const {
  const int64_t vocab = graph->hparams().vocab;
  for (size_t i = 0; i < runs.size(); ++i) {
    const RunRequest& run = runs[i];
    const auto length = static_cast<int64_t>(cache.tokens(run.sequence).size());
    const auto rows = static_cast<int64_t>(run.tokens.size());
    for (size_t j = 0; j < i; ++j) {
      if (runs[j].sequence == run.sequence)
        throw_error(ErrorCode::kInvalidArgument, "sequence {}: is in runs {} and {} of one call", run.sequence, j, i);
    }
    if (length + rows > options.context) {
      throw_error(ErrorCode::kInvalidArgument, "sequence {}: {} tokens and {} more do not fit the context of {}",
                  run.sequence, length, rows, options.context);
    }
    if (!causal() && length > 0) {
      throw_error(ErrorCode::kInvalidArgument,
                  "sequence {}: has {} tokens, and this model reads a text at once, in both directions; give it a "
                  "sequence of its own",
                  run.sequence, length);
    }
    if (!causal() && rows > options.micro_batch) {
      throw_error(ErrorCode::kInvalidArgument,
                  "sequence {}: this model reads a text at once, and {} tokens are more than the micro-batch of {}",
                  run.sequence, rows, options.micro_batch);
    }
    for (TokenId token : run.tokens) {
      if (token < 0 || token >= vocab)
        throw_error(ErrorCode::kInvalidArgument, "sequence {}: token {} is not from 0 to {}", run.sequence, token,
                    vocab - 1);
    }
    check_model_gives(run);
    const bool wants = run.want != Want::kNothing || run.hidden != Want::kNothing || run.scores != Want::kNothing;
    if (wants && rows == 0)
      throw_error(ErrorCode::kInvalidArgument, "sequence {}: rows are wanted of a run without tokens", run.sequence);
    if (wants && !can_deliver)
      throw_error(ErrorCode::kInvalidArgument, "sequence {}: rows are wanted, but nobody takes them", run.sequence);
  }
}

void Session::Impl::plan_work(std::span<const RunRequest> runs) {
  work.clear();
  appends.clear();
  for (size_t i = 0; i < runs.size(); ++i) {
    if (runs[i].tokens.empty()) continue;
    Work w;
    w.id = runs[i].sequence;
    w.run = i;
    w.logits = runs[i].want;
    w.hidden = runs[i].hidden;
    w.scores = runs[i].scores;
    w.tokens = runs[i].tokens;
    w.old_length = static_cast<int64_t>(cache.tokens(w.id).size());
    w.begin = w.next = cache.computed(w.id);
    w.end = w.old_length + static_cast<int64_t>(w.tokens.size());
    w.second_text = runs[i].second_text > 0 ? w.old_length + runs[i].second_text : w.end;
    work.push_back(w);
    appends.push_back({w.id, w.end - w.begin});
  }
}

// The queue: up to `batch` rows of the runs from `first` on. Whole runs, and the start of one that does not fit any
// more where a model reads from left to right.
void Session::Impl::queue_rows(size_t first) {
  int64_t room = options.batch;
  for (size_t i = first; i < work.size() && room > 0; ++i) {
    const int64_t rows = work[i].end - work[i].next;
    if (!causal() && rows > room) return;
    work[i].queued = std::min(room, rows);
    room -= work[i].queued;
  }
}

// Spreads micro_batch rows over the queued runs: equal shares, and what a run does not need goes to the others. Or
// whole runs.
void Session::Impl::grant_rows() {
  for (Work& w : work) w.granted = 0;
  if (!causal()) {
    int64_t left = options.micro_batch;
    for (Work& w : work) {
      if (w.queued > left) return;
      w.granted = w.queued;
      left -= w.queued;
    }
    return;
  }
  for (int64_t left = options.micro_batch; left > 0;) {
    const auto hungry = std::ranges::count_if(work, [](const Work& w) { return w.granted < w.queued; });
    if (hungry == 0) return;
    const int64_t share = std::max<int64_t>(1, left / hungry);
    for (Work& w : work) {
      const int64_t more = std::min({share, w.queued - w.granted, left});
      w.granted += more;
      left -= more;
    }
  }
}

void Session::Impl::fill_batch() {
  batch.clear();
  appends.clear();
  batch_work.clear();
  const bool two_segments = graph->hparams().segment_rows > 1;
  for (size_t i = 0; i < work.size(); ++i) {
    const Work& w = work[i];
    if (w.granted == 0) continue;
    const auto first_row = static_cast<int32_t>(batch.tokens.size());
    const std::span<const int32_t> held = cache.tokens(w.id);
    for (int64_t p = w.next; p < w.next + w.granted; ++p) {
      batch.tokens.push_back(p < w.old_length ? held[static_cast<size_t>(p)]
                                              : w.tokens[static_cast<size_t>(p - w.old_length)]);
      batch.positions.push_back(static_cast<int32_t>(p));
      batch.segments.push_back(two_segments && p >= w.second_text ? 1 : 0);
      batch.wants.push_back(w.wants(p));
    }
    batch.runs.push_back({static_cast<int32_t>(batch.runs.size()), first_row, static_cast<int32_t>(w.granted)});
    appends.push_back({w.id, w.granted});
    batch_work.push_back(i);
  }
}

// With adapters where a sequence of the step has any.
Ops& Session::Impl::step_ops() {
  slot_adapters.clear();
  bool any = false;
  for (const KvCache::Append& a : appends) {
    slot_adapters.emplace_back(adapters[static_cast<size_t>(a.id)].in_force);
    any |= !slot_adapters.back().empty();
  }
  if (!any || counting != nullptr) return *ops;
  if (!adapted) adapted.emplace(*ops);
  adapted->set_rows(need, slot_adapters);
  return *adapted;
}

void Session::Impl::run_micro_batch(const std::function<void(const ResultRow&)>& each) {
  if (cancelled && cancelled()) throw_error(ErrorCode::kCancelled, "cancelled between micro-batches");
  fill_batch();
  cache.prepare(appends);
  for (size_t g = 0; g < tables.size(); ++g) {
    tables[g].clear();
    for (const KvCache::Append& a : appends) tables[g].push_back(cache.table(a.id, g));
  }
  for (size_t l = 0; l < layers.size(); ++l) layers[l].tables = tables[group_of_layer[l]];

  const int last_tap = tapped.empty() ? -1 : tapped.back();
  need.assign(batch, {.last_writer = graph->last_writer(), .last_tap = last_tap, .every_row = options.every_row});
  SessionTaps taps(*this);
  Ops& op = step_ops();
  op.begin_step();
  const Tensor hidden = graph->forward(op, {.batch = batch,
                                            .need = need,
                                            .kv = layers,
                                            .context = options.context,
                                            .taps = tapped.empty() || counting ? nullptr : &taps});

  for (size_t l = 0; l < layers.size(); ++l) {
    const int64_t full = need.layer(static_cast<int>(l)).out.size();
    counts.computed += full;
    counts.skipped += batch.rows() - full;
    counts.by_layer[l] += full;
  }
  counts.tokens += batch.rows();
  for (const RowRun& run : batch.runs) {
    Work& w = work[batch_work[static_cast<size_t>(run.slot)]];
    cache.commit(w.id,
                 std::span(batch.tokens).subspan(static_cast<size_t>(run.first_row), static_cast<size_t>(run.rows)));
    w.next += run.rows;
    w.queued -= run.rows;
  }
  if (!need.wanted().empty()) deliver(op, hidden, each);
  if (counting) {
    StepWork step = counting->work();
    step.rows = batch.rows();
    options.count_work(step);
  }
}

template <class Output>
Tensor Session::Impl::output_of(Ops& op, const Tensor& hidden, int64_t first, int64_t last, RowWant want,
                                Output&& output) {
  output_rows.clear();
  for (int64_t i = first; i < last; ++i) {
    if (has(wants_of(i), want)) output_rows.push_back(static_cast<int32_t>(i));
  }
  if (output_rows.empty()) return {};
  const bool all = static_cast<int64_t>(output_rows.size()) == hidden.rows();
  if (&op != ops.get()) adapted->select(output_rows);
  return output(all ? hidden : op.gather_rows(hidden, output_rows));
}

void Session::Impl::check_numbers(std::span<const float> numbers, std::string_view what, int32_t position) const {
  constexpr uint32_t kExponent = 0x7f800000;
  uint32_t bad = 0;
  for (const float x : numbers) bad |= static_cast<uint32_t>((std::bit_cast<uint32_t>(x) & kExponent) == kExponent);
  if (bad == 0) return;
  const auto count = std::ranges::count_if(numbers, [](float x) { return !std::isfinite(x); });
  throw_error(ErrorCode::kInvalidFile,
              "{}: {} of {} {} are not finite after token {}; weights are damaged, or too large for this precision",
              graph->hparams().file, count, numbers.size(), what, position);
}

// Logits are computed for a few rows at a time: those of one row may be a megabyte.
void Session::Impl::deliver(Ops& op, Tensor hidden, const std::function<void(const ResultRow&)>& each) {
  const RowSet& wanted = need.wanted();
  size_t run = 0;
  for (int64_t first = 0; first < wanted.size(); first += kLogitsRows) {
    const int64_t last = std::min(first + kLogitsRows, wanted.size());
    const Tensor logits = output_of(op, hidden, first, last, RowWant::kLogits,
                                    [&](const Tensor& rows) { return graph->logits(op, rows); });
    const Tensor scores = output_of(op, hidden, first, last, RowWant::kScores,
                                    [&](const Tensor& rows) { return (*model->impl().loaded.classifier)(op, rows); });
    for (int64_t i = first, logits_row = 0, scores_row = 0; i < last; ++i) {
      while (i >= wanted.runs[run].first_row + wanted.runs[run].rows) ++run;
      ResultRow result{.run = work[batch_work[static_cast<size_t>(wanted.runs[run].slot)]].run,
                       .position = wanted.positions[static_cast<size_t>(i)],
                       .logits = {},
                       .hidden = {},
                       .scores = {}};
      if (counting) {
        each(result);
        continue;
      }
      const auto row_of = [](const Tensor& x, int64_t row) -> std::span<const float> {
        return {x.row(row), static_cast<size_t>(x.row_size())};
      };
      if (has(wants_of(i), RowWant::kLogits)) result.logits = row_of(logits, logits_row++);
      if (has(wants_of(i), RowWant::kHidden)) result.hidden = row_of(hidden, i);
      if (has(wants_of(i), RowWant::kScores)) result.scores = row_of(scores, scores_row++);
      check_numbers(result.logits, "logits", result.position);
      check_numbers(result.hidden, "hidden numbers", result.position);
      check_numbers(result.scores, "scores", result.position);
      each(result);
    }
    hidden = op.end_layer(hidden);
  }
}

void Session::Impl::roll_back() noexcept {
  for (const Work& w : work) {
    cache.abandon(w.id);
    cache.truncate(w.id, w.old_length);
  }
}

void Session::Impl::evaluate(std::span<const RunRequest> runs, const std::function<void(const ResultRow&)>& each) {
  check_requests(runs, static_cast<bool>(each));
  plan_work(runs);
  cache.check_room(appends);
  try {
    for (size_t first = 0; first < work.size();) {
      queue_rows(first);
      while (std::ranges::any_of(work, [](const Work& w) { return w.queued > 0; })) {
        grant_rows();
        run_micro_batch(each);
      }
      while (first < work.size() && work[first].next == work[first].end) ++first;
    }
  } catch (...) {
    roll_back();
    throw;
  }
}

}  // namespace ingle
