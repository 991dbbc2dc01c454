// What BERT's tokenizers do to text before they look pieces up: cleaning, accents, letter case, and cutting into words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ingle {

struct BertNormalizerOptions {
  bool clean_text = true;  // drops control and format characters, makes every white space a plain one
  bool split_cjk = true;   // a space on either side of an ideograph
  bool strip_accents = true;
  bool lowercase = true;
};

// Any bytes may come in; a bad sequence counts as U+FFFD. Linear, apart from sorting runs of combining marks.
std::string bert_normalize(std::string_view text, const BertNormalizerOptions& options);

// The words of a normalised text: cut at white space, which is dropped; a punctuation character is a word of its own.
std::vector<std::string_view> bert_words(std::string_view text);

}  // namespace ingle
