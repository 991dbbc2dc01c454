// The frame, in the library's order: added tokens out of the raw text, the rest normalised, more added tokens out of
// that, and what is left to the encoder.
#include "text/hf_tokenizer.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "text/hf_added_tokens.h"
#include "text/hf_decoder.h"
#include "text/hf_encoder.h"
#include "text/hf_normalizer.h"
#include "text/special_ids.h"
#include "text/tokenizer_base.h"
#include "text/utf8.h"

namespace ingle {
namespace {

// Those looked for in raw text, or in normalised text; the latter are normalised themselves.
HfAddedTokens added_tokens(const HfDescription& d, bool normalized, const HfNormalizer& normalizer) {
  std::vector<HfAddedToken> tokens;
  std::vector<std::string> texts;
  FileRegex::Scratch scratch;
  for (const HfAddedToken& token : d.added) {
    if (token.normalized != normalized) continue;
    std::string text = token.text;
    if (normalized) normalizer.apply(text, scratch);
    if (text.empty()) {
      throw_error(ErrorCode::kUnsupported, "tokenizer.json: added_tokens: \"{}\" (id {}) is nothing once normalised",
                  token.text.substr(0, 100), token.id);
    }
    tokens.push_back(token);
    texts.push_back(std::move(text));
  }
  return HfAddedTokens(std::move(tokens), texts);
}

class HfTokenizer final : public Tokenizer {
 public:
  HfTokenizer(HfDescription d, HfNormalizer normalizer, HfDecoder decoder, HfOptions options)
      : raw_(added_tokens(d, false, normalizer)),
        normalized_(added_tokens(d, true, normalizer)),
        normalizer_(std::move(normalizer)),
        decoder_(std::move(decoder)),
        before_(std::move(d.before)),
        after_(std::move(d.after)),
        tokens_(std::move(d.tokens)),
        by_text_(tokens_.size()) {
    for (size_t i = tokens_.size(); i-- > 0;) {  // of equal texts the last one counts
      if (!tokens_[i].empty()) by_text_.insert(tokens_[i], static_cast<TokenId>(i));
    }
    find_kinds(d);
    find_roles(d);
    if (!options.general_only) encoder_ = fast_hf_encoder(d, normalizer_.marks_spaces());
    // It marks spaces itself.
    if (encoder_ && normalized_.empty() && normalizer_.only_marks_spaces()) normalizer_ = {};
    if (!encoder_) encoder_ = general_hf_encoder(std::move(d));
  }

  std::vector<TokenId> encode(std::string_view text, EncodeOptions options) const override;
  std::string piece(TokenId id, bool special) const override;
  std::string decode(std::span<const TokenId> ids, bool special) const override;

  int32_t size() const noexcept override { return static_cast<int32_t>(tokens_.size()); }
  const std::string& text(TokenId id) const override { return tokens_[index(id)]; }
  TokenKind kind(TokenId id) const override { return kinds_[index(id)]; }
  std::optional<TokenId> find(std::string_view text) const override {
    const TokenId id = by_text_.find(text);
    return id < 0 ? std::nullopt : std::optional(id);
  }
  std::optional<TokenId> bos() const noexcept override { return bos_; }
  std::optional<TokenId> eos() const noexcept override { return eos_; }
  std::optional<TokenId> eot() const noexcept override { return eot_; }
  std::optional<TokenId> padding() const noexcept override { return padding_; }
  bool adds_bos() const noexcept override { return bos_ && !before_.empty() && before_.front() == *bos_; }
  bool strips_leading_space() const noexcept override { return decoder_.strips_leading_space(); }
  bool is_end_of_generation(TokenId id) const noexcept override {
    return std::binary_search(ends_.begin(), ends_.end(), id);
  }
  std::span<const TokenId> end_of_generation() const noexcept override { return ends_; }
  std::span<const std::string> warnings() const noexcept override { return warnings_; }
  std::span<const std::string> notes() const noexcept override { return {}; }

 private:
  void find_kinds(const HfDescription& d);
  void find_roles(const HfDescription& d);
  void encode_raw(std::string_view text, bool at_start, EncodeOptions options, FileRegex::Scratch& scratch,
                  std::vector<TokenId>& out) const;
  HfDecoded decoded(TokenId id) const;

  size_t index(TokenId id) const {
    if (id < 0 || id >= size()) {
      throw_error(ErrorCode::kInvalidArgument, "token {}: the vocabulary has {} tokens", id, size());
    }
    return static_cast<size_t>(id);
  }

