// What the tests of a step's promises share: every instruction set with several thread counts, rows compared to the
// last bit in batches of every size, and a count of the program's allocations.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "tests/conformance/machine.h"

namespace ingle::conformance {

// Allocations of this program through new so far.
int64_t allocation_count() noexcept;

class PromisesTest : public testing::TestWithParam<std::string> {
 protected:
  // One backend per thread count.
  static std::vector<Machine> machines() {
    std::vector<Machine> result;
    for (const Machine& machine : every_machine()) {
      if (machine.isa == GetParam() && machine.threads == 1) {
        for (int threads : {1, 2, 3}) {
          if (machine.emulated && threads == 2) continue;
          result.push_back(machine);
          result.back().threads = threads;
        }
      }
    }
    return result;
  }
};

inline const std::vector<int64_t> kBatches = {1, 2, 3, 4, 5, 6, 7, 8, 9, 50, 200};

// results[row] of `compute(first, rows)`: each row alone with one thread, then in batches that start at several places.
template <class Compute>
void expect_same_rows(const std::vector<Machine>& machines, int64_t total, const std::string& what, Compute compute) {
  std::vector<std::vector<float>> alone;
  for (const Machine& machine : machines) {
    if (machine.emulated) total = std::min<int64_t>(total, 60);
    for (int64_t batch : kBatches) {
      for (int64_t first = 0; first + batch <= total;
           first += batch == 1 ? (alone.size() == static_cast<size_t>(total) ? 37 : 1) : std::max<int64_t>(batch, 67)) {
        const std::vector<std::vector<float>> rows = compute(machine, first, batch);
        for (int64_t r = 0; r < batch; ++r) {
          const auto index = static_cast<size_t>(first + r);
          if (alone.size() == index) alone.push_back(rows[static_cast<size_t>(r)]);
          const std::vector<float>&got = rows[static_cast<size_t>(r)], &want = alone[index];
          ASSERT_EQ(std::memcmp(got.data(), want.data(), want.size() * sizeof(float)), 0)
              << what << ": row " << index << " differs in a batch of " << batch << " with " << machine.threads
              << " threads";
        }
      }
    }
  }
}

inline std::vector<std::vector<float>> rows_of(const Tensor& t) {
  std::vector<std::vector<float>> rows;
  for (int64_t r = 0; r < t.rows(); ++r) rows.emplace_back(t.row(r), t.row(r) + t.row_size());
  return rows;
}

inline std::vector<std::string> every_isa() {
  std::vector<std::string> names;
  for (const Machine& machine : every_machine()) {
    if (machine.threads == 1) names.push_back(machine.isa);
  }
  return names;
}

inline std::string isa_test_name(const testing::TestParamInfo<std::string>& info) {
  return machine_name({Machine{info.param, nullptr, 1, false}, info.index});
}

}  // namespace ingle::conformance
