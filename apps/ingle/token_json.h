// A token as JSON shows it.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "apps/ingle/utf8.h"
#include "ingle/model.h"

namespace ingle::app {

// id, piece and kind; also the piece's bytes where it is part of a character, which a text cannot show. Of a Model or a
// TokenizerFile.
template <class Vocabulary>
boost::json::object token_json(const Vocabulary& vocabulary, TokenId id) {
  const std::string piece = vocabulary.piece(id, true);
  boost::json::object token{{"id", id}, {"piece", to_valid_utf8(piece)}, {"kind", vocabulary.token_kind(id)}};
  if (find_invalid_utf8(piece)) {
    boost::json::array bytes;
    for (const char c : piece) bytes.push_back(static_cast<unsigned char>(c));
    token["bytes"] = std::move(bytes);
  }
  return token;
}

}  // namespace ingle::app
