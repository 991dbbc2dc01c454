// Every kernel, over whatever vocabulary was included before; ends with the table that an instruction set exports.
// Order matters: each file may use what stands above it.
#include "backend/cpu/kernels/panel.inl"

// Packed block formats: a line for the file here, and a row in kIntFormats.
#include "backend/cpu/kernels/format_q4.inl"
#include "backend/cpu/kernels/format_q5.inl"
#include "backend/cpu/kernels/format_q8.inl"
// These use the above.
#include "backend/cpu/kernels/format_k.inl"
#include "backend/cpu/kernels/format_levels.inl"

#include "backend/cpu/kernels/elementwise.inl"

// Attention in two kinds of numbers; attention.inl uses them.
#include "backend/cpu/kernels/attention_float.inl"
#include "backend/cpu/kernels/attention_pairs.inl"

#include "backend/cpu/kernels/attention.inl"
#include "backend/cpu/kernels/ceilings.inl"
#include "backend/cpu/kernels/float_product.inl"
#include "backend/cpu/kernels/int_product.inl"
// Uses the above.
#include "backend/cpu/kernels/format_codes.inl"

#include "backend/cpu/kernels/kv_cache.inl"

// clang-format off
static constexpr IntFormat kIntFormats[] = {
    int_format<Q4_0Panel>(),
    int_format<Q4_1Panel>(),
    int_format<Q5_0Panel>(),
    int_format<Q5_1Panel>(),
    int_format<Q8_0Panel>(),
    int_format<Q4_K_Panel>(),
    int_format<Q5_K_Panel>(),
    int_format<Q2_K_Panel>(),
    int_format<Q3_K_Panel>(),
    int_format<Q6_K_Panel>(),
    int_format<IQ4_NL_Panel>(),
    int_format<IQ4_XS_Panel>(),
    int_format<MXFP4_Panel>(),
    codes_format<CodesPanel<DType::kIQ2_XXS, 8, 66>>("iq2_xxs"),
    codes_format<CodesPanel<DType::kIQ2_XS, 8, 74>>("iq2_xs"),
    codes_format<CodesPanel<DType::kIQ2_S, 8, 82>>("iq2_s"),
    codes_format<CodesPanel<DType::kIQ3_XXS, 8, 98>>("iq3_xxs"),
    codes_format<CodesPanel<DType::kIQ3_S, 8, 110>>("iq3_s"),
    codes_format<CodesPanel<DType::kIQ1_S, 8, 50>>("iq1_s"),
    codes_format<CodesPanel<DType::kIQ1_M, 8, 56>>("iq1_m"),
    codes_format<CodesPanel<DType::kTQ1_0, 8, 54>>("tq1_0"),
    codes_format<CodesPanel<DType::kTQ2_0, 8, 66>>("tq2_0"),
    codes_format<CodesPanel<DType::kNVFP4, 2, 36>>("nvfp4"),
    codes_format<CodesPanel<DType::kQ1_0, 4, 18>>("q1_0"),
    codes_format<CodesPanel<DType::kQ2_0, 2, 18>>("q2_0"),
};
// clang-format on
static constexpr FloatFormat kFloatFormats[] = {
    float_format<float>(DType::kF32, "f32"),
    float_format<HalfWeight>(DType::kF16, "f16"),
    float_format<BfloatWeight>(DType::kBF16, "bf16"),
};
static constexpr KvFormat kKvFormats[] = {
    kv_format<FloatCache>(DType::kF32), kv_format<HalfCache>(DType::kF16), kv_format<Q8Cache>(DType::kQ8_0),
    kv_format<Q4Cache>(DType::kQ4_0),   kv_format<I16Cache>(DType::kI16),
};

constexpr CpuKernels kernel_table(const char* name) {
  return {.name = name,
          .lanes = kLanes,
          .panel_rows = kPanelRows,
          .tile_tokens = kTileTokens,
          .int_formats = kIntFormats,
          .int_format_count = sizeof(kIntFormats) / sizeof(kIntFormats[0]),
          .float_formats = kFloatFormats,
          .float_format_count = sizeof(kFloatFormats) / sizeof(kFloatFormats[0]),
          .kv_formats = kKvFormats,
          .kv_format_count = sizeof(kKvFormats) / sizeof(kKvFormats[0]),
          .cache_type = kPairsAreFast ? DType::kI16 : DType::kF16,
          .quantize = quantize_group,
          .float_tile = {float_tile<1>, float_tile<2>, float_tile<3>, float_tile<4>, float_tile<5>, float_tile<6>},
          .store = store_rows,
          .silu_mul = silu_mul,
          .gelu_mul = gelu_mul,
          .clamped_silu_mul = clamped_silu_mul,
          .rms_norm = rms_norm,
          .layer_norm = layer_norm,
          .rope_adjacent = rope_adjacent,
          .rope_halves = rope_halves,
          .scale = scale_all,
          .multiply = multiply_all,
          .soft_cap = soft_cap_all,
          .gelu = gelu_all,
          .attention_float = attention_kernel<FloatNumbers>(),
          .attention_pairs = attention_kernel<PairNumbers>(),
          .attention_merge = attention_merge,
          .attention_finish = attention_finish,
          .blend = blend,
          .peaks = kPeaks,
          .peak_count = kPeakCount,
          .read_all = read_all};
}
