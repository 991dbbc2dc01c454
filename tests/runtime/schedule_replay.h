// Schedules carried out on sessions, and what must be true of the outcomes.
#pragma once

#include <cmath>
#include <cstring>
#include <exception>
#include <iterator>
#include <map>
#include <optional>
#include <span>

#include "tests/runtime/schedule.h"

namespace ingle::schedules {

// A row that somebody got: a result, or what came into a tapped layer.
struct Row {
  size_t step;
  size_t run;
  int layer;  // tapped; -1: a result
  int32_t position;
  std::vector<TokenId> text;  // of its sequence up to and with this row
  std::vector<float> logits, hidden;
};

struct Outcome {
  std::vector<Row> rows;           // in the order they came
  std::vector<std::string> notes;  // in order: what was reused, what was refused
  RowCounts counts;
  int64_t reused = 0, cancelled = 0, refused = 0;
};

inline std::string name_of(const Row& row) {
  const std::string what = row.layer < 0 ? "result" : fmt::format("input of layer {}", row.layer);
  return fmt::format("step {}, run {}, position {}: {}", row.step, row.run, row.position, what);
}

class Replay {
 public:
  Replay(const Model& model, const Schedule& s, bool every_row) : s_(s), session_(model, s.options(every_row)) {
    session_.set_tap(s.taps, [this](const TappedRows& tapped) {
      const size_t size = row_size_;
      for (size_t r = 0; r < tapped.hidden.size() / size; ++r)
        take(tapped.run, tapped.layer, tapped.position + static_cast<int32_t>(r), {},
             tapped.hidden.subspan(r * size, size));
    });
    row_size_ = static_cast<size_t>(model.info().d_model);
  }

  Outcome outcome() {
    for (step_ = 0; step_ < s_.steps.size(); ++step_) carry_out(s_.steps[step_]);
    // What the schedule left in the cache shows in how its sequences go on.
    std::vector<Run> last;
    for (const auto& [name, id] : live_) {
      if (session_.length(id) < kContext)
        last.push_back({.sequence = name, .tokens = {static_cast<TokenId>(name)}, .want = Want::kLast});
    }
    evaluate(last, -1);
    outcome_.counts = session_.rows();
    return std::move(outcome_);
  }

 private:
  std::optional<SequenceId> find(int name) const {
    const auto at = live_.find(name);
    return at == live_.end() ? std::nullopt : std::optional(at->second);
  }

  void carry_out(const Step& step) {
    const std::optional<SequenceId> id = find(step.sequence);
    switch (step.kind) {
      case Step::Kind::kCreate:
        if (!id) live_[step.sequence] = session_.create();
        return;
      case Step::Kind::kFork:
        if (const auto from = find(step.from); from && !id) live_[step.sequence] = session_.fork(*from);
        return;
      case Step::Kind::kTruncate:
        if (id) session_.truncate(*id, std::min(step.length, session_.length(*id)));
        return;
      case Step::Kind::kRelease:
        if (id) session_.release(*id);
        live_.erase(step.sequence);
        return;
      case Step::Kind::kReusePrefix:
        if (id || step.tokens.empty()) return;
        live_[step.sequence] = session_.create();
        outcome_.reused += session_.reuse_prefix(live_[step.sequence], step.tokens);
        note(fmt::format("reused {}", session_.length(live_[step.sequence])));
        return;
      case Step::Kind::kEvaluate:
        evaluate(step.runs, step.cancel_after);
        return;
    }
  }

  void evaluate(const std::vector<Run>& runs, int cancel_after) {
    std::vector<RunRequest> requests;
    texts_.clear();
    for (const Run& run : runs) {
      const std::optional<SequenceId> id = find(run.sequence);
      if (!id) continue;
      // A run may have lost its tokens; nothing can be wanted of it then.
      const bool wants = !run.tokens.empty();
      requests.push_back({*id, run.tokens, wants ? run.want : Want::kNothing, wants ? run.hidden : Want::kNothing});
      const std::span<const TokenId> held = session_.tokens(*id);
      texts_.emplace_back(held.begin(), held.end());
      texts_.back().insert(texts_.back().end(), run.tokens.begin(), run.tokens.end());
    }
    int asked = 0;
    session_.set_cancel([&] { return asked++ == cancel_after; });
    try {
      session_.evaluate(requests,
                        [&](const ResultRow& row) { take(row.run, -1, row.position, row.logits, row.hidden); });
    } catch (const Error& error) {
      if (error.code() == ErrorCode::kInternal) throw;
      (error.code() == ErrorCode::kCancelled ? outcome_.cancelled : outcome_.refused) += 1;
      note(error.what());
    }
    session_.set_cancel({});
  }

