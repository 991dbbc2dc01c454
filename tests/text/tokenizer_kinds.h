// One small tokenizer of every kind, for what must hold for all of them: tests, fuzzers and benchmarks.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "text/pre_tokenizers.h"
#include "text/tokenizer.h"
#include "vocabularies.h"

namespace ingle::test {

struct NamedTokenizer {
  std::string name;
  std::unique_ptr<const Tokenizer> tokenizer;
  bool keeps_bytes;  // decode(encode(text)) == text for any bytes
};

// Byte-level BPE whose merges make long runs, so that long words cost the most they can.
inline Vocabulary long_run_vocabulary(std::string pre) {
  const std::string a = letter(' '), n = letter('\n');
  Vocabulary v = byte_vocabulary(
      {"a a", "aa aa", "aaaa aaaa", "a b", "ab ab", a + " a", a + " " + a, a + a + " " + a + a, n + " " + n, "1 1",
       "11 1", "\u00E4 \u00B8", "\u00E4\u00B8 \u0143", "\u00CC \u0123", "\u00E4\u00B8\u0143 \u00E4"},
      {"<|im_start|>", "<|im_end|>", "<|im"});
  v.pre = std::move(pre);
  v.add_bos = false;  // its default, 11, is a byte here
  return v;
}

inline Vocabulary word_piece_vocabulary() {
  std::vector<std::string> pieces;
  for (const char* piece : {"a", "b", "ab", "aa", "aaaa", "1", "the", ",", "'", "s", "\u4E2D"}) {
    pieces.push_back(std::string("\u2581") + piece);
    pieces.push_back(piece);
  }
  return word_piece_vocabulary(pieces);
}

inline Vocabulary unigram_vocabulary(bool bytes) {
  Vocabulary v = spm_vocabulary({{"\u2581", -2},
                                 {"a", -3},
                                 {"b", -3},
                                 {"aa", -4},
                                 {"ab", -4.5f},
                                 {"\u2581a", -3.5f},
                                 {"1", -3},
                                 {"\u4E2D", -6},
                                 {"\u2581\u2581", -2.5f},
                                 {"\u2581the", -5},
                                 {"e", -3}});
  v.model = "t5";
  v.unknown = 0;
  v.eos = 2;
  v.tokens.push_back("<sep>");
  v.kinds.push_back(TokenKind::kUserDefined);
  v.scores.push_back(0);
  if (!bytes) v.kinds[3] = TokenKind::kUnused;  // one byte without a token, and there is no falling back
  return v;
}

inline Vocabulary rwkv_vocabulary() {
  Vocabulary v;
  v.model = "rwkv";
  v.tokens = {"<s>"};
  v.kinds = {TokenKind::kControl};
  constexpr char kHex[] = "0123456789abcdef";
  for (int b = 0; b < 256; ++b) v.tokens.push_back(std::string("\\x") + kHex[b / 16] + kHex[b % 16]);
  for (const char* text : {"aa", "aaaa", "ab", "abab", "\\n\\n", "  ", "    ", " the", "\\xe4\\xb8", "11"})
    v.tokens.push_back(text);
  v.kinds.resize(v.tokens.size(), TokenKind::kNormal);
  return v;
}

// BPE once for every way of cutting words, and each of the other models.
inline std::vector<NamedTokenizer> one_of_each_kind() {
  std::vector<NamedTokenizer> all;
  const auto add = [&](std::string name, Vocabulary v, bool keeps_bytes) {
    all.push_back({std::move(name), Tokenizer::create(std::move(v)), keeps_bytes});
  };
  for (std::string_view pre : PreTokenizer::first_names()) {
    const PreTokenizerFlags flags = PreTokenizer::create(pre).flags();
    if (!flags.raw_utf8) add(std::string(pre), long_run_vocabulary(std::string(pre)), !flags.nfc);
  }
  Vocabulary gemma = spm_vocabulary(
      {{"\u2581", 0}, {"a", 0}, {"\u2581a", 0}, {"\u2581\u2581", 0}, {"\n\n", 0}, {"aa", 0}, {"b", 0}, {"ab", 0}});
  gemma.model = "gemma4";
  gemma.merges = {"\u2581 a", "\u2581 \u2581", "a a", "a b"};
  add("gemma4", std::move(gemma), false);
  Vocabulary spm = spm_vocabulary(
      {{"\u2581", 0}, {"a", 0}, {"b", 0}, {"aa", -1}, {"\u2581a", -1}, {"ab", -2}, {"\u2581\u2581", -3}, {"1", 0}});
  add("llama", spm, false);
  spm.name = "phi-3";
  add("phi-3", spm, false);
  spm.name.clear();
  spm.add_space_prefix = false;
  add("llama without prefix", std::move(spm), false);
  add("bert", word_piece_vocabulary(), false);
  Vocabulary cased = word_piece_vocabulary();
  cased.lowercase = false;
  add("bert cased", std::move(cased), false);
  add("t5", unigram_vocabulary(false), false);
  add("t5 with bytes", unigram_vocabulary(true), false);
  Vocabulary every_space = unigram_vocabulary(true);
  every_space.remove_extra_whitespaces = false;
  every_space.space_is_suffix = true;
  add("t5 keeping spaces", std::move(every_space), false);
  add("rwkv", rwkv_vocabulary(), true);
  return all;
}

// Texts that repeat one thing: what makes a careless algorithm quadratic.
inline std::vector<std::pair<std::string, std::string>> repeated_texts(size_t bytes) {
  std::vector<std::pair<std::string, std::string>> all;
  for (const auto& [name, unit] :
       std::initializer_list<std::pair<const char*, const char*>>{{"one letter", "a"},
                                                                  {"spaces", " "},
                                                                  {"combining marks", "\u0301"},
                                                                  {"two kinds of marks", "\u0301\u0323"},
                                                                  {"a b a b", "a b "},
                                                                  {"abab", "ab"},
                                                                  {"digits", "1"},
                                                                  {"newlines", "\n"},
                                                                  {"CJK", "\u4E2D"},
                                                                  {"apostrophes", "'"},
                                                                  {"capitals", "A"},
                                                                  {"tags", "<|im"}}) {
    all.emplace_back(name, repeat(unit, bytes / std::string_view(unit).size()));
  }
  std::string noise;
  uint32_t state = 1;
  while (noise.size() < bytes) noise += static_cast<char>((state = state * 1664525u + 1013904223u) >> 24);
  all.emplace_back("random bytes", std::move(noise));
  return all;
}

}  // namespace ingle::test
