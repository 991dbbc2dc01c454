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
extern const OptionGroup kInsightOptions;     // --profile, --trace-ops, --explain

extern const OptionGroup kShapeOptions;  // --shape, --type

extern const OptionGroup kRunOptions;
extern const OptionGroup kBenchOptions;
extern const OptionGroup
    kBenchMachineOptions;  // as kMachineOptions and kContextOptions, with lists where bench compares
extern const OptionGroup kSynthOptions;
extern const OptionGroup kPerplexityOptions;
extern const OptionGroup kEmbedOptions;
extern const OptionGroup kRerankOptions;
extern const OptionGroup kScoreOptions;
extern const OptionGroup kInspectOptions;
extern const OptionGroup kTokenizeOptions;
extern const OptionGroup kTemplateOptions;
extern const OptionGroup kConvertOptions;
extern const OptionGroup kQuantizeOptions;
extern const OptionGroup kImatrixOptions;

}  // namespace ingle::app
