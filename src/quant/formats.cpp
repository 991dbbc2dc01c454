// The table of block formats: one row each, in order of the id a file stores.
#include <algorithm>
#include <array>

#include "base/error.h"
#include "quant/format.h"
#include "quant/plain.h"
#include "quant/q4_0.h"
#include "quant/q4_1.h"
#include "quant/q8_0.h"

namespace ingle {

namespace {

constexpr Format kFormats[] = {
    {DType::kF32, "F32", 1, 4, decode_f32, encode_f32},
    {DType::kF16, "F16", 1, 2, decode_f16, encode_f16},
    {DType::kQ4_0, "Q4_0", 32, 18, decode_q4_0, nullptr},
    {DType::kQ4_1, "Q4_1", 32, 20, decode_q4_1, nullptr},
    {DType::kQ5_0, "Q5_0", 32, 22, nullptr, nullptr},
    {DType::kQ5_1, "Q5_1", 32, 24, nullptr, nullptr},
    {DType::kQ8_0, "Q8_0", 32, 34, decode_q8_0, encode_q8_0},
    {DType::kQ8_1, "Q8_1", 32, 36, decode_q8_1, nullptr},
    {DType::kQ2_K, "Q2_K", 256, 84, nullptr, nullptr},
    {DType::kQ3_K, "Q3_K", 256, 110, nullptr, nullptr},
    {DType::kQ4_K, "Q4_K", 256, 144, nullptr, nullptr},
    {DType::kQ5_K, "Q5_K", 256, 176, nullptr, nullptr},
    {DType::kQ6_K, "Q6_K", 256, 210, nullptr, nullptr},
    {DType::kQ8_K, "Q8_K", 256, 292, nullptr, nullptr},
    {DType::kIQ2_XXS, "IQ2_XXS", 256, 66, nullptr, nullptr},
    {DType::kIQ2_XS, "IQ2_XS", 256, 74, nullptr, nullptr},
    {DType::kIQ3_XXS, "IQ3_XXS", 256, 98, nullptr, nullptr},
    {DType::kIQ1_S, "IQ1_S", 256, 50, nullptr, nullptr},
    {DType::kIQ4_NL, "IQ4_NL", 32, 18, nullptr, nullptr},
    {DType::kIQ3_S, "IQ3_S", 256, 110, nullptr, nullptr},
    {DType::kIQ2_S, "IQ2_S", 256, 82, nullptr, nullptr},
    {DType::kIQ4_XS, "IQ4_XS", 256, 136, nullptr, nullptr},
    {DType::kI8, "I8", 1, 1, decode_i8, nullptr},
    {DType::kI16, "I16", 1, 2, decode_i16, nullptr},
    {DType::kI32, "I32", 1, 4, decode_i32, nullptr},
    {DType::kI64, "I64", 1, 8, decode_i64, nullptr},
    {DType::kF64, "F64", 1, 8, decode_f64, nullptr},
    {DType::kIQ1_M, "IQ1_M", 256, 56, nullptr, nullptr},
    {DType::kBF16, "BF16", 1, 2, decode_bf16, encode_bf16},
    {DType::kTQ1_0, "TQ1_0", 256, 54, nullptr, nullptr},
    {DType::kTQ2_0, "TQ2_0", 256, 66, nullptr, nullptr},
    {DType::kMXFP4, "MXFP4", 32, 17, nullptr, nullptr},
    {DType::kNVFP4, "NVFP4", 64, 36, nullptr, nullptr},
    {DType::kQ1_0, "Q1_0", 128, 18, nullptr, nullptr},
    {DType::kQ2_0, "Q2_0", 64, 18, nullptr, nullptr},
};

constexpr bool id_less(const Format& f, DType type) noexcept { return f.type < type; }

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

std::span<const Format> formats() noexcept { return kFormats; }

const Format* find_format(DType type) noexcept {
  const Format* f = std::lower_bound(std::begin(kFormats), std::end(kFormats), type, id_less);
  return f != std::end(kFormats) && f->type == type ? f : nullptr;
}

const Format* find_format(std::string_view name) noexcept {
  const auto same = [](char a, char b) { return lower(a) == lower(b); };
  for (const Format& f : kFormats)
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
