#include "apps/ingle/explain.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "apps/ingle/table.h"
#include "apps/ingle/terminal.h"

namespace ingle::app {
namespace {

// "blk.17.attn_q.weight" -> "blk.*.attn_q.weight"
std::string without_numbers(std::string_view name) {
  std::string pattern;
  for (size_t i = 0; i < name.size();) {
    const bool number = (i == 0 || name[i - 1] == '.') && name[i] >= '0' && name[i] <= '9';
    if (!number) {
      pattern += name[i++];
      continue;
    }
    while (i < name.size() && name[i] >= '0' && name[i] <= '9') ++i;
    pattern += '*';
  }
  return printable(pattern);
}

struct Sum {
  int64_t calls = 0, rows = 0;
  double seconds = 0, bytes = 0, operations = 0;
  std::map<int64_t, int64_t> expert_rows = {};
  int64_t streamed_gates = 0, streamed_downs = 0;

  void add(const ProfileLine& line) {
    calls += line.calls;
    rows += line.rows;
    seconds += line.seconds;
    bytes += line.bytes;
    operations += line.operations;
    for (const auto& [got, times] : line.expert_rows) expert_rows[got] += times;
    streamed_gates += line.streamed_gates;
    streamed_downs += line.streamed_downs;
  }
};

std::vector<std::string> profile_row(std::string name, const Sum& sum, double total) {
  const double seconds = std::max(sum.seconds, 1e-12);
  return {std::move(name),
          fmt::format("{}", sum.calls),
          fmt::format("{}", sum.rows),
          fmt::format("{:.2f}", sum.seconds * 1e3),
          fmt::format("{:.1f} %", total > 0 ? 100 * sum.seconds / total : 0.0),
          format_bytes(sum.bytes),
          fmt::format("{:.2f}", sum.bytes / seconds / 1e9),
          fmt::format("{:.2f}", sum.operations / seconds / 1e9)};
}

// How rows fell on experts; least, median and most are those of experts that got any.
std::vector<std::string> experts_row(std::string name, const Sum& sum) {
  int64_t none = 0, busy = 0, median = 0;
  for (const auto& [got, times] : sum.expert_rows) (got == 0 ? none : busy) += times;
  int64_t below = 0;
  for (const auto& [got, times] : sum.expert_rows) {
    if (got == 0) continue;
    median = got;
    if ((below += times) * 2 >= busy) break;
  }
  const auto least = sum.expert_rows.upper_bound(0);
  return {std::move(name),
          fmt::format("{}", busy + none),
          fmt::format("{}", none),
          fmt::format("{}", least == sum.expert_rows.end() ? 0 : least->first),
          fmt::format("{}", median),
          fmt::format("{}", sum.expert_rows.rbegin()->first),
          fmt::format("{} + {}", sum.streamed_gates, busy - sum.streamed_gates),
          fmt::format("{} + {}", sum.streamed_downs, busy - sum.streamed_downs)};
}

std::string layer_name(int layer) { return layer < 0 ? std::string("outside") : std::to_string(layer); }

// Checks come with the worst first: of an operation, or a layer, the first is its worst.
struct CheckSum {
  const OpCheck* worst;
  int64_t calls = 0, unchecked = 0;
};

template <class Key>
std::vector<CheckSum> sum_checks(std::span<const OpCheck> checks, Key key) {
  std::vector<CheckSum> sums;
  for (const OpCheck& check : checks) {
    auto sum = std::ranges::find_if(sums, [&](const CheckSum& s) { return key(*s.worst) == key(check); });
    if (sum == sums.end()) sum = sums.insert(sums.end(), {.worst = &check});
    sum->calls += check.calls;
    sum->unchecked += check.unchecked;
  }
  return sums;
}

// What was never compared has no difference.
std::string difference(const CheckSum& sum) { return sum.calls > 0 ? fmt::format("{:.1e}", sum.worst->error) : "-"; }

std::string place(const OpCheck& check) {
  if (check.calls == 0) return "-";
  return fmt::format("step {}, row {}{}{}", check.step, check.row, check.weight.empty() ? "" : ", ",
                     printable(check.weight));
}

std::vector<std::string> profile_header(std::string first) {
  return {std::move(first), "calls", "rows", "ms", "share", "bytes", "GB/s", "GOP/s"};
}

}  // namespace

std::string explain_placements(std::span<const TensorPlacement> placements) {
  struct Group {
    std::set<std::string> patterns;
    int64_t tensors = 0;
    uint64_t file_bytes = 0, memory_bytes = 0;
  };
  std::map<std::tuple<std::string, std::string, std::string>, Group> groups;
  for (const TensorPlacement& p : placements) {
    Group& group = groups[{p.type, p.layout, p.reason}];
    group.patterns.insert(without_numbers(p.name));
    ++group.tensors;
    group.file_bytes += p.file_bytes;
    group.memory_bytes += p.memory_bytes;
  }
  std::string text;
  for (const auto& [key, group] : groups) {
    const auto& [type, layout, reason] = key;
    text +=
        fmt::format("{} -> {}: {} tensor{}, {} in the file, {} in memory\n", printable(type), printable(layout),
                    group.tensors, group.tensors == 1 ? "" : "s", format_bytes(static_cast<double>(group.file_bytes)),
                    format_bytes(static_cast<double>(group.memory_bytes)));
    text += fmt::format("    why: {}\n", wrap(printable(reason), terminal_width() - 10, 9));
    text +=
        fmt::format("    for: {}\n", wrap(fmt::format("{}", fmt::join(group.patterns, " ")), terminal_width() - 10, 9));
  }
  return text;
}

std::string explain_rows(std::span<const LayerRowsPlan> plan) {
  // Layers whose rows are alike share a line; the caches they read are listed once each.
  struct Line {
    int first, last;
    std::string rows;
    std::vector<std::string> caches;
  };
  std::vector<Line> lines;
  for (const LayerRowsPlan& part : plan) {
    if (lines.empty() || lines.back().rows != part.rows) lines.push_back({part.first, part.last, part.rows, {}});
    Line& line = lines.back();
    line.last = part.last;
    if (std::ranges::find(line.caches, part.cache) == line.caches.end()) line.caches.push_back(part.cache);
  }
  std::string text = "rows of a prompt\n";
  for (const Line& line : lines) {
    const std::string layers = line.first == line.last ? fmt::format("layer {}", line.first)
                                                       : fmt::format("layers {}-{}", line.first, line.last);
    text += fmt::format("    {}: {}; cache: {}\n", layers, line.rows, fmt::join(line.caches, ", "));
  }
  return text;
}

std::string profile_tables(std::span<const ProfileLine> lines, std::string_view title) {
  std::map<std::string, Sum> operations;
  std::map<int, Sum> layers;
  Sum all;
  for (const ProfileLine& line : lines) {
    operations[line.op].add(line);
    layers[line.layer].add(line);
    all.add(line);
  }
  std::vector<std::pair<std::string, Sum>> by_time(operations.begin(), operations.end());
  std::ranges::stable_sort(by_time, [](const auto& a, const auto& b) { return a.second.seconds > b.second.seconds; });

  Table by_operation(profile_header("operation"));
  for (const auto& [name, sum] : by_time) by_operation.add(profile_row(name, sum, all.seconds));
  by_operation.add(profile_row("all", all, all.seconds));
  Table by_layer(profile_header("layer"));
  for (const auto& [layer, sum] : layers) by_layer.add(profile_row(layer_name(layer), sum, all.seconds));
  std::string text = fmt::format("profile of {}\n\n{}\n{}", title, by_operation.text(), by_layer.text());
  if (all.expert_rows.empty()) return text;

  Table experts(
      {"experts of", "in all", "no rows", "least", "median", "most", "gate, up: gemv + tiles", "down: gemv + tiles"});
  for (const auto& [layer, sum] : layers)
    if (!sum.expert_rows.empty()) experts.add(experts_row(fmt::format("{}", layer), sum));
  experts.add(experts_row("all", all));
  return text + "\n" + experts.text();
}

std::string check_tables(std::span<const OpCheck> checks, std::string_view title) {
  Table by_operation({"operation", "where", "layer", "difference", "calls", "unchecked"}, 2);
  for (const CheckSum& sum : sum_checks(checks, [](const OpCheck& c) { return std::string_view(c.op); })) {
    by_operation.add({sum.worst->op, place(*sum.worst), layer_name(sum.worst->layer), difference(sum),
                      fmt::format("{}", sum.calls), fmt::format("{}", sum.unchecked)});
  }
  Table by_layer({"layer", "operation", "difference", "calls", "unchecked"}, 2);
  for (const CheckSum& sum : sum_checks(checks, [](const OpCheck& c) { return c.layer; })) {
    by_layer.add({layer_name(sum.worst->layer), sum.worst->op, difference(sum), fmt::format("{}", sum.calls),
                  fmt::format("{}", sum.unchecked)});
  }
  return fmt::format("operations of {}, beside their scalar definitions\n\n{}\n{}", title, by_operation.text(),
                     by_layer.text());
}

}  // namespace ingle::app
