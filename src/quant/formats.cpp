// The table of block formats.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "base/error.h"
#include "quant/format.h"

namespace ingle {

// One line per format, in any order. Each declares the function it calls, which stands in the format's own file: nobody
// else needs it. (A function declared here is one of namespace ingle, so the table must not be in an unnamed one.)
// clang-format off
constexpr Format (*kRows[])() = {
    [] { extern Format f32_format(); return f32_format(); },
    [] { extern Format f16_format(); return f16_format(); },
    [] { extern Format q4_0_format(); return q4_0_format(); },
    [] { extern Format q4_1_format(); return q4_1_format(); },
    [] { extern Format q5_0_format(); return q5_0_format(); },
    [] { extern Format q5_1_format(); return q5_1_format(); },
    [] { extern Format q8_0_format(); return q8_0_format(); },
    [] { extern Format q8_1_format(); return q8_1_format(); },
    [] { extern Format q2_k_format(); return q2_k_format(); },
    [] { extern Format q3_k_format(); return q3_k_format(); },
    [] { extern Format q4_k_format(); return q4_k_format(); },
    [] { extern Format q5_k_format(); return q5_k_format(); },
    [] { extern Format q6_k_format(); return q6_k_format(); },
    [] { extern Format q8_k_format(); return q8_k_format(); },
    [] { extern Format iq2_xxs_format(); return iq2_xxs_format(); },
    [] { extern Format iq2_xs_format(); return iq2_xs_format(); },
    [] { extern Format iq3_xxs_format(); return iq3_xxs_format(); },
    [] { extern Format iq1_s_format(); return iq1_s_format(); },
    [] { extern Format iq4_nl_format(); return iq4_nl_format(); },
    [] { extern Format iq3_s_format(); return iq3_s_format(); },
    [] { extern Format iq2_s_format(); return iq2_s_format(); },
    [] { extern Format iq4_xs_format(); return iq4_xs_format(); },
    [] { extern Format i8_format(); return i8_format(); },
    [] { extern Format i16_format(); return i16_format(); },
    [] { extern Format i32_format(); return i32_format(); },
    [] { extern Format i64_format(); return i64_format(); },
    [] { extern Format f64_format(); return f64_format(); },
    [] { extern Format iq1_m_format(); return iq1_m_format(); },
    [] { extern Format bf16_format(); return bf16_format(); },
    [] { extern Format tq1_0_format(); return tq1_0_format(); },
    [] { extern Format tq2_0_format(); return tq2_0_format(); },
    [] { extern Format mxfp4_format(); return mxfp4_format(); },
    [] { extern Format nvfp4_format(); return nvfp4_format(); },
    [] { extern Format q1_0_format(); return q1_0_format(); },
    [] { extern Format q2_0_format(); return q2_0_format(); },
};
// clang-format on

namespace {

// Rows in order of id, and where to find an id: it is asked for once a row of a matrix.
struct Table {
  static constexpr size_t kIds = 512;  // the largest known, a fork's, is 399
  std::array<Format, std::size(kRows)> rows;
  std::array<const Format*, kIds> by_id = {};

  Table() {
    std::transform(std::begin(kRows), std::end(kRows), rows.begin(), [](auto row) { return row(); });
    std::ranges::sort(rows, {}, &Format::type);
    for (const Format& row : rows) {
      const auto id = static_cast<size_t>(row.type);
      INGLE_CHECK(id < kIds && by_id[id] == nullptr);
      by_id[id] = &row;
    }
  }
  Table(const Table&) = delete;
};

const Table& table() noexcept {
  static const Table kTable;
  return kTable;
}

constexpr char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Ids we know of and do not read: withdrawn by the format's owners, or taken by the fork ik_llama.cpp.
struct RefusedId {
  uint32_t first, last;
  std::string_view why;
};
constexpr RefusedId kRefused[] = {
    {4, 5, "removed from the format (Q4_2, Q4_3)"},
    {31, 33, "removed from the format (Q4_0 interleaved by rows)"},
    {36, 36, "removed from the format (IQ4_NL interleaved by rows), or I2_S of the fork ik_llama.cpp"},
    {37, 38, "removed from the format (IQ4_NL interleaved by rows)"},
    {97, 99, "only in the fork ik_llama.cpp (Q8_0 and Q8_1 in groups, X4 or X2)"},
    {133, 133, "only in the fork ik_llama.cpp (Q6_0)"},
    {134, 134, "only in the fork ik_llama.cpp (IQ1_BN)"},
    {135, 135, "only in the fork ik_llama.cpp (IQ2_BN)"},
    {136, 136, "only in the fork ik_llama.cpp (Q8_K64)"},
    {137, 137, "only in the fork ik_llama.cpp (IQ2_K)"},
    {138, 138, "only in the fork ik_llama.cpp (IQ3_K)"},
    {139, 139, "only in the fork ik_llama.cpp (IQ4_K)"},
    {140, 140, "only in the fork ik_llama.cpp (IQ5_K)"},
    {141, 141, "only in the fork ik_llama.cpp (IQ6_K)"},
    {144, 144, "only in the fork ik_llama.cpp (IQ4_KS)"},
    {145, 145, "only in the fork ik_llama.cpp (IQ2_KS)"},
    {146, 146, "only in the fork ik_llama.cpp (IQ4_KSS)"},
    {147, 151, "only in the fork ik_llama.cpp (a variant of Q8_K)"},
    {152, 152, "only in the fork ik_llama.cpp (IQ5_KS)"},
    {153, 153, "only in the fork ik_llama.cpp (IQ2_KT)"},
    {154, 154, "only in the fork ik_llama.cpp (IQ3_KT)"},
    {155, 155, "only in the fork ik_llama.cpp (IQ4_KT)"},
    {156, 156, "only in the fork ik_llama.cpp (IQ3_KS)"},
    {157, 157, "only in the fork ik_llama.cpp (IQ2_KL)"},
    {158, 158, "only in the fork ik_llama.cpp (IQ1_KT)"},
    {202, 230, "only in the fork ik_llama.cpp (rows interleaved, R4 or R8)"},
    {233, 233, "only in the fork ik_llama.cpp (rows interleaved)"},
    {335, 353, "only in the fork ik_llama.cpp (rows interleaved)"},
    {397, 399, "only in the fork ik_llama.cpp (rows interleaved)"},
};

}  // namespace

std::span<const Format> formats() noexcept { return table().rows; }

const Format* find_format(DType type) noexcept {
  const auto id = static_cast<uint32_t>(type);
  return id < Table::kIds ? table().by_id[id] : nullptr;
}

const Format* find_format(std::string_view name) noexcept {
  const auto same = [](char a, char b) { return lower(a) == lower(b); };
  for (const Format& f : formats())
    if (std::equal(name.begin(), name.end(), f.name.begin(), f.name.end(), same)) return &f;
  return nullptr;
}

const Format& format_of(DType type) {
  const Format* f = find_format(type);
  if (f == nullptr) {
    const auto id = static_cast<uint32_t>(type);
    throw_error(ErrorCode::kInternal, "tensor type {} reached the engine unchecked: {}", id, describe_unknown_type(id));
  }
  return *f;
}

std::string_view describe_unknown_type(uint32_t id) noexcept {
  for (const RefusedId& r : kRefused)
    if (id >= r.first && id <= r.last) return r.why;
  return "unknown";
}

}  // namespace ingle