  void note(const std::string& what) { outcome_.notes.push_back(fmt::format("step {}: {}", step_, what)); }

  void take(size_t run, int layer, int32_t position, std::span<const float> logits, std::span<const float> hidden) {
    const std::vector<TokenId>& text = texts_.at(run);
    outcome_.rows.push_back({.step = step_,
                             .run = run,
                             .layer = layer,
                             .position = position,
                             .text = {text.begin(), text.begin() + position + 1},
                             .logits = {logits.begin(), logits.end()},
                             .hidden = {hidden.begin(), hidden.end()}});
  }

  const Schedule& s_;
  Session session_;
  size_t row_size_ = 0;
  std::map<int, SequenceId> live_;
  size_t step_ = 0;
  std::vector<std::vector<TokenId>> texts_;  // of the running call, per request
  Outcome outcome_;
};

inline Outcome replay(const Model& model, const Schedule& s, bool every_row) {
  return Replay(model, s, every_row).outcome();
}

// --- what must be true; each returns what is not, or nothing

inline bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

inline std::string difference(const Row& a, const Row& b) {
  const auto differ = [](const char* what, const std::vector<float>& x, const std::vector<float>& y) -> std::string {
    if (x.size() != y.size()) return fmt::format("{} of {} numbers and of {}", what, x.size(), y.size());
    for (size_t i = 0; i < x.size(); ++i) {
      if (std::memcmp(&x[i], &y[i], sizeof(float)) != 0) return fmt::format("{} {}: {} and {}", what, i, x[i], y[i]);
    }
    return {};
  };
  if (const std::string logits = differ("logit", a.logits, b.logits); !logits.empty()) return logits;
  return differ("hidden", a.hidden, b.hidden);
}

// The same rows with the same bits in the same order, and the same answers.
inline std::string difference(const Outcome& a, const Outcome& b) {
  for (size_t i = 0; i < std::min(a.rows.size(), b.rows.size()); ++i) {
    const Row &x = a.rows[i], &y = b.rows[i];
    if (x.step != y.step || x.run != y.run || x.layer != y.layer || x.position != y.position)
      return fmt::format("row {} of the outcome is ({}) and ({})", i, name_of(x), name_of(y));
    if (x.text != y.text) return name_of(x) + ": is of another text";
    if (!same_bits(x.logits, y.logits) || !same_bits(x.hidden, y.hidden)) return name_of(x) + ": " + difference(x, y);
  }
  if (a.rows.size() != b.rows.size()) return fmt::format("{} rows and {} came", a.rows.size(), b.rows.size());
  if (a.notes != b.notes) return fmt::format("'{}' and '{}'", fmt::join(a.notes, "; "), fmt::join(b.notes, "; "));
  return {};
}

// Nothing skipped where every row was asked for, and all rows accounted for where not.
inline std::string wrong_counts(const RowCounts& sparing, const RowCounts& every) {
  const auto layers = static_cast<int64_t>(sparing.by_layer.size());
  int64_t computed = 0;
  for (const int64_t rows : sparing.by_layer) computed += rows;
  if (every.skipped != 0) return fmt::format("{} rows were skipped with every_row", every.skipped);
  if (every.tokens != sparing.tokens) return fmt::format("{} tokens and {}", sparing.tokens, every.tokens);
  if (every.computed != every.tokens * layers) return fmt::format("{} rows with every_row", every.computed);
  if (computed != sparing.computed) return fmt::format("{} rows, by layer {}", sparing.computed, computed);
  if (sparing.computed + sparing.skipped != sparing.tokens * layers)
    return fmt::format("{} rows computed and {} skipped of {} tokens", sparing.computed, sparing.skipped,
                       sparing.tokens);
  return {};
}

inline std::string not_finite(const Outcome& outcome) {
  const auto infinite = [](float x) { return !std::isfinite(x); };
  for (const Row& row : outcome.rows) {
    if (std::ranges::any_of(row.logits, infinite) || std::ranges::any_of(row.hidden, infinite))
      return name_of(row) + ": has numbers that are not finite";
  }
  return {};
}

// Every text alone in a session of its own, token by token, every row of it computed: the simplest way to a row.
inline std::string differs_from_reading_alone(const Model& model, const Schedule& s, const Outcome& outcome) {
  std::map<std::vector<TokenId>, std::vector<const Row*>> by_text;  // a text comes before those that go on from it
  for (const Row& row : outcome.rows) by_text[row.text].push_back(&row);
  std::optional<Session> session;
  SequenceId id = 0;
  std::map<int, Row> got;  // of the last token: by layer, -1 the result
  for (const auto& [text, rows] : by_text) {
    const bool goes_on = session && session->length(id) < static_cast<int64_t>(text.size()) &&
                         std::ranges::equal(session->tokens(id), std::span(text).first(session->tokens(id).size()));
    if (!goes_on) {
      SessionOptions options = s.options(true);
      options.sequences = options.micro_batch = options.batch = 1;
      session.emplace(model, options);
      session->set_tap(s.taps, [&](const TappedRows& tapped) {
        got[tapped.layer] = {.step = 0,
                             .run = 0,
                             .layer = tapped.layer,
                             .position = tapped.position,
                             .text = {},
                             .logits = {},
                             .hidden = {tapped.hidden.begin(), tapped.hidden.end()}};
      });
      id = session->create();
    }
    for (size_t at = session->tokens(id).size(); at < text.size(); ++at) {
      const RunRequest run{id, {&text[at], 1}, Want::kAll, Want::kAll};
      session->evaluate({&run, 1}, [&](const ResultRow& row) {
        got[-1] = {.step = 0,
                   .run = 0,
                   .layer = -1,
                   .position = row.position,
                   .text = {},
                   .logits = {row.logits.begin(), row.logits.end()},
                   .hidden = {row.hidden.begin(), row.hidden.end()}};
      });
    }
    for (const Row* row : rows) {
      Row alone = got.at(row->layer);
      if (row->logits.empty()) alone.logits.clear();  // not wanted
      if (row->hidden.empty()) alone.hidden.clear();
      if (const std::string what = difference(*row, alone); !what.empty())
        return name_of(*row) + ": differs from the text read alone: " + what;
    }
  }
  return {};
}

struct Verdict {
  std::string fault;  // empty: none
  RowCounts sparing;
  int64_t rows = 0, late = 0, reused = 0, cancelled = 0, refused = 0;  // late: rows from position 128 on
};

// `alone`: the model to read every text alone with (it may have another number of threads); nullptr: not done.
inline Verdict judge(const Model& model, const Schedule& s, const Model* alone) {
  Verdict verdict;
  try {
    const Outcome sparing = replay(model, s, false), every = replay(model, s, true);
    verdict = {.fault = difference(sparing, every),
               .sparing = sparing.counts,
               .rows = std::ssize(sparing.rows),
               .late = std::ranges::count_if(sparing.rows, [](const Row& r) { return r.position >= 128; }),
               .reused = sparing.reused,
               .cancelled = sparing.cancelled,
               .refused = sparing.refused};
    if (verdict.fault.empty()) verdict.fault = wrong_counts(sparing.counts, every.counts);
    if (verdict.fault.empty()) verdict.fault = not_finite(sparing);
    if (verdict.fault.empty() && alone != nullptr) verdict.fault = differs_from_reading_alone(*alone, s, sparing);
  } catch (const std::exception& error) {  // what a session throws for its own mistakes, or outside evaluate()
    verdict.fault = fmt::format("throws: {}", error.what());
  }
  return verdict;
}

}  // namespace ingle::schedules
