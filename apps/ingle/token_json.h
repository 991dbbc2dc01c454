// A token as JSON shows it.
#pragma once

#include <boost/json/object.hpp>

#include "ingle/model.h"

namespace ingle::app {

// id, piece and kind; also the piece's bytes where it is part of a character, which a text cannot show.
boost::json::object token_json(const Model& model, TokenId id);

}  // namespace ingle::app
