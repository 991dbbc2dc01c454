#include "text/ugm.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "text/space_mark.h"

namespace ingle {
namespace {

// User-defined tokens are cut by the model itself: SentencePiece puts no space before the text that follows one.
TokenizerBase::Traits traits() {
  return {.ids = {.eos = 1, .unknown = 2, .padding = 0}, .add_eos = true, .user_defined_is_text = true};
}

}  // namespace

UgmTokenizer::UgmTokenizer(Vocabulary v)
    : TokenizerBase(std::move(v), traits()), normalizer_(normalizer()), unigram_(unigram()) {}

SpmNormalizer UgmTokenizer::normalizer() const {
  const Vocabulary& v = vocabulary();
  SpmNormalizer n;
  if (!v.precompiled_charsmap.empty()) n.charsmap.emplace(v.precompiled_charsmap);
  std::vector<ByteTrie::Entry> user_defined;
  for (TokenId id = 0; id < size(); ++id) {
    // Every place of a text is compared with them: a long one, which is never made anyway, would cost its square.
    if (kind(id) == TokenKind::kUserDefined && text(id).size() <= Unigram::kLongestPiece)
      user_defined.push_back({text(id), id});
  }
  n.user_defined = ByteTrie(std::move(user_defined));
  n.remove_extra_whitespaces = v.remove_extra_whitespaces.value_or(true);
  n.add_space_prefix = v.add_space_prefix.value_or(true);
  n.space_is_suffix = v.space_is_suffix;
  return n;
}

Unigram UgmTokenizer::unigram() {
  const Vocabulary& v = vocabulary();
  std::vector<Unigram::Piece> pieces;
  double lowest = 0;
  bool any = false;
  size_t skipped = 0;
  for (TokenId id = 0; id < size(); ++id) {
    const auto i = static_cast<size_t>(id);
    const TokenKind k = v.kinds[i];
    if (k != TokenKind::kNormal && k != TokenKind::kUserDefined && k != TokenKind::kUnused) continue;
    const double score = k == TokenKind::kUserDefined ? 0.0 : v.scores[i];
    skipped += !std::isfinite(score) || v.tokens[i].size() > Unigram::kLongestPiece;
    pieces.push_back({v.tokens[i], score, id});
    if (k == TokenKind::kNormal && std::isfinite(score)) {
      lowest = any ? std::min(lowest, score) : score;
      any = true;
    }
  }
  if (skipped > 0) {
    warn(
        fmt::format("tokenizer.ggml.tokens: {} are longer than {} bytes or have no finite score; they are never made "
                    "from text",
                    skipped, Unigram::kLongestPiece));
  }
  std::array<int32_t, 256> bytes{};
  bool all_bytes = true;
  for (int b = 0; b < 256; ++b) {
    const auto id = find(fmt::format("<0x{:02X}>", b));
    all_bytes = all_bytes && id && kind(*id) == TokenKind::kByte;
    bytes[static_cast<size_t>(b)] = id.value_or(-1);
  }
  return Unigram(pieces, lowest, ids().unknown.value_or(-1), all_bytes ? std::optional(bytes) : std::nullopt);
}

void UgmTokenizer::append_normal(TokenId id, std::string& out) const {
  append_unmarked(vocabulary().tokens[static_cast<size_t>(id)], out);
}

void UgmTokenizer::encode_fragment(std::string_view text, bool /*after_special*/, std::vector<TokenId>& out) const {
  unigram_.encode(normalizer_.normalize(text), out);
}

}  // namespace ingle
