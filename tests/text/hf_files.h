// Small tokenizer.json files, part by part, for tests and fuzzers.
#pragma once

#include <fmt/format.h>

#include <initializer_list>
#include <string>
#include <string_view>

#include "text/byte_alphabet.h"
#include "text/utf8.h"

namespace ingle::test {

inline std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

// Ids 0-255 are the bytes; then aa, ab, aaaa and " a".
inline std::string byte_bpe() {
  std::string vocabulary;
  for (int b = 0; b < 256; ++b) {
    std::string text;
    append_utf8(text, kByteToCharacter[static_cast<size_t>(b)]);
    vocabulary += fmt::format("{}: {}, ", quoted(text), b);
  }
  return R"({"type": "BPE", "vocab": {)" + vocabulary +
         R"("aa": 256, "ab": 257, "aaaa": 258, "Ġa": 259}, "merges": ["a a", "a b", "aa aa", "Ġ a"]})";
}

// Ids 0-255 are byte tokens; then ▁, a, b, ▁a, aa.
inline std::string fallback_bpe() {
  std::string vocabulary;
  for (int b = 0; b < 256; ++b) vocabulary += fmt::format("\"<0x{:02X}>\": {}, ", b, b);
  return R"({"type": "BPE", "byte_fallback": true, "vocab": {)" + vocabulary +
         R"("▁": 256, "a": 257, "b": 258, "▁a": 259, "aa": 260, "▁▁": 261}, "merges": [["▁", "a"], ["a", "a"], ["▁", "▁"]]})";
}

struct HfFile {
  std::string normalizer = "null";
  std::string pre_tokenizer = R"({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": false})";
  std::string post_processor = "null";
  std::string decoder = "null";
  std::string added;
  std::string model = byte_bpe();

  void add(int id, std::string_view text, std::initializer_list<std::string_view> flags) {
    const auto has = [&](std::string_view flag) {
      for (std::string_view f : flags) {
        if (f == flag) return "true";
      }
      return "false";
    };
    if (!added.empty()) added += ", ";
    added += fmt::format(
        R"({{"id": {}, "content": {}, "single_word": {}, "lstrip": {}, "rstrip": {}, "normalized": {}, "special": {}}})",
        id, quoted(text), has("single_word"), has("lstrip"), has("rstrip"), has("normalized"), has("special"));
  }

  std::string json() const {
    return fmt::format(
        R"({{"version": "1.0", "truncation": null, "padding": null, "added_tokens": [{}], "normalizer": {}, "pre_tokenizer": {}, "post_processor": {}, "decoder": {}, "model": {}}})",
        added, normalizer, pre_tokenizer, post_processor, decoder, model);
  }
};

}  // namespace ingle::test
