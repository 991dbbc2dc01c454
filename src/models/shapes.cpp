#include "models/shapes.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "models/shapes_builder.h"

namespace ingle {

// One line per family. Each declares the function it calls, which stands in the family's own file. (A function declared
// here is one of namespace ingle, so the table must not be in an unnamed one.)
// clang-format off
constexpr ShapeFamily (*kFamilies[])() = {
    [] { extern ShapeFamily llama_shapes(); return llama_shapes(); },
    [] { extern ShapeFamily gemma4_shapes(); return gemma4_shapes(); },
    [] { extern ShapeFamily gemma3n_shapes(); return gemma3n_shapes(); },
    [] { extern ShapeFamily relatives_shapes(); return relatives_shapes(); },
    [] { extern ShapeFamily deepseek_shapes(); return deepseek_shapes(); },
};
// clang-format on

namespace {

// As GGUF has them: tokenizer.ggml.token_type.
enum TokenType : int32_t { kNormal = 1, kUnknown = 2, kControl = 3, kByte = 6 };

double bits_of(const Format& format) {
  return 8.0 * static_cast<double>(format.block_bytes) / static_cast<double>(format.block_elements);
}

}  // namespace

// A SentencePiece vocabulary of the right size: control tokens, one token a byte, printable characters, and then words
// "▁w0", "▁w1", ... so that any text can be read, and a text like "w17 w4" is as short as real text. Earlier is better.
void ShapeBuilder::vocabulary(int64_t size, bool with_lists) {
  set_plain<std::string>("tokenizer.ggml.model", "llama");
  set_plain<std::string>("tokenizer.ggml.pre", "default");
  set_plain<uint32_t>("tokenizer.ggml.bos_token_id", 1);
  set_plain<uint32_t>("tokenizer.ggml.eos_token_id", 2);
  set_plain<uint32_t>("tokenizer.ggml.unknown_token_id", 0);
  set_plain<bool>("tokenizer.ggml.add_bos_token", true);
  set_plain<bool>("tokenizer.ggml.add_eos_token", false);
  set_plain<bool>("tokenizer.ggml.add_space_prefix", true);
  if (!with_lists) return;

  std::vector<std::string> tokens;
  std::vector<int32_t> types;
  tokens.reserve(static_cast<size_t>(size));
  const auto add = [&](std::string text, TokenType type) {
    tokens.push_back(std::move(text));
    types.push_back(type);
  };
  constexpr std::string_view kSpace = "\xe2\x96\x81";  // U+2581
  add("<unk>", kUnknown);
  add("<s>", kControl);
  add("</s>", kControl);
  for (int byte = 0; byte < 256; ++byte) add(fmt::format("<0x{:02X}>", byte), kByte);
  add(std::string(kSpace), kNormal);
  for (char c = '!'; c <= '~'; ++c) add(std::string(1, c), kNormal);
  add(fmt::format("{}w", kSpace), kNormal);
  INGLE_CHECK(static_cast<int64_t>(tokens.size()) < size);
  for (int64_t word = 0; static_cast<int64_t>(tokens.size()) < size; ++word)
    add(fmt::format("{}w{}", kSpace, word), kNormal);
  std::vector<float> scores(tokens.size());
  for (size_t i = 0; i < scores.size(); ++i) scores[i] = -static_cast<float>(i);
  shape_.metadata.emplace_back("tokenizer.ggml.tokens", gguf_array<std::string>(tokens));
  shape_.metadata.emplace_back("tokenizer.ggml.scores", gguf_array<float>(scores));
  shape_.metadata.emplace_back("tokenizer.ggml.token_type", gguf_array<int32_t>(types));
}

int64_t ModelShape::parameters() const {
  int64_t sum = 0;
  for (const ShapeTensor& tensor : tensors) sum += tensor.shape.elements();
  return sum;
}

std::span<const std::string_view> shape_names() noexcept {
  static const std::vector<std::string_view> kNames = [] {
    std::vector<std::string_view> all;
    for (const auto family : kFamilies) {
      const ShapeFamily shapes = family();
      all.insert(all.end(), shapes.names.begin(), shapes.names.end());
    }
    return all;
  }();
  return kNames;
}

ModelShape make_shape(std::string_view name, bool with_vocabulary) {
  for (const auto family : kFamilies) {
    const ShapeFamily shapes = family();
    const auto found = std::ranges::find(shapes.names, name);
    if (found != shapes.names.end())
      return shapes.make(static_cast<size_t>(found - shapes.names.begin()), with_vocabulary);
  }
  throw_error(ErrorCode::kInvalidArgument, "there is no shape '{}'; known are {}", name,
              fmt::join(shape_names(), ", "));
}

DType storage_type(const ShapeTensor& tensor, DType type) {
  if (tensor.storage == ShapeTensor::Storage::kFloat) return DType::kF32;
  const int64_t columns = tensor.shape.columns();
  const bool wider = tensor.storage == ShapeTensor::Storage::kEightBits && bits_of(format_of(type)) < 8;
  if (!wider && columns % format_of(type).block_elements == 0) return type;
  return columns % format_of(DType::kQ8_0).block_elements == 0 ? DType::kQ8_0 : DType::kF16;
}

}  // namespace ingle
