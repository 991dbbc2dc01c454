// What a tokenizer.json says and a GGUF file has no words for: whoever reads the file would make other tokens of a
// text. What does so to every text is refused by its place; what touches few texts is a note.
#pragma once

#include <vector>

#include "text/hf_description.h"
#include "text/json_document.h"

namespace ingle {

// The normalisers one after the other, sequences opened up.
std::vector<JsonValue> normalizer_steps(JsonValue root);

// Of the steps and the model, by what the file's tokenizer is. Each throws Error{kUnsupported} naming the first part
// that has no form in GGUF.
void check_byte_level(const std::vector<JsonValue>& steps, const HfModel& model);
// BPE over characters, spaces as U+2581; `may_prefix`: the file can say that one stands before a text.
void check_marked_spaces(const std::vector<JsonValue>& steps, const HfDescription& d, bool may_prefix);
void check_unigram(const std::vector<JsonValue>& steps, const HfDescription& d);
void check_word_piece(const std::vector<JsonValue>& steps, const HfDescription& d);

}  // namespace ingle
