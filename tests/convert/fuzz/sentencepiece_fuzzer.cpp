// Any bytes as a tokenizer.model: an error, or pieces that are within the bytes.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "convert/sentencepiece.h"
#include "ingle/error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const ingle::SentencePieceModel model =
        ingle::read_sentencepiece(std::string_view(reinterpret_cast<const char*>(data), size), "fuzz");
    size_t bytes = model.charsmap.size();
    for (const ingle::SentencePieceModel::Piece& piece : model.pieces) bytes += piece.text.size();
    if (bytes > size || model.pieces.size() > size || model.unknown >= std::ssize(model.pieces)) std::abort();
  } catch (const ingle::Error&) {
  }
  return 0;
}
