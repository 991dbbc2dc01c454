// Results of a benchmark as a table for people, or as CSV, Markdown, JSON and JSON lines for others.
#pragma once

#include <string>
#include <vector>

#include "apps/ingle/bench/measure.h"

namespace ingle::app {

struct BenchResult {
  BenchSetting* setting;
  BenchTest test;
  std::vector<BenchSample> samples;
  // The same measured with every row computed, where both were asked for; its samples were taken in turns with these.
  const BenchResult* with_all_rows = nullptr;
  const Ceilings* ceilings = nullptr;  // of the setting's engine, when they were measured
  double floor_seconds = 0;            // what a sample takes at least at these ceilings; 0: not known

  void set_floor(const Ceilings& measured, const std::vector<StepWork>& steps);
};

// `format`: "table", "csv", "md", "json", "jsonl". `date`: when it was measured. A mixed test gives two lines, one for
// each kind of tokens.
std::string bench_report(const std::vector<BenchResult>& results, const std::string& format, const std::string& date);

}  // namespace ingle::app
