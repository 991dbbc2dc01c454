// UTF-8, strictly as RFC 3629 has it: no overlong forms, no surrogates, nothing above U+10FFFF.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace ingle::app {

struct Utf8Character {
  char32_t code_point = 0;
  size_t length = 1;  // bytes taken; 1 when not valid
  bool valid = false;
};

Utf8Character first_character(std::string_view text) noexcept;  // `text` is not empty

// Where the first byte stands that belongs to no character; nullopt when all of it is UTF-8.
std::optional<size_t> find_invalid_utf8(std::string_view text) noexcept;

// Throws Error{kInvalidArgument} that names the offset of the first byte that is no UTF-8; `name` says of what.
void require_utf8(std::string_view text, std::string_view name);

// Bytes that belong to no character replaced by U+FFFD, for JSON.
std::string to_valid_utf8(std::string_view text);

}  // namespace ingle::app
