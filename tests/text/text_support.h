// What the tokenizer tests share: the escaped texts of the expected-result files, and small vocabularies made by hand.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "text/byte_alphabet.h"
#include "text/tokenizer.h"
#include "text/utf8.h"

namespace ingle::test {

// The lines of tests/text/data/NAME, without the comments at its head.
inline std::vector<std::string> data_lines(const std::string& name) {
  std::ifstream file(std::string(INGLE_SOURCE_DIR) + "/tests/text/data/" + name, std::ios::binary);
  EXPECT_TRUE(file) << name;
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    if (lines.empty() && line.starts_with("# ")) continue;
    lines.push_back(line);
  }
  return lines;
}

// \n, \t, \r, \\ and \u{HEX}.
inline std::string unescape(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    const char c = text[++i];
    if (c == 'u') {
      const size_t end = text.find('}', i);
      append_utf8(out, static_cast<char32_t>(std::stoul(std::string(text.substr(i + 2, end - i - 2)), nullptr, 16)));
      i = end;
    } else {
      out += c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c;
    }
  }
  return out;
}

inline std::vector<int64_t> numbers(std::string_view text) {
  std::istringstream in{std::string(text)};
  std::vector<int64_t> out;
  for (int64_t n; in >> n;) out.push_back(n);
  return out;
}

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

// The texts of the ids, as in the file.
inline std::vector<std::string> texts(const Tokenizer& tokenizer, std::span<const TokenId> ids) {
  std::vector<std::string> out;
  for (TokenId id : ids) out.push_back(tokenizer.text(id));
  return out;
}

inline std::vector<std::string> encode_texts(const Tokenizer& tokenizer, std::string_view text,
                                             EncodeOptions options = {}) {
  return texts(tokenizer, tokenizer.encode(text, options));
}

// Valid UTF-8 from all planes, with plain text mixed in.
inline std::string random_text(std::mt19937& random, size_t characters) {
  std::string out;
  while (characters-- > 0) {
    switch (random() % 6) {
      case 0:
        out += static_cast<char>('a' + random() % 26);
        break;
      case 1:
        out += " \n\t.,'0"[random() % 7];
        break;
      case 2:
        append_utf8(out, 0x80 + random() % 0x780);
        break;
      case 3:
        append_utf8(out, 0x800 + random() % 0xD000);
        break;
      case 4:
        append_utf8(out, 0xE000 + random() % 0x2000);
        break;
      default:
        append_utf8(out, 0x10000 + random() % 0x100000);
    }
  }
  return out;
}

inline std::string random_bytes(std::mt19937& random, size_t size) {
  std::string out;
  while (size-- > 0) out += static_cast<char>(random() % 256);
  return out;
}

}  // namespace ingle::test
