// A tokenizer.model: what SentencePiece trained, read from its protocol buffer. (Fields are those of
// sentencepiece_model.proto; what is not here does not change how a text is cut.)
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ingle {

struct SentencePieceModel {
  enum class Type : int32_t { kUnigram = 1, kBpe = 2, kWord = 3, kCharacter = 4 };

  struct Piece {
    std::string text;
    float score = 0;
    int32_t kind = 1;  // as in tokenizer.ggml.token_type
  };

  std::vector<Piece> pieces;  // by id; at least one
  Type type = Type::kUnigram;
  int32_t unknown = 0, bos = 1, eos = 2, padding = -1;  // below 0: there is none
  bool space_is_suffix = false;
  std::string charsmap;
  bool adds_space = true, removes_extra_spaces = true, escapes_spaces = true;
};

// Throws Error{kInvalidFile}: not such a file (names the byte), a kind or type that there is not, an id without a
// piece, no pieces or more than 2^24.
SentencePieceModel read_sentencepiece(std::string_view bytes, const std::string& name);

}  // namespace ingle
