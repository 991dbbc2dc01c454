#include "text/wpm.h"

#include "text/space_mark.h"

namespace ingle {
namespace {

TokenizerBase::Traits traits() {
  return {
      .ids = {.bos = 101, .unknown = 100, .separator = 102, .padding = 0}, .add_separator = true, .force_bos = true};
}

}  // namespace

WpmTokenizer::WpmTokenizer(Vocabulary v) : TokenizerBase(std::move(v), traits()), pieces_(pieces()) {
  normalizer_.lowercase = vocabulary().lowercase.value_or(true);
  normalizer_.strip_accents = vocabulary().strip_accents.value_or(normalizer_.lowercase);
}

// U+2581 inside a word is a character like any other, and no continuation has it.
WordPiece WpmTokenizer::pieces() const {
  std::vector<ByteTrie::Entry> first, next;
  for (TokenId id = 0; id < size(); ++id) {
    const TokenKind k = kind(id);
    if (k == TokenKind::kControl || k == TokenKind::kUnknown) continue;
    std::string_view text = vocabulary().tokens[static_cast<size_t>(id)];
    if (text.starts_with(kSpaceMark)) {
      text.remove_prefix(kSpaceMark.size());
      if (!text.empty()) first.push_back({text, id});
    } else if (text.find(kSpaceMark) == text.npos) {
      next.push_back({text, id});
    }
  }
  return WordPiece(std::move(first), std::move(next), ids().unknown.value_or(-1));
}

void WpmTokenizer::append_normal(TokenId id, std::string& out) const {
  append_unmarked(vocabulary().tokens[static_cast<size_t>(id)], out);
}

void WpmTokenizer::encode_fragment(std::string_view text, bool /*after_special*/, std::vector<TokenId>& out) const {
  const std::string normal = bert_normalize(text, normalizer_);
  for (std::string_view word : bert_words(normal)) pieces_.encode(word, out);
}

}  // namespace ingle
