// A whole file as a text, where mapping would not pay: settings, vocabularies, templates.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace ingle {

// What no settings and no vocabulary come near: the tokenizer.json of 256,000 tokens has 33 MB.
inline constexpr size_t kMostTextBytes = size_t{512} << 20;

// At most `most_bytes`; an empty file is an empty text. Throws Error: kNotFound (no such file), kInvalidFile (a
// directory, a pipe or device; more bytes than that, with both numbers), kIo.
std::string read_file(const std::filesystem::path& path, size_t most_bytes = kMostTextBytes);

// Whether the file's first bytes are these. Throws as read_file() does.
bool begins_with(const std::filesystem::path& path, std::string_view bytes);

}  // namespace ingle
