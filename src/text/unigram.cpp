// Viterbi from left to right. Sums are doubles: SentencePiece adds floats, which differs in exact ties only.
#include "text/unigram.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "text/utf8.h"

namespace ingle {

Unigram::Unigram(std::span<const Piece> pieces, double lowest_score, int32_t unknown,
                 std::optional<std::array<int32_t, 256>> byte_ids)
    : unknown_score_(lowest_score - kUnknownPenalty), unknown_(unknown), byte_ids_(std::move(byte_ids)) {
  std::vector<ByteTrie::Entry> entries;
  entries.reserve(pieces.size());
  for (const Piece& piece : pieces) {
    if (piece.text.empty() || piece.text.size() > kLongestPiece || !std::isfinite(piece.score)) continue;
    entries.push_back({piece.text, static_cast<int32_t>(ids_.size())});
    scores_.push_back(piece.score);
    ids_.push_back(piece.id);
  }
  trie_ = ByteTrie(std::move(entries));
}

void Unigram::encode(std::string_view text, std::vector<int32_t>& out) const {
  constexpr int32_t kUnknownCharacter = -1;
  struct Best {
    double score = -std::numeric_limits<double>::infinity();
    size_t begin = 0;
    int32_t piece = kUnknownCharacter;
  };
  std::vector<Best> best(text.size() + 1);  // of the text up to here, by its last piece
  best[0].score = 0;
  for (size_t i = 0; i < text.size();) {
    const size_t character = decode_utf8(text.substr(i)).length;
    const double score = best[i].score;
    bool covered = false;
    const auto consider = [&](size_t length, double added, int32_t piece) {
      Best& there = best[i + length];
      if (score + added > there.score) there = {score + added, i, piece};
    };
    trie_.prefixes(text.substr(i), [&](size_t length, int32_t piece) {
      covered = covered || length == character;
      consider(length, scores_[static_cast<size_t>(piece)], piece);
    });
    if (!covered) consider(character, unknown_score_, kUnknownCharacter);
    i += character;
  }

  const size_t before = out.size();  // from here ids stand in reverse for a moment
  bool after_unknown = false;
  for (size_t end = text.size(); end > 0; end = best[end].begin) {
    const int32_t piece = best[end].piece;
    if (piece != kUnknownCharacter) {
      out.push_back(ids_[static_cast<size_t>(piece)]);
    } else if (byte_ids_) {
      for (size_t i = end; i-- > best[end].begin;) out.push_back((*byte_ids_)[static_cast<unsigned char>(text[i])]);
    } else if (unknown_ >= 0 && !after_unknown) {
      out.push_back(unknown_);
    }
    after_unknown = piece == kUnknownCharacter;
  }
  std::reverse(out.begin() + static_cast<ptrdiff_t>(before), out.end());
}

}  // namespace ingle
