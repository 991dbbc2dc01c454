#include "ingle/tokenizer_file.h"

#include "base/error.h"
#include "base/read_file.h"
#include "gguf/gguf.h"
#include "models/vocabulary.h"
#include "runtime/tokenize.h"
#include "text/hf_tokenizer.h"
#include "text/token_spans.h"
#include "text/tokenizer.h"

namespace ingle {

struct TokenizerFile::Impl {
  std::unique_ptr<const Tokenizer> tokenizer;
};

TokenizerFile::TokenizerFile(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TokenizerFile::TokenizerFile(TokenizerFile&&) noexcept = default;
TokenizerFile& TokenizerFile::operator=(TokenizerFile&&) noexcept = default;
TokenizerFile::~TokenizerFile() = default;

namespace {

namespace fs = std::filesystem;

std::unique_ptr<const Tokenizer> open_tokenizer(const fs::path& path, std::string_view pre_tokenizer) {
  std::error_code ignored;
  const fs::path json = fs::is_directory(path, ignored) ? path / "tokenizer.json" : path;
  if (json.extension() != ".json" || begins_with(json, "GGUF"))
    return Tokenizer::create(load_vocabulary(GgufFile::open(path), pre_tokenizer));
  if (!pre_tokenizer.empty())
    throw_error(ErrorCode::kInvalidArgument, "pre-tokeniser \"{}\": {} says itself how words are cut", pre_tokenizer,
                json.native());
  const fs::path config = json.parent_path() / "tokenizer_config.json";
  return read_tokenizer_json(read_file(json), fs::exists(config, ignored) ? read_file(config) : "");
}

}  // namespace

TokenizerFile TokenizerFile::open(const std::filesystem::path& path, TokenizerFileOptions options) {
  auto impl = std::make_unique<Impl>();
  impl->tokenizer = open_tokenizer(path, options.pre_tokenizer);
  if (options.log) {
    for (const std::string& note : impl->tokenizer->notes())
      options.log(LogLevel::kInfo, fmt::format("{}: {}", path.native(), note));
    for (const std::string& warning : impl->tokenizer->warnings())
      options.log(LogLevel::kWarning, fmt::format("{}: {}", path.native(), warning));
  }
  return TokenizerFile(std::move(impl));
}

int64_t TokenizerFile::size() const noexcept { return impl_->tokenizer->size(); }

std::vector<TokenId> TokenizerFile::tokenize(std::string_view text, TokenizeOptions options) const {
  return ingle::tokenize(*impl_->tokenizer, text, options);
}

std::vector<TextToken> TokenizerFile::locate(std::string_view text, TokenizeOptions options,
                                             std::span<const TokenId> ids) const {
  const std::vector<TextSpan> spans =
      token_spans(*impl_->tokenizer, text, {options.add_special, options.parse_special}, ids);
  std::vector<TextToken> tokens;
  tokens.reserve(ids.size());
  for (size_t i = 0; i < ids.size(); ++i) tokens.push_back({ids[i], spans[i].begin, spans[i].end});
  return tokens;
}

std::string TokenizerFile::piece(TokenId id, bool special) const { return impl_->tokenizer->piece(id, special); }
const std::string& TokenizerFile::token_text(TokenId id) const { return impl_->tokenizer->text(id); }
std::string_view TokenizerFile::token_kind(TokenId id) const { return to_string(impl_->tokenizer->kind(id)); }

std::string TokenizerFile::detokenize(std::span<const TokenId> ids, bool special) const {
  return impl_->tokenizer->decode(ids, special);
}

}  // namespace ingle
