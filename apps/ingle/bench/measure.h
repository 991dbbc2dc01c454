// One setting of a benchmark (engine, batch sizes, cache, rows) and what is measured in it.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apps/ingle/bench/test.h"
#include "ingle/ingle.h"

namespace ingle::app {

struct BenchSample {
  double seconds = 0;
  int64_t prompt_tokens = 0, generated_tokens = 0;  // of all sequences
  RowCounts rows;                                   // of this sample
};

class BenchSetting {
 public:
  // Context and cache are sized for the largest of `tests`. Tokens are random, the same for the same seed.
  BenchSetting(const Model& model, SessionOptions options, const std::vector<BenchTest>& tests, uint64_t seed);

  BenchSample measure(const BenchTest& test);  // throws Error{kCancelled} after Ctrl-C
  std::string profile(const BenchTest& test);  // measures once more and says where the time went
  // Once more, in a session of its own; `line` gets a line for every operation.
  void trace(const BenchTest& test, std::function<void(std::string_view)> line) const;
  std::string check(const BenchTest& test) const;  // the same, and how far operations are from their definitions
  std::vector<StepWork> count_work(const BenchTest& test) const;  // what the measured part takes, step by step

  const Model& model() const noexcept { return session_.model(); }
  const SessionOptions& options() const noexcept { return session_.options(); }

 private:
  struct Reader {  // a sequence that reads its own random tokens
    SequenceId id;
    size_t number;     // whose tokens
    int64_t position;  // of the next one
  };

  Reader reader_at(int64_t depth, size_t number);
  RunRequest next_run(Reader& reader, int64_t count, Want want) const;
  void read_prompts(std::vector<Reader>& readers, const std::vector<int64_t>& sizes);
  void generate(std::vector<Reader>& readers, int64_t steps);
  int64_t read_while_generating(std::vector<Reader>& prompts, std::vector<int64_t> left, std::vector<Reader>& talkers);
  BenchSample run(const BenchTest& test);

  Session session_;
  std::vector<StepWork>* counted_ = nullptr;  // a dry run's; emptied when the clock starts
  uint64_t seed_;
  std::vector<std::vector<TokenId>> tokens_;                         // of each sequence, by position
  std::map<std::pair<int64_t, size_t>, SequenceId> deep_sequences_;  // by depth and number: read once, then forked
};

}  // namespace ingle::app
