// What a tokenizer.json says, as plain data: read and checked, ready to make a tokenizer of or to write into a GGUF
// file.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/bpe_merges.h"
#include "text/json_document.h"
#include "text/token_map.h"
#include "text/tokenizer.h"

namespace ingle {

struct HfAddedToken {
  std::string text;
  TokenId id = 0;
  bool special = false;      // found only where special tokens are looked for, and not shown in decoded text
  bool normalized = false;   // looked for in normalised text, itself normalised
  bool single_word = false;  // not beside a character of a word
  bool strip_left = false, strip_right = false;  // takes the white space beside it along
};

struct HfModel {
  enum class Type { kBpe, kUnigram, kWordPiece, kWordLevel };
  Type type = Type::kBpe;
  size_t entries = 0;               // texts in the model's own vocabulary
  std::vector<std::string> tokens;  // by id; "" where the model has none
  std::vector<double> scores;       // unigram: by id
  std::vector<BpeMerge> merges;     // BPE; no pair twice
  std::optional<TokenId> unknown;
  std::string unknown_text;       // what the file calls it, also when it is no token
  std::string continuing_prefix;  // of pieces that do not begin a word (BPE, WordPiece)
  std::string end_suffix;         // of pieces that end one (BPE)
  bool fuse_unknown = false, byte_fallback = false, ignore_merges = false;
  size_t most_characters = 100;  // of a word (WordPiece)
};

// One step of cutting a text into what the model works on.
struct HfPreStep {
  enum class Kind {
    kSplit,
    kByteLevel,
    kDigits,
    kPunctuation,
    kMetaspace,
    kWhitespace,
    kWhitespaceSplit,
    kBert,
    kFixedLength
  };
  enum class Behavior { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };
  enum class Prepend { kFirst, kNever, kAlways };

  Kind kind;
  std::string text;                         // the pattern, or Metaspace's mark
  bool is_regex = false;                    // Split
  bool invert = false;                      // Split
  Behavior behavior = Behavior::kIsolated;  // Split, Punctuation
  bool add_prefix_space = false;            // ByteLevel
  bool use_regex = true;                    // ByteLevel
  bool individually = false;                // Digits
  Prepend prepend = Prepend::kAlways;       // Metaspace
  bool split = true;                        // Metaspace
  size_t length = 0;                        // FixedLength, in characters
};

struct HfDescription {
  HfModel model;
  std::vector<HfAddedToken> added;  // in the file's order; ids follow the model's
  std::vector<std::string> tokens;  // by id, the model's and the added ones; "" where there is none
  std::vector<HfPreStep> pre_steps;
  std::vector<TokenId> before, after;  // what encoding adds around a text
  // From tokenizer_config.json, when it names them.
  std::optional<TokenId> bos, eos, padding;
};

// Throws Error: kInvalidFile, kUnsupported, each naming the place ("tokenizer.json: model.merges[12]: ..."). Normaliser
// and decoder are read by their own classes.
HfDescription describe_tokenizer(JsonValue tokenizer, JsonValue config);

// Parts of the above, by the place in the file.
HfModel read_hf_model(JsonValue model);
std::vector<HfPreStep> read_hf_pre_tokenizer(JsonValue pre_tokenizer);

}  // namespace ingle
