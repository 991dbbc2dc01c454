// Any text through a small tokenizer of every kind: what keeps bytes must give back every byte, nothing may throw.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "../tokenizer_kinds.h"

namespace {

using namespace ingle;

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::vector<test::NamedTokenizer> kinds = test::one_of_each_kind();
  if (size < 2) return 0;
  const EncodeOptions options{.add_special = (data[0] & 1) != 0, .parse_special = (data[0] & 2) != 0};
  const std::string text(reinterpret_cast<const char*>(data) + 2, size - 2);
  const auto& [name, tokenizer, keeps_bytes] = kinds[data[1] % kinds.size()];
  const std::vector<TokenId> ids = tokenizer->encode(text, options);
  require(ids == tokenizer->encode(text, options));  // what is remembered changes nothing
  for (TokenId id : ids) require(id >= 0 && id < tokenizer->size());
  const std::string back = tokenizer->decode(ids, true);
  if (keeps_bytes) {
    require(ids.size() <= text.size() + 1);
    require(back == text);
  }
  return 0;
}
