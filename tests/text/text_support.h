// What the tokenizer tests share: the escaped texts of the expected-result files; random texts.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/text/vocabularies.h"
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
