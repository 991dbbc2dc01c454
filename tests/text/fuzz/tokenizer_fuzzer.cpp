// Any text through fixed vocabularies of each kind: byte-level BPE must give back every byte, nothing may throw.
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "../vocabularies.h"
#include "text/tokenizer.h"

namespace {

using namespace ingle;

struct Kinds {
  std::vector<std::unique_ptr<const Tokenizer>> bpe;  // byte-level, without normalisation
  std::vector<std::unique_ptr<const Tokenizer>> other;

  Kinds() {
    const std::vector<std::string> merges = {"a a",           "aa aa",         "a b",           "\u0120 a",
                                             "\u0120 \u0120", "\u010A \u010A", "\u00C3 \u00A9", "i n"};
    for (const char* pre :
         {"gpt-2", "llama-bpe", "smollm", "default", "deepseek-v3", "gpt-4o", "tiny_aya", "jais-2", "kimi-k2"}) {
      Vocabulary v = test::byte_vocabulary(merges, {"<|im_start|>", "<|im_end|>", "<|im"});
      v.pre = pre;
      v.add_bos = false;  // its default, 11, is a byte here
      bpe.push_back(Tokenizer::create(std::move(v)));
    }
    Vocabulary nfc = test::byte_vocabulary(merges);
    nfc.pre = "qwen2";
    other.push_back(Tokenizer::create(std::move(nfc)));
    Vocabulary gemma = test::spm_vocabulary({{"\u2581", 0}, {"a", 0}, {"\u2581a", 0}, {"\n\n", 0}});
    gemma.model = "gemma4";
    gemma.merges = {"\u2581 a"};
    other.push_back(Tokenizer::create(std::move(gemma)));
    Vocabulary spm = test::spm_vocabulary(
        {{"\u2581", 0}, {"a", 0}, {"b", 0}, {"aa", -1}, {"\u2581a", -1}, {"ab", -2}, {"\u2581\u2581", -3}});
    other.push_back(Tokenizer::create(spm));
    spm.name = "phi-3";
    other.push_back(Tokenizer::create(std::move(spm)));
  }
};

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Kinds kinds;
  if (size < 2) return 0;
  const EncodeOptions options{.add_special = (data[0] & 1) != 0, .parse_special = (data[0] & 2) != 0};
  const std::string text(reinterpret_cast<const char*>(data) + 2, size - 2);
  const size_t n = data[1] % (kinds.bpe.size() + kinds.other.size());
  const bool bytes = n < kinds.bpe.size();
  const Tokenizer& tokenizer = bytes ? *kinds.bpe[n] : *kinds.other[n - kinds.bpe.size()];
  const std::vector<TokenId> ids = tokenizer.encode(text, options);
  require(ids == tokenizer.encode(text, options));  // what is remembered changes nothing
  for (TokenId id : ids) require(id >= 0 && id < tokenizer.size());
  if (bytes) {
    require(ids.size() <= text.size() + 1);
    require(tokenizer.decode(ids, true) == text);
  } else {
    tokenizer.decode(ids);
  }
  return 0;
}
