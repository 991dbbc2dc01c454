// For scripts that compare with another implementation: reads texts, prints their ids.
//   tokenize_texts TOKENIZER.json [parse] [general] [special] < TEXTS > IDS
// Texts: for each, u32 size and its bytes. Output: for each, u32 count and u32 ids; little-endian both.
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include "ingle/error.h"
#include "text/hf_tokenizer.h"

namespace {

std::string all_of(std::istream& in) { return {std::istreambuf_iterator<char>(in), {}}; }

void write_u32(uint32_t value) { std::fwrite(&value, 4, 1, stdout); }

}  // namespace

int main(int argc, char** argv) {
  using namespace ingle;
  const auto asked = [&](const char* what) {
    for (int i = 2; i < argc; ++i) {
      if (std::strcmp(argv[i], what) == 0) return true;
    }
    return false;
  };
  if (argc < 2) return 2;
  try {
    std::ifstream file(argv[1], std::ios::binary);
    const auto tokenizer = read_tokenizer_json(all_of(file), {}, {.general_only = asked("general")});
    for (uint32_t size; std::fread(&size, 4, 1, stdin) == 1;) {
      std::string text(size, '\0');
      if (std::fread(text.data(), 1, size, stdin) != size) return 2;
      const auto ids = tokenizer->encode(text, {.add_special = asked("special"), .parse_special = asked("parse")});
      write_u32(static_cast<uint32_t>(ids.size()));
      std::fwrite(ids.data(), 4, ids.size(), stdout);
    }
  } catch (const Error& error) {
    std::fprintf(stderr, "tokenize_texts: %s\n", error.what());
    return 1;
  }
  return 0;
}
