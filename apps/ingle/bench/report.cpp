#include "apps/ingle/bench/report.h"

#include <algorithm>
#include <boost/json.hpp>
#include <map>
#include <set>

#include "apps/ingle/ceilings_text.h"
#include "apps/ingle/json_text.h"
#include "apps/ingle/setup.h"
#include "apps/ingle/statistics.h"
#include "apps/ingle/table.h"
#include "apps/ingle/terminal.h"

namespace ingle::app {
namespace {

// Which of a result's tokens a line counts.
enum class Counted { kAll, kPrompt, kGenerated };

struct Line {
  const BenchResult* result;
  Counted counted;

  std::string name() const {
    return result->test.name() + (counted == Counted::kPrompt      ? ": prompt"
                                  : counted == Counted::kGenerated ? ": generation"
                                                                   : "");
  }
  std::vector<double> rates() const { return rates_of(*result); }
  // Tokens per second of a sample that takes no longer than it must; 0 when that is not known.
  double floor_rate() const {
    return result->floor_seconds > 0 ? static_cast<double>(tokens_of(result->samples.front())) / result->floor_seconds
                                     : 0;
  }
  // How many times as fast as with all rows: of samples that were taken one after the other.
  std::vector<double> ratios() const {
    std::vector<double> ratios;
    if (result->with_all_rows == nullptr) return ratios;
    const std::vector<double> ours = rates(), others = rates_of(*result->with_all_rows);
    for (size_t i = 0; i < ours.size(); ++i) ratios.push_back(ours[i] / others[i]);
    return ratios;
  }

