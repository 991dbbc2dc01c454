// The groups of options that commands are put together from. An option that several commands share is written once.
#pragma once

#include "apps/ingle/options.h"

namespace ingle::app {

extern const OptionGroup kGeneralOptions;     // --help, --verbose
extern const OptionGroup kModelFileOptions;   // --model
extern const OptionGroup kModelOptions;       // and how its tokenizer is read
extern const OptionGroup kMachineOptions;     // --threads, --isa, --exact
extern const OptionGroup kContextOptions;     // --ctx-size, --batch-size, ...
extern const OptionGroup kAdapterOptions;     // --lora, --lora-scaled
extern const OptionGroup kGenerationOptions;  // --predict, --stop, --ignore-eos, --special
extern const OptionGroup kSamplingOptions;    // --seed, --temp, ...
extern const OptionGroup kInsightOptions;     // --profile, --trace-ops, --check-ops, --explain

extern const OptionGroup kShapeOptions;  // --shape, --type

// Options of several tables.
inline constexpr double kMostPositions = 1 << 24;
inline constexpr double kMostTokens = 1 << 20;
inline constexpr double kMostMicroBatch = 65536;
inline constexpr double kMostThreads = 512;
inline constexpr double kMostSeed = 9007199254740991;  // 2^53 - 1: what every JSON reader keeps exactly
inline constexpr std::string_view kCacheTypes = "f32|f16|i16|q8_0|q4_0";

inline constexpr Option kIsa = {.name = "isa",
                                .kind = ValueKind::kText,
                                .value_name = "NAME",
                                .fallback_note = "the best this processor has",
                                .help = "Instruction set to use; 'ingle version -v' lists those this processor can run",
                                .environment = "INGLE_ISA"};
inline constexpr Option kExact = {
    .name = "exact", .help = "Compute with f32 activations and cache: slower, equal to an f32 implementation"};
inline constexpr Option kWeights = {
    .name = "weights",
    .kind = ValueKind::kChoice,
    .value_name = "WHERE",
    .choices = "auto|packed|mapped",
    .fallback = "auto",
    .help =
        "Keep weights packed in memory (fast), or mapped: in the file, packed whenever they are "
        "used (slow, for models larger than memory)"};
inline constexpr Option kContextSize = {.name = "ctx-size",
                                        .short_name = "c",
                                        .kind = ValueKind::kInteger,
                                        .value_name = "N",
                                        .least = 0,
                                        .most = kMostPositions,
                                        .fallback = "0",
                                        .fallback_note = "4096, or the model's if smaller",
                                        .help = "Tokens the context holds: prompt and answer together"};
inline constexpr Option kBatchSize = {.name = "batch-size",
                                      .short_name = "b",
                                      .kind = ValueKind::kInteger,
                                      .value_name = "N",
                                      .least = 1,
                                      .most = kMostTokens,
                                      .fallback = "2048",
                                      .help = "Prompt tokens handed over at once"};
inline constexpr Option kMicroBatchSize = {.name = "ubatch-size",
                                           .short_name = "ub",
                                           .kind = ValueKind::kInteger,
                                           .value_name = "N",
                                           .least = 1,
                                           .most = kMostMicroBatch,
                                           .fallback = "512",
                                           .help = "Prompt tokens computed together"};
inline constexpr Option kCacheTypeK = {.name = "cache-type-k",
                                       .short_name = "ctk",
                                       .kind = ValueKind::kChoice,
                                       .value_name = "TYPE",
                                       .choices = kCacheTypes,
                                       .fallback_note = "i16 or f16, whichever is faster; f32 with --exact",
                                       .help = "How cached keys are stored"};
inline constexpr Option kCacheTypeV = {.name = "cache-type-v",
                                       .short_name = "ctv",
                                       .kind = ValueKind::kChoice,
                                       .value_name = "TYPE",
                                       .choices = kCacheTypes,
                                       .fallback_note = "i16 or f16, whichever is faster; f32 with --exact",
                                       .help = "How cached values are stored"};
inline constexpr Option kSyntheticType = {
    .name = "type",
    .kind = ValueKind::kText,
    .value_name = "TYPE",
    .fallback = "q4_0",
    .help = "What the matrices are stored as: f32, f16, bf16, q4_0, q8_0, q4_k, ...; norms and the like stay f32"};
inline constexpr Option kLinesFile = {.name = "file",
                                      .short_name = "f",
                                      .kind = ValueKind::kFile,
                                      .value_name = "FILE",
                                      .help = "One text a line; '-' reads stdin"};
inline constexpr Option kTruncate = {
    .name = "truncate", .help = "Cut what is longer than the context, and say so, where it would be an error"};
inline constexpr Option kSplit = {.name = "split",
                                  .kind = ValueKind::kInteger,
                                  .value_name = "MB",
                                  .least = 1,
                                  .most = 1 << 30,
                                  .fallback_note = "one file",
                                  .help = "Write several files with at most so many megabytes of tensors each"};
inline constexpr Option kQuantizeThreads = {.name = "threads",
                                            .short_name = "t",
                                            .kind = ValueKind::kInteger,
                                            .value_name = "N",
                                            .least = 1,
                                            .most = kMostThreads,
                                            .fallback_note = "one per processor",
                                            .help = "Threads to quantise with"};

}  // namespace ingle::app
