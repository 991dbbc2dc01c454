// Checking a vocabulary, and the frame of encoding: specials are cut out, the rest goes to the model's own algorithm.
#include "text/tokenizer_base.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "text/clean_spaces.h"
#include "text/hex.h"
#include "text/space_mark.h"

namespace ingle {
namespace {

std::string with_plain_spaces(std::string_view text) {
  std::string out;
  append_unmarked(text, out);
  return out;
}

bool contains_lower_case(std::string text, std::string_view word) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text.find(word) != std::string::npos;
}

TextMap map_by_text(const Vocabulary& v, std::vector<std::string>& warnings) {
  TextMap map(v.tokens.size());
  size_t repeated = 0, example = 0;
  for (size_t i = 0; i < v.tokens.size(); ++i) {
    if (!map.insert(v.tokens[i], static_cast<int32_t>(i)) && repeated++ == 0) example = i;
  }
  if (repeated > 0) {
    warnings.push_back(
        fmt::format("tokenizer.ggml.tokens: {} texts occur again (first: index {}, \"{}\"); the first one counts",
                    repeated, example, v.tokens[example]));
  }
  return map;
}

}  // namespace

std::optional<uint8_t> parse_byte_token(std::string_view text) noexcept {
  if (text.size() != 6 || text.substr(0, 3) != "<0x" || text[5] != '>') return std::nullopt;
  const int high = hex_digit(text[3]), low = hex_digit(text[4]);
  if (high < 0 || low < 0) return std::nullopt;
  return static_cast<uint8_t>(high * 16 + low);
}

StripFlags strip_flags(std::string_view text, const Vocabulary& v, bool mask_strips) {
  StripFlags flags;
  // By its architecture alone Phi 4 would be one of them.
  const bool phi3 = (v.architecture == "phi3" && v.model == "llama") || contains_lower_case(v.name, "phi-3") ||
                    contains_lower_case(v.name, "phi3");
  if (phi3) flags.right = text != "<unk>" && text != "<s>" && text != "<|endoftext|>";
  const bool by_architecture = v.architecture == "nomic-bert-moe" || v.architecture == "jina-bert-v3";
  if ((mask_strips || by_architecture) && text == "<mask>") flags.left = true;
  if (contains_lower_case(v.name, "modern-bert") && text == "[MASK]") flags.left = true;
  return flags;
}

void check_vocabulary(Vocabulary& v) {
  const size_t n = v.tokens.size();
  if (n == 0) throw_error(ErrorCode::kInvalidFile, "tokenizer.ggml.tokens: missing or empty");
  if (n > static_cast<size_t>(std::numeric_limits<int32_t>::max())) {
    throw_error(ErrorCode::kInvalidFile, "tokenizer.ggml.tokens: {} entries, more than ids can count", n);
  }
  if (!v.scores.empty() && v.scores.size() < n) {
    throw_error(ErrorCode::kInvalidFile, "tokenizer.ggml.scores: {} entries for {} tokens", v.scores.size(), n);
  }
  if (!v.kinds.empty() && v.kinds.size() < n) {
    throw_error(ErrorCode::kInvalidFile, "tokenizer.ggml.token_type: {} entries for {} tokens", v.kinds.size(), n);
  }
  v.scores.resize(n, 0.0f);
  v.kinds.resize(n, TokenKind::kNormal);
  for (size_t i = 0; i < n; ++i) {
    if (v.tokens[i].empty()) v.tokens[i] = fmt::format("[EMPTY_{}]", i);
  }
}

TokenizerBase::TokenizerBase(Vocabulary vocabulary, const Traits& traits)
    : vocabulary_(std::move(vocabulary)),
      by_text_(map_by_text(vocabulary_, warnings_)),
      ids_(traits.roles_by_text
               ? find_special_ids(
                     vocabulary_, traits.ids, [this](std::string_view text) { return find(text); }, warnings_)
               : SpecialIds{.unknown = traits.ids.unknown}),
      add_bos_(traits.force_bos || vocabulary_.add_bos.value_or(traits.add_bos)),
      add_eos_(vocabulary_.add_eos.value_or(traits.add_eos)),
      add_separator_(vocabulary_.add_separator.value_or(traits.add_separator)),
      spaces_marked_(traits.spaces_marked),
      user_defined_(matcher(false, traits)),
      all_special_(matcher(true, traits)) {
  if (add_bos_ && !ids_.bos) warn("tokenizer.ggml.add_bos_token: there is no bos token to add");
  if (add_eos_ && !ids_.eos) warn("tokenizer.ggml.add_eos_token: there is no eos token to add");
  add_bos_ = add_bos_ && ids_.bos.has_value();
  add_eos_ = add_eos_ && ids_.eos.has_value();
  // Only now: placeholders may be written out where special parsing is on, but are never shown.
  for (size_t i = 0; i < vocabulary_.tokens.size(); ++i) {
    TokenKind& kind = vocabulary_.kinds[i];
    if (kind == TokenKind::kControl && vocabulary_.tokens[i].find("unused") != std::string::npos) {
      kind = TokenKind::kUnused;
    }
  }
}

