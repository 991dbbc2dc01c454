// A LoRA adapter as it is published: a folder with adapter_config.json and adapter_model.safetensors (the format of the
// PEFT library). Its modules' names become those of a GGUF file's tensors, and rows go where the converted model has
// them.
#pragma once

#include <filesystem>
#include <vector>

#include "convert/draft.h"
#include "convert/safetensors.h"
#include "gguf/gguf.h"

namespace ingle {

struct PeftAdapter {
  SafeTensorsFile weights;  // which the rows are read from
  float alpha = 0;
  std::vector<DraftTensor> tensors;  // "blk.0.attn_q.weight.lora_a", ...: in the model's order, A before B
  int64_t unused = 0;                // matrices for keys and values that no layer of the model computes
};

// For `base`, whose architecture and heads decide what becomes of rows; shapes are not compared with it. `folder` is
// for messages. Throws Error: kInvalidFile (half of a pair, a module that is there twice, a shape that is no matrix),
// kUnsupported (another method, DoRA, biases, ...; modules that `base` has no tensor for: lists them).
PeftAdapter read_peft(const std::filesystem::path& folder, const HfConfig& config, SafeTensorsFile weights,
                      const GgufFile& base);
// The same of the folder's files. Throws kNotFound and kIo, too.
PeftAdapter read_peft(const std::filesystem::path& folder, const GgufFile& base);

}  // namespace ingle
