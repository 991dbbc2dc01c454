#include "text/rwkv.h"

#include <fmt/format.h>

#include "text/hex.h"

namespace ingle {
namespace {

// A place costs the longest match it may have; real tokens stay below 130 bytes.
constexpr size_t kLongestToken = 1024;

}  // namespace

std::string unescape_rwkv(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    const char c = text[++i];
    const int high = c == 'x' && i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
    const int low = high >= 0 ? hex_digit(text[i + 2]) : -1;
    if (low >= 0) {
      out += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      out += c == 't' ? '\t' : c == 'n' ? '\n' : c == 'r' ? '\r' : c;
    }
  }
  return out;
}

RwkvTokenizer::RwkvTokenizer(Vocabulary v) : TokenizerBase(std::move(v), {}), tokens_(tokens()) {}

ByteTrie RwkvTokenizer::tokens() {
  std::vector<std::string> texts(static_cast<size_t>(size()));
  std::vector<ByteTrie::Entry> entries;
  size_t too_long = 0;
  for (TokenId id = 0; id < size(); ++id) {
    if (kind(id) == TokenKind::kControl || kind(id) == TokenKind::kUnknown) continue;
    std::string& text = texts[static_cast<size_t>(id)] = unescape_rwkv(this->text(id));
    too_long += text.size() > kLongestToken;
    if (!text.empty() && text.size() <= kLongestToken) entries.push_back({text, id});
  }
  if (too_long > 0) {
    warn(fmt::format("tokenizer.ggml.tokens: {} are longer than {} bytes and are never made from text", too_long,
                     kLongestToken));
  }
  return ByteTrie(std::move(entries));
}

void RwkvTokenizer::append_normal(TokenId id, std::string& out) const { out += unescape_rwkv(text(id)); }

void RwkvTokenizer::encode_fragment(std::string_view text, bool /*after_special*/, std::vector<TokenId>& out) const {
  while (!text.empty()) {
    const ByteTrie::Match match = tokens_.longest(text);
    if (match.length > 0) {
      out.push_back(match.value);
    } else if (ids().unknown) {
      out.push_back(*ids().unknown);
    }
    text.remove_prefix(match.length > 0 ? match.length : 1);
  }
}

}  // namespace ingle
