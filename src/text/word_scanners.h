// Hand-written equals of the expressions most used to cut words: the expression stays the definition, a test compares
// the two, and these are some twenty times as fast.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace ingle {

// Appends the end of each piece of text[begin, end), which is valid UTF-8; nothing is dropped. Linear in its length.
using WordScanner = void (*)(std::string_view text, size_t begin, size_t end, std::vector<size_t>& ends);

// For an expression in Hugging Face's notation, matches and the gaps between them being pieces; nullptr when there is
// none for it.
WordScanner find_word_scanner(std::string_view expression) noexcept;

// The expressions there is a scanner for.
std::vector<std::string_view> scanned_expressions();

}  // namespace ingle
