// Finding records by name: their positions, sorted by name. Sorted rather than hashed, because a file chooses the names
// and could make them all collide; this costs n log n whatever it holds.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gguf/gguf.h"

namespace ingle::gguf {

inline std::string_view name_of(const std::pair<std::string, GgufValue>& record) noexcept { return record.first; }
inline std::string_view name_of(const GgufTensor& record) noexcept { return record.name; }

using NameIndex = std::vector<uint32_t>;  // readers keep far below 2^32 records

template <class Record>
NameIndex sort_by_name(std::span<const Record> records) {
  NameIndex order(records.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    const int compared = name_of(records[a]).compare(name_of(records[b]));
    return compared != 0 ? compared < 0 : a < b;
  });
  return order;
}

// The positions of two records of one name, the earlier one first.
template <class Record>
std::optional<std::pair<uint32_t, uint32_t>> find_duplicate(std::span<const Record> records, const NameIndex& order) {
  const auto same = [&](uint32_t a, uint32_t b) { return name_of(records[a]) == name_of(records[b]); };
  const auto found = std::adjacent_find(order.begin(), order.end(), same);
  if (found == order.end()) return std::nullopt;
  return std::pair(found[0], found[1]);
}

template <class Record>
const Record* find_by_name(std::span<const Record> records, const NameIndex& order, std::string_view name) noexcept {
  const auto found = std::lower_bound(order.begin(), order.end(), name, [&](uint32_t i, std::string_view wanted) {
    return name_of(records[i]) < wanted;
  });
  return found != order.end() && name_of(records[*found]) == name ? &records[*found] : nullptr;
}

}  // namespace ingle::gguf
