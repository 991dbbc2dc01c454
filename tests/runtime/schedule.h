// Schedules: what a program may ask of a session, drawn from a seed, written out as code, and made smaller while they
// still show a fault.
//
// Sequences go by names that the schedule gives them. A step that speaks of a name which is not there does nothing, so
// any part of a schedule is a schedule.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "ingle/session.h"

namespace ingle::schedules {

struct Run {
  int sequence = 0;
  std::vector<TokenId> tokens;
  Want want = Want::kNothing;
  Want hidden = Want::kNothing;
};

struct Step {
  enum class Kind { kCreate, kFork, kTruncate, kRelease, kReusePrefix, kEvaluate };
  Kind kind = Kind::kCreate;
  int sequence = 0;
  int from = 0;                 // kFork
  int64_t length = 0;           // kTruncate; at most what is there
  std::vector<TokenId> tokens;  // kReusePrefix: the prompt
  std::vector<Run> runs;        // kEvaluate
  int cancel_after = -1;        // kEvaluate: cancelled before the micro-batch of this number; -1: never
};

constexpr int64_t kContext = 192;  // three cache blocks
constexpr int64_t kSequences = 6;  // at most these live at once

struct Schedule {
  std::string cache_k = "f32", cache_v = "f32";
  int64_t batch = 2048, micro_batch = 64;
  std::vector<int> taps;
  std::vector<Step> steps;

  SessionOptions options(bool every_row) const {
    return {.context = kContext,
            .sequences = kSequences,
            .batch = batch,
            .micro_batch = micro_batch,
            .cache_type_k = cache_k,
            .cache_type_v = cache_v,
            .every_row = every_row};
  }

  Schedule& create(int sequence) { return add({.kind = Step::Kind::kCreate, .sequence = sequence}); }
  Schedule& fork(int sequence, int from) {
    return add({.kind = Step::Kind::kFork, .sequence = sequence, .from = from});
  }
  Schedule& truncate(int sequence, int64_t length) {
    return add({.kind = Step::Kind::kTruncate, .sequence = sequence, .length = length});
  }
  Schedule& release(int sequence) { return add({.kind = Step::Kind::kRelease, .sequence = sequence}); }
  // A new sequence that starts with what the cache holds of the prompt.
  Schedule& reuse_prefix(int sequence, std::vector<TokenId> prompt) {
    return add({.kind = Step::Kind::kReusePrefix, .sequence = sequence, .tokens = std::move(prompt)});
  }
  Schedule& evaluate(std::vector<Run> runs, int cancel_after = -1) {
    return add({.kind = Step::Kind::kEvaluate, .runs = std::move(runs), .cancel_after = cancel_after});
  }

 private:
  Schedule& add(Step step) {
    steps.push_back(std::move(step));
    return *this;
  }
};

// --- as code

inline std::string to_code(Want want) {
  return want == Want::kNothing ? "Want::kNothing" : want == Want::kLast ? "Want::kLast" : "Want::kAll";
}

inline std::string to_code(const Step& step) {
  switch (step.kind) {
    case Step::Kind::kCreate:
      return fmt::format("create({})", step.sequence);
    case Step::Kind::kFork:
      return fmt::format("fork({}, {})", step.sequence, step.from);
    case Step::Kind::kTruncate:
      return fmt::format("truncate({}, {})", step.sequence, step.length);
    case Step::Kind::kRelease:
      return fmt::format("release({})", step.sequence);
    case Step::Kind::kReusePrefix:
      return fmt::format("reuse_prefix({}, {{{}}})", step.sequence, fmt::join(step.tokens, ", "));
    case Step::Kind::kEvaluate:
      break;
  }
  std::vector<std::string> runs;
  for (const Run& run : step.runs) {
    runs.push_back(fmt::format("{{{}, {{{}}}, {}, {}}}", run.sequence, fmt::join(run.tokens, ", "), to_code(run.want),
                               to_code(run.hidden)));
  }
  const std::string cancel = step.cancel_after < 0 ? "" : fmt::format(", {}", step.cancel_after);
  return fmt::format("evaluate({{{}}}{})", fmt::join(runs, ", "), cancel);
}

// To be pasted into a test.
inline std::string to_code(const Schedule& s) {
  std::string code = fmt::format(
      "Schedule s{{.cache_k = \"{}\", .cache_v = \"{}\", .batch = {}, .micro_batch = {}, .taps = {{{}}}}};\n",
      s.cache_k, s.cache_v, s.batch, s.micro_batch, fmt::join(s.taps, ", "));
  for (const Step& step : s.steps) code += "s." + to_code(step) + ";\n";
  return code;
}

// --- drawing

// What a schedule is drawn from: the same on every platform (std's distributions are not).
class Draw {
 public:
  explicit Draw(uint64_t seed) : random_(seed) {}
  int64_t below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }
  int64_t between(int64_t least, int64_t most) { return least + below(most - least + 1); }
  bool one_in(int64_t n) { return below(n) == 0; }
  template <class T>
  const T& of(const std::vector<T>& choices) {
    return choices[static_cast<size_t>(below(static_cast<int64_t>(choices.size())))];
  }