// Files pad vocabularies with tokens of kind "unknown": only the unknown token itself is ever looked for.
SpecialTokenMatcher TokenizerBase::matcher(bool with_control, const Traits& traits) const {
  std::vector<std::string> texts;
  std::vector<SpecialToken> tokens;
  for (TokenId id = 0; id < size(); ++id) {
    const TokenKind kind = vocabulary_.kinds[static_cast<size_t>(id)];
    const bool cut_out = kind == TokenKind::kUserDefined && !traits.user_defined_is_text;
    if (cut_out || (with_control && (kind == TokenKind::kControl || id == ids_.unknown))) {
      const std::string& text = vocabulary_.tokens[static_cast<size_t>(id)];
      const StripFlags strips = strip_flags(text, vocabulary_, traits.mask_strips);
      tokens.push_back({.text = {}, .id = id, .strip_left = strips.left, .strip_right = strips.right});
      texts.push_back(traits.spaces_marked ? with_plain_spaces(text) : text);
    }
  }
  for (size_t i = 0; i < tokens.size(); ++i) tokens[i].text = texts[i];
  return SpecialTokenMatcher(tokens);
}

std::vector<TokenId> TokenizerBase::encode(std::string_view text, EncodeOptions options) const {
  std::vector<TokenId> out;
  out.reserve(text.size() / 4 + 2);  // about what prose needs
  if (options.add_special && add_bos_) out.push_back(*ids_.bos);
  std::string plain;
  if (spaces_marked_ && text.find(kSpaceMark) != std::string_view::npos) text = plain = with_plain_spaces(text);
  bool after_special = true;
  for (const TextFragment& fragment : (options.parse_special ? all_special_ : user_defined_).split(text)) {
    if (fragment.token >= 0) {
      out.push_back(fragment.token);
    } else {
      encode_fragment(fragment.text, after_special, out);
    }
    after_special = fragment.token >= 0;
  }
  if (options.add_special && add_eos_) {
    out.push_back(*ids_.eos);
  } else if (options.add_special && add_separator_ && ids_.separator) {
    out.push_back(*ids_.separator);
  }
  return out;
}

// Where a text ends with its own token, a file may ask for one more between the texts of a pair, as RoBERTa's have it.
PairMarks TokenizerBase::pair_marks() const {
  PairMarks marks;
  if (add_eos_) {
    marks.behind.push_back(*ids_.eos);
    if (vocabulary_.add_separator.value_or(false) && ids_.separator) marks.between.push_back(*ids_.separator);
  } else if (add_separator_ && ids_.separator) {
    marks.behind.push_back(*ids_.separator);
  }
  return marks;
}

size_t TokenizerBase::index(TokenId id) const {
  if (id < 0 || id >= size()) {
    throw_error(ErrorCode::kInvalidArgument, "token {}: the vocabulary has {} tokens", id, size());
  }
  return static_cast<size_t>(id);
}

std::optional<TokenId> TokenizerBase::find(std::string_view text) const {
  const int32_t id = by_text_.find(text);
  return id < 0 ? std::nullopt : std::optional<TokenId>(id);
}

bool TokenizerBase::is_end_of_generation(TokenId id) const noexcept {
  return std::binary_search(ids_.end_of_generation.begin(), ids_.end_of_generation.end(), id);
}

void TokenizerBase::append_piece(TokenId id, bool special, std::string& out) const {
  const std::string& text = vocabulary_.tokens[index(id)];
  switch (vocabulary_.kinds[static_cast<size_t>(id)]) {
    case TokenKind::kNormal:
      append_normal(id, out);
      break;
    case TokenKind::kUserDefined:
      out += spaces_marked_ ? with_plain_spaces(text) : text;
      break;
    case TokenKind::kControl:
    case TokenKind::kUnknown:
      if (special) out += text;
      break;
    case TokenKind::kByte:
      if (const auto byte = parse_byte_token(text)) {
        out += static_cast<char>(*byte);
      } else {
        append_normal(id, out);
      }
      break;
    case TokenKind::kUnused:
    case TokenKind::kUndefined:
      break;
  }
}

std::string TokenizerBase::piece(TokenId id, bool special) const {
  std::string out;
  append_piece(id, special, out);
  return out;
}

std::string TokenizerBase::decode(std::span<const TokenId> ids, bool special) const {
  std::string out;
  bool at_front = strips_leading_space();
  for (TokenId id : ids) {
    append_piece(id, special, out);
    if (at_front && !out.empty()) {
      at_front = false;
      // A user-defined or control token is written as it is: no space was put before it.
      const TokenKind kind = vocabulary_.kinds[static_cast<size_t>(id)];
      if (out.front() == ' ' && kind != TokenKind::kUserDefined && kind != TokenKind::kControl) out.erase(0, 1);
    }
  }
  return cleans_spaces() ? clean_spaces(out) : out;
}

}  // namespace ingle
