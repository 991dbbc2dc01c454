// A tokenizer from a Hugging Face folder: tokenizer.json, with exactly the ids of their package `tokenizers`.
//
// What differs, on purpose: invalid UTF-8 becomes U+FFFD before anything else; a special token that text may not become
// (parse_special off) is not made by looking a whole word up either; decoding gives bytes, not U+FFFD for pieces of a
// character; characters that Unicode knows only since the library's tables follow newer tables here. The fields
// "truncation" and "padding" are ignored. Anything not known is refused by name.
#pragma once

#include <memory>
#include <string_view>

#include "text/tokenizer.h"

namespace ingle {

struct HfOptions {
  // The file's steps one by one, also where the fast tokenizer of GGUF's vocabularies gives the same ids. For tests.
  bool general_only = false;
};

// `config`: the text of tokenizer_config.json, which names bos, eos and padding; may be empty. Cost: time and memory
// are linear in the files, at most some 50 times their size, and files of more than 256 MiB are refused. Throws Error:
// kInvalidFile, kUnsupported, each naming the place ("tokenizer.json: model.merges[12]: ..."). Encoding throws
// Error{kInvalidArgument} when an expression of the file costs too much on the text, and Error{kInvalidFile} when the
// text needs an unknown token that the file does not have.
std::unique_ptr<const Tokenizer> read_tokenizer_json(std::string_view json, std::string_view config = {},
                                                     HfOptions options = {});

}  // namespace ingle
