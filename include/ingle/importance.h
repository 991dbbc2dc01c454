// How much each input of a model's matrices matters: sums of the squares of what comes in while the model reads a text.
// Quantizing spares the inputs that matter (QuantizeOptions::importance).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ingle/model.h"

namespace ingle {

struct ImportanceOptions {
  int64_t window = 512;             // tokens read together, at most
  int64_t micro_batch = 512;        // most tokens computed together
  bool output = false;              // also of the output matrix, or of the token embedding where it is that
  std::function<bool()> cancelled;  // asked between micro-batches
};

// What is known of one tensor.
struct TensorImportance {
  std::string name;
  int64_t matrices = 0, columns = 0;      // matrices: experts or heads, otherwise 1
  int64_t least_rows = 0, most_rows = 0;  // that a matrix of it has seen
  int64_t unseen = 0;                     // matrices that have seen none
  double mean_square = 0;                 // of all inputs
};

// Takes the memory of two numbers for each input of each matrix, and a session's. One thread at a time; must not
// outlive the model.
class ImportanceCollector {
 public:
  // Throws what Session does.
  explicit ImportanceCollector(const Model& model, ImportanceOptions options = {});
  ~ImportanceCollector();
  ImportanceCollector(ImportanceCollector&&) noexcept;

  // Reads tokens as a text of their own. Throws Error: kInvalidArgument (a token that is not there, more than the
  // window), kInvalidFile (the model gives numbers that are not finite), kCancelled; then they count for nothing.
  void read(std::span<const TokenId> window);
  // Counts what a file of write() counted. Throws Error: what opening a file throws; kInvalidFile where it is of
  // another model (names the tensor and the numbers); then nothing has changed.
  void add(const std::filesystem::path& earlier);

  int64_t windows() const noexcept;               // read and added
  std::vector<TensorImportance> tensors() const;  // of which something is known, by name

  // The GGUF file of general.type "imatrix" that other programs know too. `text`: what was read, by name. Throws
  // Error: kIo, kInvalidArgument (the target is a file of the model).
  void write(const std::filesystem::path& target, const std::string& text) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ingle
