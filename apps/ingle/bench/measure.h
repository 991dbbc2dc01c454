// One setting of a benchmark (engine, batch sizes, cache) and what is measured in it.
#pragma once

#include <string>
#include <vector>

#include "ingle/ingle.h"

namespace ingle::app {

struct BenchTest {
  int64_t prompt = 0, generate = 0;  // tokens read together, then one by one
  int64_t depth = 0;                 // tokens in the context before the clock starts

  std::string name() const;     // "pp512", "tg128", "pp512+tg128 @ d1024"
  BenchTest shortened() const;  // for warming up: enough tokens to touch all weights in the same way
  int64_t positions() const { return depth + prompt + generate; }
};

class BenchSetting {
 public:
  // The context is sized for the largest of `tests`. Tokens are random, the same for the same seed.
  BenchSetting(const Model& model, SessionOptions options, const std::vector<BenchTest>& tests, uint64_t seed);

  double measure(const BenchTest& test);       // tokens per second; throws Error{kCancelled} after Ctrl-C
  std::string profile(const BenchTest& test);  // measures once more and says where the time went

  const Model& model() const noexcept { return session_.model(); }
  const SessionOptions& options() const noexcept { return session_.options(); }

 private:
  SequenceId sequence_at(int64_t depth);  // holds exactly `depth` tokens
  void read(SequenceId sequence, int64_t begin, int64_t count);
  double seconds_for(const BenchTest& test, SequenceId sequence);

  Session session_;
  std::vector<TokenId> tokens_;                           // by position
  std::vector<std::pair<int64_t, SequenceId>> by_depth_;  // a sequence each, so that a depth is read once
};

}  // namespace ingle::app
