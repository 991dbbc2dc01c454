// What the file of a family gives to the table in families/registry.cpp.
#pragma once

#include <span>
#include <string_view>

#include "convert/draft.h"

namespace ingle {

struct HfFamily {
  std::string_view name;          // in the list "architectures" of its config.json: "LlamaForCausalLM"
  std::string_view architecture;  // general.architecture
  // Adds everything but the tokenizer. Throws Error: kInvalidFile, kUnsupported (a setting that nothing here computes).
  void (*draft)(Draft& draft);
  // The quant_method of its folders whose weights are kept as they are; "": those of none.
  std::string_view keeps_quantized = "";
  bool pairs_heads = false;  // rows of attn_q and attn_k go from the halves of a head to adjacent pairs
};

// nullptr when nobody knows it.
const HfFamily* find_hf_family(std::string_view name);
std::vector<std::string_view> hf_family_names();
// Whether the families of an architecture pair the rows of a head; false of one that nobody knows.
bool pairs_heads(std::string_view architecture);

}  // namespace ingle
