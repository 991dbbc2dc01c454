// Small vocabularies made by hand, for tests and fuzzers.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/byte_alphabet.h"
#include "text/tokenizer.h"
#include "text/utf8.h"

namespace ingle::test {

inline std::string repeat(std::string_view text, size_t times) {
  std::string out;
  while (times-- > 0) out += text;
  return out;
}

// A byte in the byte-level alphabet.
inline std::string letter(int byte) {
  std::string out;
  append_utf8(out, kByteToCharacter[static_cast<size_t>(byte)]);
  return out;
}

// Ids 0-255 are the bytes; then one token per merge "A B", in order; then the control tokens.
inline Vocabulary byte_vocabulary(std::vector<std::string> merges, std::vector<std::string> control = {}) {
  Vocabulary v;
  v.model = "gpt2";
  v.pre = "gpt-2";
  for (int b = 0; b < 256; ++b) v.tokens.push_back(letter(b));
  for (const std::string& merge : merges) {
    const size_t space = merge.find(' ', 1);
    v.tokens.push_back(merge.substr(0, space) + merge.substr(space + 1));
  }
  v.kinds.assign(v.tokens.size(), TokenKind::kNormal);
  v.merges = std::move(merges);
  for (std::string& text : control) {
    v.tokens.push_back(std::move(text));
    v.kinds.push_back(TokenKind::kControl);
  }
  return v;
}

// BERT's, which makes letters small and drops their marks. Ids 0-2: [UNK], [CLS], [SEP].
inline Vocabulary word_piece_vocabulary(const std::vector<std::string>& pieces) {
  Vocabulary v;
  v.model = "bert";
  v.tokens = {"[UNK]", "[CLS]", "[SEP]"};
  v.kinds = {TokenKind::kUnknown, TokenKind::kControl, TokenKind::kControl};
  v.unknown = 0;
  v.bos = 1;
  v.separator = 2;
  v.tokens.insert(v.tokens.end(), pieces.begin(), pieces.end());
  v.kinds.resize(v.tokens.size(), TokenKind::kNormal);
  return v;
}

// Ids 0-2 are <unk>, <s>, </s>; 3-258 the byte tokens; then the pieces with their scores.
inline Vocabulary spm_vocabulary(const std::vector<std::pair<std::string, float>>& pieces) {
  Vocabulary v;
  v.model = "llama";
  v.tokens = {"<unk>", "<s>", "</s>"};
  v.kinds = {TokenKind::kUnknown, TokenKind::kControl, TokenKind::kControl};
  for (int b = 0; b < 256; ++b) {
    constexpr char kHex[] = "0123456789ABCDEF";
    v.tokens.push_back(std::string("<0x") + kHex[b / 16] + kHex[b % 16] + ">");
    v.kinds.push_back(TokenKind::kByte);
  }
  v.scores.assign(v.tokens.size(), 0.0f);
  for (const auto& [text, score] : pieces) {
    v.tokens.push_back(text);
    v.kinds.push_back(TokenKind::kNormal);
    v.scores.push_back(score);
  }
  return v;
}

}  // namespace ingle::test
