// The unigram language model: of all ways to cut a text into pieces, the one whose scores add up to the most.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "text/byte_trie.h"

namespace ingle {

// Immutable; may be used by many threads.
class Unigram {
 public:
  struct Piece {
    std::string_view text;  // an empty one, or one longer than kLongestPiece, is never made
    double score;           // a piece whose score is not finite is never made
    int32_t id;
  };
  // Time for a text is its length by the longest piece.
  static constexpr size_t kLongestPiece = 1024;
  // What a character without a piece costs below the lowest score.
  static constexpr double kUnknownPenalty = 10.0;

  // `lowest_score`: of the pieces that count for it (user-defined ones do not). `byte_ids`: a token for every byte, if
  // the model falls back to them; else a run of unknown characters is one `unknown` (-1: left out).
  Unigram(std::span<const Piece> pieces, double lowest_score, int32_t unknown,
          std::optional<std::array<int32_t, 256>> byte_ids);

  // Appends the ids of `text`, which must be valid UTF-8. Of equal sums the first found stays: that with the earlier
  // start of its last piece.
  void encode(std::string_view text, std::vector<int32_t>& out) const;

 private:
  ByteTrie trie_;  // values are indices into the two below
  std::vector<double> scores_;
  std::vector<int32_t> ids_;
  double unknown_score_;
  int32_t unknown_;
  std::optional<std::array<int32_t, 256>> byte_ids_;
};

}  // namespace ingle
