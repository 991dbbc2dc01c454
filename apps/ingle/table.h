// Columns that line up: the first to the left, numbers to the right.
#pragma once

#include <string>
#include <vector>

namespace ingle::app {

class Table {
 public:
  // `left`: how many columns, from the first, are aligned to the left.
  explicit Table(std::vector<std::string> header, size_t left = 1);
  void add(std::vector<std::string> row);  // as many cells as the header
  std::string text() const;
  std::string markdown() const;

 private:
  std::vector<std::vector<std::string>> rows_;
  size_t left_;
};

}  // namespace ingle::app
