// What the vocabularies of tokenizer.json and tokenizer.model have in common once they are read: a text and a kind for
// every id, and the ids that have a role.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "convert/draft.h"
#include "text/tokenizer.h"

namespace ingle {

// As in tokenizer.ggml.token_type.
enum TokenType : int32_t {
  kNormalToken = 1,
  kUnknownToken,
  kControlToken,
  kUserDefinedToken,
  kUnusedToken,
  kByteToken
};

struct Tokens {
  std::vector<std::string> texts;  // by id; "" where there is none
  std::vector<int32_t> kinds;      // one per text
  std::optional<TokenId> bos, eos, padding, unknown;
  bool adds_bos = false, adds_eos = false;
};

// Settings of the folder's tokenizer_config.json; true where they are.
bool tokenizer_flag(const HfFolder& folder, std::string_view key, bool absent);
// The text of "bos_token" and the like: of tokenizer_config.json, or else of special_tokens_map.json.
std::optional<std::string> token_of_role(const HfFolder& folder, std::string_view key);

// Writes texts, kinds and roles; ids up to `rows` get placeholders. What ends a generation is known by its text, or by
// generation_config.json. Throws Error{kInvalidFile}: more texts than rows.
void add_tokens(Draft& draft, const HfFolder& folder, Tokens tokens, int64_t rows);

}  // namespace ingle
