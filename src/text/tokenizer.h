// From text to token ids and back: the tokenizers that GGUF files describe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ingle {

using TokenId = int32_t;

enum class TokenKind : uint8_t { kUndefined, kNormal, kUnknown, kControl, kUserDefined, kUnused, kByte };
std::string_view to_string(TokenKind kind) noexcept;  // "normal", "control", ...

// What the file says, as plain data. Filled by the loader from tokenizer.ggml.* keys; nothing in it is trusted yet.
struct Vocabulary {
  std::string model;         // tokenizer.ggml.model: "gpt2", "llama", "bert", ...
  std::string pre;           // tokenizer.ggml.pre
  std::string name;          // general.name (some flags hang on it)
  std::string architecture;  // general.architecture (so does one)
  std::vector<std::string> tokens;
  std::vector<float> scores;     // empty, or one per token
  std::vector<TokenKind> kinds;  // empty, or one per token
  std::vector<std::string> merges;
  std::optional<int64_t> bos, eos, eot, eom, unknown, separator, padding, mask, cls;
  std::optional<int64_t> fim_prefix, fim_suffix, fim_middle, fim_pad, fim_repo, fim_separator;
  std::optional<bool> add_bos, add_eos, add_separator, add_space_prefix, remove_extra_whitespaces;
  std::optional<bool> lowercase, strip_accents;  // WordPiece
  std::string precompiled_charsmap;              // unigram: SentencePiece's character map, empty when there is none
  bool space_is_suffix = false;                  // unigram: the added space stands at the end (GGUF has no key for it)
};

struct EncodeOptions {
  bool add_special = true;     // begin/end tokens, as the model wants them
  bool parse_special = false;  // control tokens written out in the text become that token; user text must not do that
};

// How two texts are read as a pair: the first with its begin and end tokens, `between`, the second without any,
// `behind`.
struct PairMarks {
  std::vector<TokenId> between, behind;
};

// A loaded tokenizer is immutable; all methods are thread-safe.
class Tokenizer {
 public:
  // Throws Error: kInvalidFile (names the key and the index), kUnsupported (tokenizer model or pre-tokeniser).
  static std::unique_ptr<const Tokenizer> create(Vocabulary vocabulary);
  virtual ~Tokenizer() = default;

  virtual std::vector<TokenId> encode(std::string_view text, EncodeOptions options = {}) const = 0;
  // The bytes of one token; control and unknown tokens give "" unless `special`. May be a part of a character.
  virtual std::string piece(TokenId id, bool special = false) const = 0;
  // The whole list; strips what encoding added at the front (space prefix).
  virtual std::string decode(std::span<const TokenId> ids, bool special = false) const = 0;

  virtual int32_t size() const noexcept = 0;
  virtual const std::string& text(TokenId id) const = 0;  // as in the file
  virtual TokenKind kind(TokenId id) const = 0;
  virtual std::optional<TokenId> find(std::string_view text) const = 0;
  virtual std::optional<TokenId> bos() const noexcept = 0;
  virtual std::optional<TokenId> eos() const noexcept = 0;
  virtual std::optional<TokenId> eot() const noexcept = 0;
  virtual std::optional<TokenId> padding() const noexcept = 0;
  virtual bool adds_bos() const noexcept = 0;
  virtual PairMarks pair_marks() const { return {}; }
  // Whether a text and what follows a special token get a space in front, which decoding takes away.
  virtual bool strips_leading_space() const noexcept = 0;
  virtual bool is_end_of_generation(TokenId id) const noexcept = 0;
  virtual std::span<const TokenId> end_of_generation() const noexcept = 0;
  // What was odd in the file (missing pre-tokeniser, id out of range), for the log.
  virtual std::span<const std::string> warnings() const noexcept = 0;
  // What is worth knowing about the file, and nothing to act on.
  virtual std::span<const std::string> notes() const noexcept = 0;
};

// Turns pieces into text that never ends inside a character. Not thread-safe; one per stream.
class StreamingDecoder {
 public:
  // Returns the longest valid UTF-8 that is complete now. An invalid byte becomes U+FFFD at once; an incomplete tail is
  // held.
  std::string push(std::string_view piece);
  // The end: a held tail becomes U+FFFD.
  std::string finish();

 private:
  std::string held_;
};

}  // namespace ingle
