// An adapter_config.json, a zero byte and any bytes as adapter_model.safetensors: an error, or pairs of matrices for
// tensors of the model whose numbers can all be read.
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "convert/peft.h"
#include "gguf/value.h"
#include "ingle/error.h"

namespace ingle {
namespace {

// Queries in pairs of rows, experts, an output that is the embedding's.
GgufFile model() {
  return GgufFile::generate({.name = "model",
                             .metadata = {{"general.architecture", gguf_value<std::string>("llama")},
                                          {"llama.attention.head_count", gguf_value<uint32_t>(2)},
                                          {"llama.attention.head_count_kv", gguf_value<uint32_t>(1)}},
                             .tensors = {{"token_embd.weight", DType::kF32, {6, 4}},
                                         {"blk.0.attn_q.weight", DType::kF32, {8, 4}},
                                         {"blk.0.attn_k.weight", DType::kF32, {4, 4}},
                                         {"blk.0.ffn_up.weight", DType::kF32, {6, 4}},
                                         {"blk.0.ffn_up_exps.weight", DType::kF32, {2, 6, 4}},
                                         {"blk.0.ffn_gate_inp.weight", DType::kF32, {2, 4}}},
                             .fill = {}});
}

void read(const PeftAdapter& adapter, const GgufFile& model) {
  for (size_t i = 0; i < adapter.tensors.size(); ++i) {
    const DraftTensor& tensor = adapter.tensors[i];
    const std::string_view name = tensor.name, stem = name.substr(0, name.rfind('.'));
    if (!name.ends_with(i % 2 == 0 ? ".lora_a" : ".lora_b") || (stem != "output.weight" && !model.find(stem)))
      std::abort();
    std::vector<float> numbers(static_cast<size_t>(tensor.rows.shape.elements()));
    tensor.rows.read(0, tensor.rows.shape.rows(), numbers.data());
  }
}

}  // namespace
}  // namespace ingle

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const ingle::GgufFile model = ingle::model();
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const size_t zero = all.find('\0');
  if (zero == all.npos) return 0;
  try {
    const ingle::HfConfig config = ingle::HfConfig::parse(all.substr(0, zero), "fuzz");
    ingle::SafeTensorsFile weights =
        ingle::SafeTensorsFile::parse(std::as_bytes(std::span(data, size).subspan(zero + 1)), "fuzz");
    ingle::read(ingle::read_peft("fuzz", config, std::move(weights), model), model);
  } catch (const ingle::Error&) {
  }
  return 0;
}
