// What came into each matrix while a model read texts: sums of squares by column, and of how many rows they are. Lies
// in a GGUF file of general.type "imatrix", for a tensor NAME: NAME.in_sum2, the sums of squares [matrices, columns],
// and NAME.counts, the rows [matrices, 1]; a matrix for each expert or head, otherwise one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "gguf/gguf.h"

namespace ingle {

// How many matrices a weight is: one, or those of a stack.
int64_t matrices_of(const Shape& shape);

struct InputSums {
  struct Entry {
    int64_t matrices = 0, columns = 0;
    std::vector<double> squares;  // [matrices, columns]
    std::vector<double> rows;     // [matrices]
  };
  std::map<std::string, Entry> entries;  // by the name of the weight
  int64_t windows = 0, window = 0;       // how many, and of how many tokens; 0: not said
  std::vector<std::string> texts;        // what was read

  // Throws Error{kInvalidFile} for a file of something else, or numbers that are none.
  static InputSums read(const GgufFile& file);
  // Throws what GgufFile::open does too.
  static InputSums open(const std::filesystem::path& path) { return read(GgufFile::open(path)); }

  // As if what the other read had been read too. Throws Error{kInvalidArgument} where a matrix has another shape; then
  // nothing has changed.
  void add(const InputSums& other);
  // None of those to `keep` is replaced. Throws what GgufWriter::finish does.
  void write(const std::filesystem::path& target, std::vector<std::filesystem::path> keep = {}) const;
};

}  // namespace ingle
