#include "apps/ingle/table.h"

#include <algorithm>

#include "apps/ingle/terminal.h"

namespace ingle::app {

Table::Table(std::vector<std::string> header, size_t left) : rows_{std::move(header)}, left_(left) {}

void Table::add(std::vector<std::string> row) {
  row.resize(rows_.front().size());
  rows_.push_back(std::move(row));
}

std::string Table::text() const {
  std::vector<int> widths(rows_.front().size());
  for (const auto& row : rows_)
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], display_width(row[i]));
  std::string text;
  for (const auto& row : rows_) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string gap(static_cast<size_t>(widths[i] - display_width(row[i])), ' ');
      if (i > 0) line += "  ";
      line += i < left_ ? row[i] + gap : gap + row[i];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  return text;
}

std::string Table::markdown() const {
  std::string text;
  for (size_t r = 0; r < rows_.size(); ++r) {
    text += '|';
    for (const std::string& cell : rows_[r]) {
      text += ' ';
      for (const char c : cell) text += c == '|' ? std::string("\\|") : std::string(1, c);
      text += " |";
    }
    text += '\n';
    if (r > 0) continue;
    text += '|';
    for (size_t i = 0; i < rows_[r].size(); ++i) text += i < left_ ? " --- |" : " ---: |";
    text += '\n';
  }
  return text;
}

}  // namespace ingle::app
