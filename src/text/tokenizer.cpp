// Which class reads which tokenizer.ggml.model.
#include "text/tokenizer.h"

#include <array>

#include "base/error.h"
#include "text/bpe.h"
#include "text/spm.h"
#include "text/tokenizer_base.h"

namespace ingle {

std::string_view to_string(TokenKind kind) noexcept {
  constexpr std::array<std::string_view, 7> kNames{"undefined",    "normal", "unknown", "control",
                                                   "user-defined", "unused", "byte"};
  return kNames[static_cast<size_t>(kind)];
}

std::unique_ptr<const Tokenizer> Tokenizer::create(Vocabulary vocabulary) {
  // Ollama's files of Gemma 4 say "llama" and tell the pre-tokeniser.
  if (vocabulary.model == "llama" && vocabulary.pre == "gemma4") vocabulary.model = "gemma4";
  const std::string model = vocabulary.model;
  if (model != "gpt2" && model != "gemma4" && model != "llama") {
    throw_error(ErrorCode::kUnsupported, "tokenizer.ggml.model: \"{}\" is not implemented (gpt2, gemma4, llama are)",
                model);
  }
  check_vocabulary(vocabulary);
  if (model == "llama") return std::make_unique<SpmTokenizer>(std::move(vocabulary));
  return BpeTokenizer::create(std::move(vocabulary));
}

}  // namespace ingle
