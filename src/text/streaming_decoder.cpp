// Text that never ends inside a character: complete characters go out, a good beginning waits for its rest.
#include "text/tokenizer.h"
#include "text/utf8.h"

namespace ingle {

std::string StreamingDecoder::push(std::string_view piece) {
  std::string joined;
  if (!held_.empty()) {
    joined = std::move(held_);
    held_.clear();
    joined += piece;
    piece = joined;
  }
  std::string out;
  out.reserve(piece.size());
  while (!piece.empty()) {
    const size_t good = valid_utf8_prefix(piece);
    out += piece.substr(0, good);
    piece.remove_prefix(good);
    if (piece.empty()) break;
    const Utf8Step step = decode_utf8(piece);
    if (step.kind == Utf8Step::Kind::kIncomplete) {
      held_ = piece;  // at most three bytes
      break;
    }
    out += kReplacementCharacter;  // one for each maximal bad prefix, as the Unicode Standard recommends (3.9)
    piece.remove_prefix(step.length);
  }
  return out;
}

std::string StreamingDecoder::finish() {
  if (held_.empty()) return {};
  held_.clear();
  return std::string(kReplacementCharacter);
}

}  // namespace ingle
