#include "apps/ingle/bench/report.h"

#include <boost/json.hpp>
#include <set>

#include "apps/ingle/json_text.h"
#include "apps/ingle/setup.h"
#include "apps/ingle/statistics.h"
#include "apps/ingle/table.h"
#include "apps/ingle/terminal.h"

namespace ingle::app {
namespace {

boost::json::object result_json(const BenchResult& result, const MachineInfo& machine, const std::string& date) {
  const Summary s = summarize(result.samples);
  const Engine& engine = result.setting->model().engine();
  const SessionOptions& options = result.setting->options();
  return {
      {"test", result.test.name()},
      {"n_prompt", result.test.prompt},
      {"n_gen", result.test.generate},
      {"n_depth", result.test.depth},
      {"tokens_per_second", s.median},
      {"samples", boost::json::array(result.samples.begin(), result.samples.end())},
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
}

std::string csv_field(const boost::json::value& value) {
  if (!value.is_string()) return json_text(value);
  std::string text = "\"";
  for (const char c : value.get_string()) text += c == '"' ? std::string("\"\"") : std::string(1, c);
  return text + '"';
}

// The same fields as JSON; nested ones are flattened, samples are left out.
std::string csv(const std::vector<boost::json::object>& rows) {
  std::string text;
  for (size_t i = 0; i < rows.size(); ++i) {
    std::vector<std::string> names, fields;
    const auto add = [&](std::string name, const boost::json::value& value) {
      names.push_back(std::move(name));
      fields.push_back(csv_field(value));
    };
    for (const auto& [key, value] : rows[i]) {
      if (value.is_array()) continue;
      if (!value.is_object()) {
        add(key, value);
        continue;
      }
      for (const auto& [inner, inner_value] : value.get_object())
        add(fmt::format("{}_{}", std::string_view(key), std::string_view(inner)), inner_value);
    }
    if (i == 0) text += fmt::format("{}\n", fmt::join(names, ","));
    text += fmt::format("{}\n", fmt::join(fields, ","));
  }
  return text;
}

Table table(const std::vector<BenchResult>& results) {
  std::set<int64_t> batches, micro_batches;
  for (const BenchResult& result : results) {
    batches.insert(result.setting->options().batch);
    micro_batches.insert(result.setting->options().micro_batch);
  }
  // A column for what differs; what is the same everywhere stands above the table.
  std::vector<std::string> header = {"test", "threads"};
  if (batches.size() > 1) header.emplace_back("batch");
  if (micro_batches.size() > 1) header.emplace_back("ubatch");
  for (const char* name : {"tokens/s", "q1", "q3", "min", "max", "runs"}) header.emplace_back(name);
  Table table(header);
  for (const BenchResult& result : results) {
    const Summary s = summarize(result.samples);
    std::vector<std::string> row = {result.test.name(), std::to_string(result.setting->model().engine().threads())};
    if (batches.size() > 1) row.push_back(std::to_string(result.setting->options().batch));
    if (micro_batches.size() > 1) row.push_back(std::to_string(result.setting->options().micro_batch));
    for (const double value : {s.median, s.quartile_1, s.quartile_3, s.least, s.most})
      row.push_back(fmt::format("{:.2f}", value));
    row.push_back(std::to_string(result.samples.size()));
    table.add(std::move(row));
  }
  return table;
}

std::string heading(const BenchResult& first, const MachineInfo& machine) {
  const ModelInfo& info = first.setting->model().info();
  const Engine& engine = first.setting->model().engine();
  return fmt::format("{} ({}, {}, {} parameters)\n{}, {} cores, {}{}, cache {} and {}, ingle {}\n\n",
                     printable(info.name), printable(info.file_type),
                     format_bytes(static_cast<double>(info.file_bytes)),
                     format_count(static_cast<double>(info.parameters)), machine.processor, machine.physical_cores,
                     engine.isa(), engine.exact() ? ", exact" : "", first.setting->options().cache_type_k,
                     first.setting->options().cache_type_v, version());
}

}  // namespace

std::string bench_report(const std::vector<BenchResult>& results, const std::string& format, const std::string& date) {
  const MachineInfo machine = Engine::machine();
  if (format == "table") return heading(results.front(), machine) + table(results).text();
  if (format == "md") return heading(results.front(), machine) + table(results).markdown();
  std::vector<boost::json::object> rows;
  for (const BenchResult& result : results) rows.push_back(result_json(result, machine, date));
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
