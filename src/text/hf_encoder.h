// What a tokenizer.json does to a normalised text between added tokens: cut it into pieces and look them up. There are
// two ways that give the same ids: the file's steps one by one, whatever they are, and the tokenizer for GGUF's
// vocabularies, much faster, where the file says no more than such a vocabulary can.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "text/file_regex.h"
#include "text/hf_description.h"

namespace ingle {

// Immutable; may be used by many threads.
class HfEncoder {
 public:
  virtual ~HfEncoder() = default;

  // Appends the ids of `text`: valid UTF-8, not empty. `at_start`: nothing of the whole text lies before it.
  virtual void encode(std::string_view text, bool at_start, FileRegex::Scratch& scratch,
                      std::vector<TokenId>& out) const = 0;
};

// Of any description. Throws Error{kUnsupported} for what the model's own parts refuse.
std::unique_ptr<const HfEncoder> general_hf_encoder(HfDescription description);

// Of byte-pair encoding over bytes with a known way to cut words, or over characters with byte tokens and marked
// spaces; nullptr for anything else. `spaces_marked`: the normaliser leaves no space, or would leave none.
std::unique_ptr<const HfEncoder> fast_hf_encoder(const HfDescription& description, bool spaces_marked);

// The name in tokenizer.ggml.pre that stands for these steps over bytes; empty when there is none.
std::string_view gguf_pre_tokenizer(const std::vector<HfPreStep>& steps, bool nfc, bool ignore_merges);

}  // namespace ingle
