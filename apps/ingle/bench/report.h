// Results of a benchmark as a table for people, or as CSV, Markdown, JSON and JSON lines for others.
#pragma once

#include <string>
#include <vector>

#include "apps/ingle/bench/measure.h"

namespace ingle::app {

struct BenchResult {
  BenchSetting* setting;
  BenchTest test;
  std::vector<double> samples;  // tokens per second
};

// `format`: "table", "csv", "md", "json", "jsonl". `date`: when it was measured.
std::string bench_report(const std::vector<BenchResult>& results, const std::string& format, const std::string& date);

}  // namespace ingle::app
