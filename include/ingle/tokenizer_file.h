// A tokenizer without a model: the vocabulary of a GGUF file, or a tokenizer.json.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ingle/engine.h"
#include "ingle/model.h"

namespace ingle {

struct TokenizerFileOptions {
  std::function<void(LogLevel, std::string_view)> log;  // may be empty; called by open()
  std::string pre_tokenizer;                            // as in ModelOptions; for GGUF files
};

// A token of a text, and the bytes of the text it stands for; begin == end for one that nothing in the text stands for.
struct TextToken {
  TokenId id = 0;
  size_t begin = 0, end = 0;
};

// Immutable and thread-safe.
class TokenizerFile {
 public:
  // A GGUF file (with or without tensors), a tokenizer.json, or a folder that has one.
  // Throws Error: kNotFound, kIo, kInvalidFile, kUnsupported.
  static TokenizerFile open(const std::filesystem::path& path, TokenizerFileOptions options = {});
  TokenizerFile(TokenizerFile&&) noexcept;
  TokenizerFile& operator=(TokenizerFile&&) noexcept;
  ~TokenizerFile();

  int64_t size() const noexcept;  // tokens there are
  std::vector<TokenId> tokenize(std::string_view text, TokenizeOptions options = {}) const;
  // `ids` are what tokenize(text, options) gave. Spans are in order and do not overlap; where encoding changes a text
  // (case, accents), they are those of the characters that a token was made from.
  std::vector<TextToken> locate(std::string_view text, TokenizeOptions options, std::span<const TokenId> ids) const;

  // As in Model.
  std::string piece(TokenId id, bool special = false) const;
  const std::string& token_text(TokenId id) const;
  std::string_view token_kind(TokenId id) const;
  std::string detokenize(std::span<const TokenId> ids, bool special = false) const;

 private:
  struct Impl;
  explicit TokenizerFile(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace ingle
