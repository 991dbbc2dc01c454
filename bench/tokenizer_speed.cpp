// One side of scripts/compare_tokenizers.py: loads a vocabulary and documents, then answers every line on standard
// input with the seconds that encoding all documents took, on one thread.
//
//   tokenizer_speed VOCABULARY DOCUMENTS IDS     VOCABULARY: a GGUF file or a tokenizer.json
//
// DOCUMENTS: a 32-bit length before each text. IDS is written once: the ids of all documents, 32 bits each.
#include <fmt/format.h>

#include <chrono>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>

#include "gguf/gguf.h"
#include "models/vocabulary.h"
#include "text/hf_tokenizer.h"
#include "text/tokenizer.h"

namespace {

using namespace ingle;

std::string read(const char* path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(fmt::format("{}: cannot be read", path));
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> documents(const std::string& bytes) {
  std::vector<std::string> out;
  for (size_t at = 0; at + sizeof(uint32_t) <= bytes.size();) {
    uint32_t size;
    std::memcpy(&size, bytes.data() + at, sizeof(size));
    out.push_back(bytes.substr(at + sizeof(size), size));
    at += sizeof(size) + size;
  }
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: tokenizer_speed VOCABULARY DOCUMENTS IDS\n";
    return 2;
  }
  try {
    const std::unique_ptr<const Tokenizer> tokenizer =
        std::string_view(argv[1]).ends_with(".json") ? read_tokenizer_json(read(argv[1]))
                                                     : Tokenizer::create(load_vocabulary(GgufFile::open(argv[1])));
    const std::vector<std::string> texts = documents(read(argv[2]));
    std::ofstream ids(argv[3], std::ios::binary);
    for (const std::string& text : texts) {
      const std::vector<TokenId> out = tokenizer->encode(text, {.add_special = false});
      ids.write(reinterpret_cast<const char*>(out.data()), static_cast<std::streamsize>(out.size() * sizeof(TokenId)));
    }
    ids.close();
    for (std::string line; std::getline(std::cin, line);) {
      const auto start = std::chrono::steady_clock::now();
      size_t count = 0;
      for (const std::string& text : texts) count += tokenizer->encode(text, {.add_special = false}).size();
      const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
      std::cout << fmt::format("{} {}\n", seconds.count(), count) << std::flush;
    }
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
