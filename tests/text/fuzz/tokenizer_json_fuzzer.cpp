// A tokenizer.json made of the input, or the input inside a file that is otherwise sound; then texts through it.
// Nothing but Error may come out, both ways to encode agree, and decoding takes any ids.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "../hf_files.h"
#include "ingle/error.h"
#include "text/hf_tokenizer.h"

namespace {

using namespace ingle;

void require(bool holds) {
  if (!holds) std::abort();
}

std::vector<TokenId> ids_or_nothing(const Tokenizer& tokenizer, const std::string& text, EncodeOptions options) {
  try {
    return tokenizer.encode(text, options);
  } catch (const Error& error) {
    require(error.code() != ErrorCode::kInternal);
    return {};
  }
}

void use(const std::string& json, const std::string& text) {
  try {
    const auto fast = read_tokenizer_json(json);
    const auto general = read_tokenizer_json(json, {}, {.general_only = true});
    for (const bool parse : {false, true}) {
      const auto ids = ids_or_nothing(*fast, text, {.parse_special = parse});
      require(ids == ids_or_nothing(*general, text, {.parse_special = parse}));
      for (TokenId id : ids) {
        require(id >= 0 && id < fast->size());
        fast->piece(id, true);
      }
      fast->decode(ids, true);
    }
  } catch (const Error& error) {
    require(error.code() != ErrorCode::kInternal);
  }
}

}  // namespace

// The first byte says where the rest goes; a NUL parts the file from the text.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1 || size > 20'000) return 0;
  const std::string rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  const size_t nul = rest.find('\0');
  const std::string part = rest.substr(0, nul);
  const std::string text = nul == std::string::npos ? "aab a<x> \u00e9\n" : rest.substr(nul + 1);
  test::HfFile file;
  switch (data[0] % 8) {
    case 0:
      use(part, text);
      return 0;
    case 1:
      file.normalizer = part;
      break;
    case 2:
      file.pre_tokenizer = part;
      break;
    case 3:
      file.post_processor = part;
      break;
    case 4:
      file.decoder = part;
      break;
    case 5:
      file.added = part;
      break;
    case 6:
      file.model = part;
      break;
    case 7:
      file.model = test::fallback_bpe();
      file.pre_tokenizer = "null";
      file.normalizer = R"({"type": "Replace", "pattern": {"String": " "}, "content": "▁"})";
      file.added = part;
      break;
  }
  use(file.json(), text);
  return 0;
}
