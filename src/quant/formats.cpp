// The table of block formats: one row each, in order of the id a file stores.
#include <algorithm>
#include <array>

#include "base/error.h"
#include "quant/format.h"
#include "quant/fp4.h"
#include "quant/iq1.h"
#include "quant/iq2.h"
#include "quant/iq3.h"
#include "quant/iq4.h"
#include "quant/plain.h"
#include "quant/q1_0.h"
#include "quant/q2_k.h"
#include "quant/q3_k.h"
#include "quant/q4_0.h"
#include "quant/q4_1.h"
#include "quant/q4_k.h"
#include "quant/q5_0.h"
#include "quant/q5_1.h"
#include "quant/q5_k.h"
#include "quant/q6_k.h"
#include "quant/q8_0.h"
#include "quant/q8_k.h"
#include "quant/ternary.h"

namespace ingle {

namespace {

using Decode = decltype(Format::decode);
using Encode = decltype(Format::encode);

template <class Block>
constexpr Format row(DType type, std::string_view name, Decode decode, Encode encode) noexcept {
  return {type, name, Block::kElements, sizeof(Block), decode, encode};
}

constexpr Format kFormats[] = {
    {DType::kF32, "F32", 1, 4, decode_f32, encode_f32},
    {DType::kF16, "F16", 1, 2, decode_f16, encode_f16},
    row<BlockQ4_0>(DType::kQ4_0, "Q4_0", decode_q4_0, encode_q4_0),
    row<BlockQ4_1>(DType::kQ4_1, "Q4_1", decode_q4_1, encode_q4_1),
    row<BlockQ5_0>(DType::kQ5_0, "Q5_0", decode_q5_0, encode_q5_0),
    row<BlockQ5_1>(DType::kQ5_1, "Q5_1", decode_q5_1, encode_q5_1),
    row<BlockQ8_0>(DType::kQ8_0, "Q8_0", decode_q8_0, encode_q8_0),
    row<BlockQ8_1>(DType::kQ8_1, "Q8_1", decode_q8_1, nullptr),
    row<BlockQ2_K>(DType::kQ2_K, "Q2_K", decode_q2_k, encode_q2_k),
    row<BlockQ3_K>(DType::kQ3_K, "Q3_K", decode_q3_k, encode_q3_k),
    row<BlockQ4_K>(DType::kQ4_K, "Q4_K", decode_q4_k, encode_q4_k),
    row<BlockQ5_K>(DType::kQ5_K, "Q5_K", decode_q5_k, encode_q5_k),
    row<BlockQ6_K>(DType::kQ6_K, "Q6_K", decode_q6_k, encode_q6_k),
    row<BlockQ8_K>(DType::kQ8_K, "Q8_K", decode_q8_k, encode_q8_k),
    row<BlockIQ2_XXS>(DType::kIQ2_XXS, "IQ2_XXS", decode_iq2_xxs, nullptr),
    row<BlockIQ2_XS>(DType::kIQ2_XS, "IQ2_XS", decode_iq2_xs, nullptr),
    row<BlockIQ3_XXS>(DType::kIQ3_XXS, "IQ3_XXS", decode_iq3_xxs, nullptr),
    row<BlockIQ1_S>(DType::kIQ1_S, "IQ1_S", decode_iq1_s, nullptr),
    row<BlockIQ4_NL>(DType::kIQ4_NL, "IQ4_NL", decode_iq4_nl, encode_iq4_nl),
    row<BlockIQ3_S>(DType::kIQ3_S, "IQ3_S", decode_iq3_s, nullptr),
    row<BlockIQ2_S>(DType::kIQ2_S, "IQ2_S", decode_iq2_s, nullptr),
    row<BlockIQ4_XS>(DType::kIQ4_XS, "IQ4_XS", decode_iq4_xs, encode_iq4_xs),
    {DType::kI8, "I8", 1, 1, decode_i8, nullptr},
    {DType::kI16, "I16", 1, 2, decode_i16, nullptr},
    {DType::kI32, "I32", 1, 4, decode_i32, nullptr},
    {DType::kI64, "I64", 1, 8, decode_i64, nullptr},
    {DType::kF64, "F64", 1, 8, decode_f64, nullptr},
    row<BlockIQ1_M>(DType::kIQ1_M, "IQ1_M", decode_iq1_m, nullptr),
    {DType::kBF16, "BF16", 1, 2, decode_bf16, encode_bf16},
    row<BlockTQ1_0>(DType::kTQ1_0, "TQ1_0", decode_tq1_0, nullptr),
    row<BlockTQ2_0>(DType::kTQ2_0, "TQ2_0", decode_tq2_0, nullptr),
    row<BlockMXFP4>(DType::kMXFP4, "MXFP4", decode_mxfp4, encode_mxfp4),
    row<BlockNVFP4>(DType::kNVFP4, "NVFP4", decode_nvfp4, nullptr),
    row<BlockQ1_0>(DType::kQ1_0, "Q1_0", decode_q1_0, nullptr),
    row<BlockQ2_0>(DType::kQ2_0, "Q2_0", decode_q2_0, nullptr),
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
