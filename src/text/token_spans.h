// Which bytes of a text each of its tokens stands for.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "text/tokenizer.h"

namespace ingle {

struct TextSpan {
  size_t begin, end;  // bytes of the text; equal for a token that nothing in the text stands for

  bool operator==(const TextSpan&) const = default;
};

// `ids` is what tokenizer.encode(text, options) gave. Spans are in order and do not overlap; bytes between two were
// dropped in encoding (white space around a word, say). Exact wherever pieces are the text's bytes. Where encoding
// changed the text first (case, accents, composition), a token has the characters whose bare letters are its own.
std::vector<TextSpan> token_spans(const Tokenizer& tokenizer, std::string_view text, EncodeOptions options,
                                  std::span<const TokenId> ids);

}  // namespace ingle
