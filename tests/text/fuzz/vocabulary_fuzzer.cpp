// A vocabulary made of arbitrary bytes: it is refused with an Error, or it encodes and decodes without harm.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "../tokenizer_kinds.h"
#include "ingle/error.h"
#include "text/tokenizer.h"

namespace {

using namespace ingle;

// Takes the input apart from the front; when it is used up, everything is zero or empty.
class Bytes {
 public:
  Bytes(const uint8_t* data, size_t size) : rest_(reinterpret_cast<const char*>(data), size) {}

  uint8_t byte() {
    if (rest_.empty()) return 0;
    const auto b = static_cast<uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    return b;
  }
  std::string text() {
    const size_t wanted = byte() % 24;  // before the rest is measured: the order of arguments is anybody's choice
    const size_t n = std::min(wanted, rest_.size());
    const std::string out(rest_.substr(0, n));
    rest_.remove_prefix(n);
    return out;
  }
  std::optional<int64_t> id() {
    const uint8_t b = byte();
    if (b % 3 == 0) return std::nullopt;
    return b % 3 == 1 ? int64_t{b} - 8 : int64_t{b} << 33;
  }
  std::optional<bool> flag() {
    const uint8_t b = byte();
    return b % 3 == 0 ? std::nullopt : std::optional<bool>(b % 3 == 1);
  }
  // A character map whose sizes fit most of the time, with nodes as they come.
  std::string map(size_t words) {
    std::string out;
    const auto n = static_cast<uint32_t>(words * 4);
    for (int shift = 0; shift < 32; shift += 8) out += static_cast<char>(n >> shift);
    const std::string_view nodes = rest_.substr(0, std::min<size_t>(rest_.size(), n));
    out += nodes;
    rest_.remove_prefix(nodes.size());
    out.resize(n + 4 + (words % 7 == 0 ? 0 : 8));
    out += words % 5 == 0 ? "x" : std::string("a\0\u2581b\0", 7);
    return out;
  }
  std::string rest() const { return std::string(rest_); }

 private:
  std::string_view rest_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Bytes in(data, size);
  const uint8_t how = in.byte();
  Vocabulary v;
  if (how & 1) {  // start from something that works
    switch (in.byte() % 5) {
      case 0:
        v = test::byte_vocabulary({"a b", "\u0120 a"});
        break;
      case 1:
        v = test::spm_vocabulary({{"\u2581", 0}, {"a", 0}, {"\u2581a", -1}});
        break;
      case 2:
        v = test::word_piece_vocabulary();
        break;
      case 3:
        v = test::unigram_vocabulary((how & 2) != 0);
        break;
      default:
        v = test::rwkv_vocabulary();
    }
  } else {
    constexpr const char* kModels[] = {"gpt2", "llama", "gemma4", "bert", "t5", "rwkv"};
    v.model = kModels[in.byte() % 6];
    constexpr const char* kPre[] = {"gpt-2", "qwen2", "llama3", "gemma4", "", "tekken", "jina-v2-code", "nonsense"};
    v.pre = kPre[how >> 5];
  }
  v.name = in.text();
  for (size_t n = in.byte() % 64; n > 0; --n) {
    v.tokens.push_back(in.text());
    if (in.byte() % 8 != 0 || how & 1) v.kinds.push_back(static_cast<TokenKind>(in.byte() % 7));
    if (how & 8) v.scores.push_back(static_cast<float>(static_cast<int8_t>(in.byte())) / 0.0f);
    if (how & 16) v.scores.push_back(static_cast<float>(static_cast<int8_t>(in.byte())));
  }
  if (how & 1 && !v.scores.empty()) v.scores.resize(v.tokens.size());
  for (size_t n = in.byte() % 32; n > 0; --n) v.merges.push_back(in.text());
  for (auto* id : {&v.bos, &v.eos, &v.eot, &v.eom, &v.unknown, &v.separator, &v.padding, &v.mask, &v.cls, &v.fim_prefix,
                   &v.fim_suffix, &v.fim_middle, &v.fim_pad, &v.fim_repo, &v.fim_separator}) {
    *id = in.id();
  }
  for (auto* flag : {&v.add_bos, &v.add_eos, &v.add_separator, &v.add_space_prefix, &v.remove_extra_whitespaces,
                     &v.lowercase, &v.strip_accents}) {
    *flag = in.flag();
  }
  v.space_is_suffix = in.byte() % 2 != 0;
  if (const uint8_t map = in.byte(); map % 4 != 0) v.precompiled_charsmap = in.map(map);
  const std::string text = in.rest() + " a ab  aab\n\n<s>\xFF\u00E9";
  try {
    const auto tokenizer = Tokenizer::create(std::move(v));
    for (const bool special : {false, true}) {
      const std::vector<TokenId> ids = tokenizer->encode(text, {.add_special = special, .parse_special = special});
      for (TokenId id : ids) {
        if (id < 0 || id >= tokenizer->size()) std::abort();
        tokenizer->piece(id, special);
      }
      tokenizer->decode(ids, special);
    }
    for (TokenId id : tokenizer->end_of_generation()) tokenizer->text(id);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kInternal) std::abort();
  }
  return 0;
}