 private:
  std::vector<double> rates_of(const BenchResult& of) const {
    std::vector<double> rates;
    for (const BenchSample& sample : of.samples)
      rates.push_back(static_cast<double>(tokens_of(sample)) / std::max(sample.seconds, 1e-9));
    return rates;
  }
  int64_t tokens_of(const BenchSample& sample) const {
    return (counted == Counted::kGenerated ? 0 : sample.prompt_tokens) +
           (counted == Counted::kPrompt ? 0 : sample.generated_tokens);
  }
};

std::vector<Line> lines_of(const std::vector<BenchResult>& results) {
  std::vector<Line> lines;
  for (const BenchResult& result : results) {
    if (!result.test.mixed) {
      lines.push_back({&result, Counted::kAll});
      continue;
    }
    lines.push_back({&result, Counted::kPrompt});
    lines.push_back({&result, Counted::kGenerated});
  }
  return lines;
}

std::string_view rows_name(const SessionOptions& options) { return options.every_row ? "all" : "needed"; }

boost::json::object line_json(const Line& line, const MachineInfo& machine, const std::string& date) {
  const BenchResult& result = *line.result;
  const std::vector<double> rates = line.rates(), ratios = line.ratios();
  const Summary s = summarize(rates);
  const Engine& engine = result.setting->model().engine();
  const SessionOptions& options = result.setting->options();
  const RowCounts& rows = result.samples.back().rows;
  boost::json::object object{
      {"test", line.name()},
      {"n_prompt", result.test.prompt},
      {"n_gen", result.test.generate},
      {"n_depth", result.test.depth},
      {"sequences", result.test.sequences},
      {"ragged", result.test.ragged},
      {"mixed", result.test.mixed},
      {"counted", line.counted == Counted::kPrompt      ? "prompt"
                  : line.counted == Counted::kGenerated ? "generation"
                                                        : "all"},
      {"rows", rows_name(options)},
      {"rows_computed", rows.computed},
      {"rows_skipped", rows.skipped},
      {"tokens_per_second", s.median},
      {"samples", boost::json::array(rates.begin(), rates.end())},
      {"min", s.least},
      {"q1", s.quartile_1},
      {"median", s.median},
      {"q3", s.quartile_3},
      {"max", s.most},
      {"mean", s.mean},
      {"stddev", s.stddev},
      {"repetitions", result.samples.size()},
      {"model", to_json(result.setting->model().info())},
      {"threads", engine.threads()},
      {"isa", engine.isa()},
      {"exact", engine.exact()},
      {"batch", options.batch},
      {"micro_batch", options.micro_batch},
      {"cache_type_k", options.cache_type_k},
      {"cache_type_v", options.cache_type_v},
      {"processor", machine.processor},
      {"physical_cores", machine.physical_cores},
      {"build", build()},
      {"version", version()},
      {"date", date},
  };
  if (const double floor = line.floor_rate(); floor > 0) {
    object["floor_tokens_per_second"] = floor;
    object["floor_share"] = s.median / floor;
  }
  if (result.ceilings != nullptr) object["ceilings"] = to_json(*result.ceilings);
  if (!ratios.empty()) {
    const Summary ratio = summarize(ratios);
    object["speedup_over_all_rows"] = {{"median", ratio.median}, {"q1", ratio.quartile_1}, {"q3", ratio.quartile_3}};
  }
  return object;
}

std::string csv_field(const boost::json::value& value) {
  if (!value.is_string()) return json_text(value);
  std::string text = "\"";
  for (const char c : value.get_string()) text += c == '"' ? std::string("\"\"") : std::string(1, c);
  return text + '"';
}

// The same fields as JSON; nested ones are flattened, samples are left out. A line that lacks a field has it empty.
std::string csv(const std::vector<boost::json::object>& rows) {
  std::vector<std::string> names;
  std::vector<std::map<std::string, std::string>> fields;
  for (const boost::json::object& row : rows) {
    std::map<std::string, std::string>& line = fields.emplace_back();
    const auto add = [&](std::string name, const boost::json::value& value) {
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
      line[std::move(name)] = csv_field(value);
    };
    for (const auto& [key, value] : row) {
      if (value.is_array()) continue;
      if (!value.is_object()) {
        add(key, value);
        continue;
      }
      for (const auto& [inner, inner_value] : value.get_object())
        add(fmt::format("{}_{}", std::string_view(key), std::string_view(inner)), inner_value);
    }
  }
  std::string text = fmt::format("{}\n", fmt::join(names, ","));
  for (std::map<std::string, std::string>& line : fields) {
    std::vector<std::string> cells;
    for (const std::string& name : names) cells.push_back(line[name]);
    text += fmt::format("{}\n", fmt::join(cells, ","));
  }
  return text;
}

Table table(const std::vector<BenchResult>& results) {
  std::set<int64_t> batches, micro_batches;
  bool compared = false, mixed = false, limited = false;
  for (const BenchResult& result : results) {
    batches.insert(result.setting->options().batch);
    micro_batches.insert(result.setting->options().micro_batch);
    compared |= result.with_all_rows != nullptr;
    mixed |= result.test.mixed;
    limited |= result.floor_seconds > 0;
  }
  // A column for what differs; what is the same everywhere stands above the table.
  std::vector<std::string> header = {"test", "threads"};
  if (batches.size() > 1) header.emplace_back("batch");
  if (micro_batches.size() > 1) header.emplace_back("ubatch");
  if (compared) header.emplace_back("rows");
  for (const char* name : {"tokens/s", "q1", "q3"}) header.emplace_back(name);
  const bool extremes = !compared && !mixed;  // where lines are long anyway, they are left to the other formats
  if (extremes)
    for (const char* name : {"min", "max"}) header.emplace_back(name);
  header.emplace_back("runs");
  if (limited)
    for (const char* name : {"limit", "share"}) header.emplace_back(name);
  if (compared) header.emplace_back("against all rows");
  Table table(header);
  for (const Line& line : lines_of(results)) {
    const SessionOptions& options = line.result->setting->options();
    const Summary s = summarize(line.rates());
    std::vector<std::string> row = {line.name(), std::to_string(line.result->setting->model().engine().threads())};
    if (batches.size() > 1) row.push_back(std::to_string(options.batch));
    if (micro_batches.size() > 1) row.push_back(std::to_string(options.micro_batch));
    if (compared) row.emplace_back(rows_name(options));
    for (const double value : {s.median, s.quartile_1, s.quartile_3}) row.push_back(fmt::format("{:.2f}", value));
    if (extremes)
      for (const double value : {s.least, s.most}) row.push_back(fmt::format("{:.2f}", value));
    row.push_back(std::to_string(line.result->samples.size()));
    if (limited) {
      const double floor = line.floor_rate();
      row.push_back(floor > 0 ? fmt::format("{:.2f}", floor) : "");
      row.push_back(floor > 0 ? fmt::format("{:.1f} %", 100 * s.median / floor) : "");
    }
    if (compared) {
      const std::vector<double> ratios = line.ratios();
      const Summary ratio = ratios.empty() ? Summary{} : summarize(ratios);
      row.push_back(ratios.empty()
                        ? ""
                        : fmt::format("{:.3f} ({:.3f}-{:.3f})", ratio.median, ratio.quartile_1, ratio.quartile_3));
    }
    table.add(std::move(row));
  }
  return table;
}

std::string heading(const std::vector<BenchResult>& results, const MachineInfo& machine) {
  const BenchResult& first = results.front();
  const bool all_rows =
      std::ranges::all_of(results, [](const BenchResult& result) { return result.setting->options().every_row; });
  const ModelInfo& info = first.setting->model().info();
  const Engine& engine = first.setting->model().engine();
  std::string limits;
  std::set<const Ceilings*> shown;
  for (const BenchResult& result : results) {
    if (result.ceilings != nullptr && shown.insert(result.ceilings).second)
      limits += fmt::format("ceilings, {}\n", ceilings_line(*result.ceilings));
  }
  return fmt::format("{} ({}, {}, {} parameters)\n{}, {} cores, {}{}, cache {} and {}{}, ingle {}\n{}\n",
                     printable(info.name), printable(info.file_type),
                     format_bytes(static_cast<double>(info.file_bytes)),
                     format_count(static_cast<double>(info.parameters)), machine.processor, machine.physical_cores,
                     engine.isa(), engine.exact() ? ", exact" : "", first.setting->options().cache_type_k,
                     first.setting->options().cache_type_v, all_rows ? ", all rows" : "", version(), limits);
}

}  // namespace

void BenchResult::set_floor(const Ceilings& measured, const std::vector<StepWork>& steps) {
  ceilings = &measured;
  floor_seconds = 0;
  for (const StepWork& step : steps) floor_seconds += ingle::floor_seconds(step, measured);
}

std::string bench_report(const std::vector<BenchResult>& results, const std::string& format, const std::string& date) {
  const MachineInfo machine = Engine::machine();
  if (format == "table") return heading(results, machine) + table(results).text();
  if (format == "md") return heading(results, machine) + table(results).markdown();
  std::vector<boost::json::object> rows;
  for (const Line& line : lines_of(results)) rows.push_back(line_json(line, machine, date));
  if (format == "csv") return csv(rows);
  std::string text;
  if (format == "json") text += "[\n";
  for (size_t i = 0; i < rows.size(); ++i)
    text +=
        (format == "json" ? "  " : "") + json_text(rows[i]) + (format == "json" && i + 1 < rows.size() ? ",\n" : "\n");
  if (format == "json") text += "]\n";
  return text;
}

}  // namespace ingle::app