 private:
  std::mt19937_64 random_;
};

class ScheduleDraw {
 public:
  ScheduleDraw(uint64_t seed, int64_t layers, int64_t vocab) : draw_(seed), layers_(layers), vocab_(vocab) {
    for (int64_t i = 0; i < kContext; ++i) story_.push_back(token());
  }

  Schedule schedule() {
    const std::vector<std::string> types = {"f32", "f16", "q8_0"};
    s_.cache_k = draw_.of(types);
    s_.cache_v = draw_.one_in(3) ? draw_.of(types) : s_.cache_k;
    s_.micro_batch = draw_.one_in(2) ? draw_.between(1, 12) : draw_.between(1, 64);
    s_.batch = draw_.one_in(2) ? 2048 : draw_.between(1, 100);
    if (draw_.one_in(4)) {
      for (int64_t i = draw_.between(1, 2); i > 0; --i) s_.taps.push_back(static_cast<int>(draw_.below(layers_)));
      std::ranges::sort(s_.taps);
      s_.taps.erase(std::unique(s_.taps.begin(), s_.taps.end()), s_.taps.end());
    }
    // Some have few sequences that grow long: past the blocks that a window lets go.
    long_ = draw_.one_in(6);
    create();
    for (int64_t i = long_ ? draw_.between(8, 14) : draw_.between(3, 14); i > 0; --i) step();
    return s_;
  }

 private:
  struct Live {
    int name;
    std::vector<TokenId> text;  // at most: how much of a prompt is reused is not known here
  };

  TokenId token() { return static_cast<TokenId>(draw_.below(vocab_)); }
  bool room() const { return std::ssize(live_) < (long_ ? 2 : kSequences); }
  Live& any() { return live_[static_cast<size_t>(draw_.below(static_cast<int64_t>(live_.size())))]; }

  void create() {
    live_.push_back({names_, {}});
    s_.create(names_++);
  }

  void step() {
    const int64_t kind = draw_.below(14);
    if (live_.empty() || (kind == 0 && room())) return create();
    if (kind <= 2 && room()) {
      const Live& from = any();
      s_.fork(names_, from.name);
      live_.push_back({names_++, from.text});
      return;
    }
    if (kind <= 4) {
      Live& cut = any();
      const auto size = static_cast<int64_t>(cut.text.size());
      const int64_t back = draw_.one_in(2) ? std::min(size, draw_.between(0, 6)) : draw_.between(0, size);
      s_.truncate(cut.name, size - back);
      cut.text.resize(static_cast<size_t>(size - back));
      return;
    }
    if (kind == 5) {
      const auto index = draw_.below(static_cast<int64_t>(live_.size()));
      s_.release(live_[static_cast<size_t>(index)].name);
      live_.erase(live_.begin() + index);
      return;
    }
    if (kind <= 7 && room()) return reuse_prefix();
    evaluate();
  }

  // The start of what this schedule's sequences often say, or of what one of them said, and then something else.
  void reuse_prefix() {
    std::vector<TokenId> prompt = draw_.one_in(2) ? story_ : any().text;
    prompt.resize(static_cast<size_t>(draw_.between(0, static_cast<int64_t>(prompt.size()))));
    for (int64_t i = draw_.between(1, 3); i > 0; --i) prompt.push_back(token());
    prompt.resize(std::min<size_t>(prompt.size(), kContext - 1));
    s_.reuse_prefix(names_, prompt);
    prompt.pop_back();
    live_.push_back({names_++, std::move(prompt)});
  }

  Want want(int64_t nothing_in_ten) {
    if (draw_.below(10) < nothing_in_ten) return Want::kNothing;
    return draw_.one_in(2) ? Want::kLast : Want::kAll;
  }

