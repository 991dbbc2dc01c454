#include "apps/ingle/token_json.h"

#include <boost/json/array.hpp>

#include "apps/ingle/utf8.h"

namespace ingle::app {

boost::json::object token_json(const Model& model, TokenId id) {
  const std::string piece = model.piece(id, true);
  boost::json::object token{{"id", id}, {"piece", to_valid_utf8(piece)}, {"kind", model.token_kind(id)}};
  if (find_invalid_utf8(piece)) {
    boost::json::array bytes;
    for (const char c : piece) bytes.push_back(static_cast<unsigned char>(c));
    token["bytes"] = std::move(bytes);
  }
  return token;
}

}  // namespace ingle::app
