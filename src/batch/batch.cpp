#include "batch/batch.h"

namespace ingle {

void Batch::add_run(std::span<const int32_t> run_tokens, int32_t first_position, RowWant want) {
  runs.push_back({static_cast<int32_t>(runs.size()), static_cast<int32_t>(tokens.size()),
                  static_cast<int32_t>(run_tokens.size())});
  for (int32_t token : run_tokens) {
    tokens.push_back(token);
    positions.push_back(first_position++);
    segments.push_back(0);
    wants.push_back(want);
  }
}

}  // namespace ingle