  Run run(Live& live) {
    Run run{.sequence = live.name, .tokens = {}};
    const int64_t kind = draw_.below(10);
    int64_t count = kind < 3 ? 1 : kind < 6 ? draw_.between(0, 8) : draw_.between(0, 40);
    if (long_) count = draw_.between(20, 40);
    // One position stays free for the token that every sequence is continued by at the end.
    count = std::min(count, kContext - 1 - static_cast<int64_t>(live.text.size()));
    const bool as_in_story = draw_.one_in(2);
    for (int64_t i = 0; i < count; ++i) {
      run.tokens.push_back(as_in_story ? story_[live.text.size()] : token());
      live.text.push_back(run.tokens.back());
    }
    if (count > 0) {
      run.want = want(4);
      run.hidden = want(7);
    }
    return run;
  }

  void evaluate() {
    std::vector<Live*> members;
    for (Live& live : live_) members.push_back(&live);
    std::vector<Run> runs;
    const std::vector<Live> before = live_;
    for (int64_t i = std::min<int64_t>(draw_.between(1, 5), static_cast<int64_t>(members.size())); i > 0; --i) {
      const auto at = draw_.below(static_cast<int64_t>(members.size()));
      runs.push_back(run(*members[static_cast<size_t>(at)]));
      members.erase(members.begin() + at);
    }
    const int cancel = draw_.one_in(12) ? static_cast<int>(draw_.below(4)) : -1;
    s_.evaluate(std::move(runs), cancel);
    // Whether it is cancelled in time is not known here: nobody then relies on what was said.
    if (cancel == 0) live_ = before;
  }

  Draw draw_;
  int64_t layers_, vocab_;
  std::vector<TokenId> story_;
  std::vector<Live> live_;
  int names_ = 0;
  bool long_ = false;
  Schedule s_;
};

inline Schedule draw_schedule(uint64_t seed, int64_t layers, int64_t vocab) {
  return ScheduleDraw(seed, layers, vocab).schedule();
}

// --- making smaller

// Goes on as long as something can be left out and `fails` still holds: steps, runs, tokens, wishes, taps. `fails` is
// asked at most `tries` times.
template <class Fails>
class Shrinker {
 public:
  Shrinker(Schedule s, Fails fails, int tries) : s_(std::move(s)), fails_(std::move(fails)), tries_(tries) {}

  Schedule smallest() {
    do {
      changed_ = false;
      drop_parts([](Schedule& s) -> std::vector<Step>& { return s.steps; });
      for (size_t i = 0; i < s_.steps.size(); ++i) {
        drop_parts([i](Schedule& s) -> std::vector<Run>& { return s.steps[i].runs; });
        drop_parts([i](Schedule& s) -> std::vector<TokenId>& { return s.steps[i].tokens; });
        for (size_t r = 0; r < s_.steps[i].runs.size(); ++r) {
          drop_parts([i, r](Schedule& s) -> std::vector<TokenId>& { return s.steps[i].runs[r].tokens; });
          weaken([i, r](Schedule& s) -> Want& { return s.steps[i].runs[r].want; });
          weaken([i, r](Schedule& s) -> Want& { return s.steps[i].runs[r].hidden; });
        }
        if (s_.steps[i].cancel_after >= 0) attempt([i](Schedule& s) { s.steps[i].cancel_after = -1; });
      }
      drop_parts([](Schedule& s) -> std::vector<int>& { return s.taps; });
    } while (changed_ && tries_ > 0);
    return s_;
  }

 private:
  template <class Change>
  bool attempt(Change change) {
    if (tries_ <= 0) return false;
    --tries_;
    Schedule smaller = s_;
    change(smaller);
    if (!fails_(std::as_const(smaller))) return false;
    s_ = std::move(smaller);
    changed_ = true;
    return true;
  }

  // Halves, quarters, ... single elements of a list, from its end.
  template <class List>
  void drop_parts(List list) {
    for (size_t part = list(s_).size(); part > 0; part /= 2) {
      for (size_t end = list(s_).size(); end > 0;) {
        const size_t begin = end - std::min(end, part);
        attempt([&](Schedule& s) {
          auto& elements = list(s);
          elements.erase(elements.begin() + static_cast<ptrdiff_t>(begin),
                         elements.begin() + static_cast<ptrdiff_t>(end));
        });
        end = begin;
      }
    }
  }

  template <class Wish>
  void weaken(Wish wish) {
    if (wish(s_) == Want::kNothing) return;
    if (attempt([&](Schedule& s) { wish(s) = Want::kNothing; })) return;
    if (wish(s_) == Want::kAll) attempt([&](Schedule& s) { wish(s) = Want::kLast; });
  }

  Schedule s_;
  Fails fails_;
  int tries_;
  bool changed_ = false;
};

template <class Fails>
Schedule shrink(Schedule s, Fails fails, int tries = 3000) {
  return Shrinker<Fails>(std::move(s), std::move(fails), tries).smallest();
}

}  // namespace ingle::schedules
