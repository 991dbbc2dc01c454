// Which tokens have a role: begin, end of turn, fill-in-the-middle, and the set that ends a generation. Files leave
// much of it out, so it is completed from the tokens' texts.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer.h"

namespace ingle {

struct SpecialIds {
  std::optional<TokenId> bos, eos, eot, eom, unknown, separator, padding;
  std::vector<TokenId> end_of_generation;  // ascending, without repetition
};

// What a file means when it does not say (GGUF's rules per tokenizer model).
struct DefaultIds {
  std::optional<TokenId> bos, eos, unknown, separator, padding;
};

// Ids out of range are dropped with a warning. May change `vocabulary.kinds` (which must have an entry per token): what
// is found by its text becomes a control token, and a few markers that must be visible become user-defined.
SpecialIds find_special_ids(Vocabulary& vocabulary, const DefaultIds& defaults,
                            const std::function<std::optional<TokenId>(std::string_view)>& find,
                            std::vector<std::string>& warnings);

// Whether a token of this text ends a generation without the file's saying so.
bool ends_generation(std::string_view text) noexcept;

}  // namespace ingle
