// Which class reads which tokenizer.ggml.model.
#include "text/tokenizer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

#include "base/error.h"
#include "text/bpe.h"
#include "text/rwkv.h"
#include "text/spm.h"
#include "text/tokenizer_base.h"
#include "text/ugm.h"
#include "text/wpm.h"

namespace ingle {
namespace {

using Made = std::unique_ptr<const Tokenizer>;

template <class T>
Made make(Vocabulary v) {
  return std::make_unique<T>(std::move(v));
}

struct Row {
  std::string_view model;
  Made (*create)(Vocabulary);  // of a vocabulary that has passed check_vocabulary
};

constexpr Row kModels[] = {
    {"llama", make<SpmTokenizer>}, {"gpt2", BpeTokenizer::create}, {"gemma4", BpeTokenizer::create},
    {"bert", make<WpmTokenizer>},  {"t5", make<UgmTokenizer>},     {"rwkv", make<RwkvTokenizer>},
};

[[noreturn]] void refuse(std::string_view model) {
  if (model == "none" || model == "no_vocab")
    throw_error(ErrorCode::kUnsupported, "tokenizer.ggml.model: \"{}\": the file has no tokenizer", model);
  std::vector<std::string_view> known;
  for (const Row& row : kModels) known.push_back(row.model);
  throw_error(ErrorCode::kUnsupported, "tokenizer.ggml.model: \"{}\" is not implemented; known are {}", model,
              fmt::join(known, ", "));
}

}  // namespace

std::string_view to_string(TokenKind kind) noexcept {
  constexpr std::array<std::string_view, 7> kNames{"undefined",    "normal", "unknown", "control",
                                                   "user-defined", "unused", "byte"};
  return kNames[static_cast<size_t>(kind)];
}

std::unique_ptr<const Tokenizer> Tokenizer::create(Vocabulary vocabulary) {
  // Ollama's files of Gemma 4 say "llama" and tell the pre-tokeniser.
  if (vocabulary.model == "llama" && vocabulary.pre == "gemma4") vocabulary.model = "gemma4";
  for (const Row& row : kModels) {
    if (row.model != vocabulary.model) continue;
    check_vocabulary(vocabulary);
    return row.create(std::move(vocabulary));
  }
  refuse(vocabulary.model);
}

}  // namespace ingle