  HfAddedTokens raw_, normalized_;
  HfNormalizer normalizer_;
  std::unique_ptr<const HfEncoder> encoder_;
  HfDecoder decoder_;
  std::vector<TokenId> before_, after_;
  std::vector<std::string> tokens_;
  std::vector<TokenKind> kinds_;
  TextMap by_text_;
  std::optional<TokenId> bos_, eos_, eot_, padding_;
  std::vector<TokenId> ends_;
  std::vector<std::string> warnings_;
};

void HfTokenizer::find_kinds(const HfDescription& d) {
  kinds_.assign(tokens_.size(), TokenKind::kNormal);
  for (size_t i = 0; i < tokens_.size(); ++i) {
    if (tokens_[i].empty()) kinds_[i] = TokenKind::kUnused;
    if (d.model.byte_fallback && parse_byte_token(tokens_[i])) kinds_[i] = TokenKind::kByte;
  }
  if (d.model.unknown) kinds_[static_cast<size_t>(*d.model.unknown)] = TokenKind::kUnknown;
  for (const HfAddedToken& token : d.added) {
    kinds_[static_cast<size_t>(token.id)] = token.special ? TokenKind::kControl : TokenKind::kUserDefined;
  }
}

// Which tokens end an answer no tokenizer.json says; published models' are known by their texts. What the texts would
// change about kinds does not matter here: the file says what is special.
void HfTokenizer::find_roles(const HfDescription& d) {
  Vocabulary v;
  v.kinds = kinds_;
  v.tokens.swap(tokens_);
  const auto known = [&](std::optional<TokenId> id) { return id ? std::optional<int64_t>(*id) : std::nullopt; };
  v.bos = known(d.bos);
  v.eos = known(d.eos);
  v.padding = known(d.padding);
  if (!v.bos && !before_.empty()) v.bos = before_.front();
  const SpecialIds ids = find_special_ids(
      v, {}, [this](std::string_view text) { return find(text); }, warnings_);
  v.tokens.swap(tokens_);
  bos_ = ids.bos;
  eos_ = ids.eos;
  eot_ = ids.eot;
  padding_ = ids.padding;
  ends_ = ids.end_of_generation;
}

std::vector<TokenId> HfTokenizer::encode(std::string_view text, EncodeOptions options) const {
  std::vector<TokenId> out;
  if (options.add_special) out = before_;
  std::string valid;
  if (valid_utf8_prefix(text) < text.size()) text = valid = with_replacement_characters(text);
  FileRegex::Scratch scratch;
  std::vector<TextFragment> fragments;
  raw_.split(text, options.parse_special, fragments);
  for (const TextFragment& fragment : fragments) {
    if (fragment.token >= 0) {
      out.push_back(fragment.token);
    } else {
      encode_raw(fragment.text, fragment.text.data() == text.data(), options, scratch, out);
    }
  }
  if (options.add_special) out.insert(out.end(), after_.begin(), after_.end());
  return out;
}

void HfTokenizer::encode_raw(std::string_view text, bool at_start, EncodeOptions options, FileRegex::Scratch& scratch,
                             std::vector<TokenId>& out) const {
  std::string changed;
  if (!normalizer_.empty()) {
    changed = text;
    normalizer_.apply(changed, scratch);
    text = changed;
  }
  if (text.empty()) return;
  if (normalized_.empty()) return encoder_->encode(text, at_start, scratch, out);
  std::vector<TextFragment> fragments;
  normalized_.split(text, options.parse_special, fragments);
  for (const TextFragment& fragment : fragments) {
    if (fragment.token >= 0) {
      out.push_back(fragment.token);
    } else {
      encoder_->encode(fragment.text, at_start && fragment.text.data() == text.data(), scratch, out);
    }
  }
}

HfDecoded HfTokenizer::decoded(TokenId id) const {
  const TokenKind kind = kinds_[index(id)];
  const bool added = kind == TokenKind::kControl || kind == TokenKind::kUserDefined;
  return {tokens_[static_cast<size_t>(id)], added};
}

std::string HfTokenizer::piece(TokenId id, bool special) const {
  if (!special && kind(id) == TokenKind::kControl) return {};
  return decoder_.piece(decoded(id));
}

std::string HfTokenizer::decode(std::span<const TokenId> ids, bool special) const {
  std::vector<HfDecoded> tokens;
  for (TokenId id : ids) {
    const TokenKind k = kind(id);
    if (k != TokenKind::kUnused && (special || k != TokenKind::kControl)) tokens.push_back(decoded(id));
  }
  return decoder_.decode(std::move(tokens));
}

}  // namespace

std::unique_ptr<const Tokenizer> read_tokenizer_json(std::string_view json, std::string_view config,
                                                     HfOptions options) {
  const JsonDocument document(json, "tokenizer.json");
  std::optional<JsonDocument> config_document;
  if (!config.empty()) config_document.emplace(config, "tokenizer_config.json");
  const JsonValue root = document.root();
  HfDescription description = describe_tokenizer(root, config_document ? config_document->root() : JsonValue());
  HfNormalizer normalizer(root.find("normalizer"));
  HfDecoder decoder(root.find("decoder"));
  return std::make_unique<HfTokenizer>(std::move(description), std::move(normalizer), std::move(decoder), options);
}

}  // namespace ingle
