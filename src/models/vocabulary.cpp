// One line a key. Old files name three of the fill-in-the-middle keys differently.
#include "models/vocabulary.h"

#include <algorithm>

#include "base/error.h"

namespace ingle {
namespace {

TokenKind kind_of(int64_t number) {
  switch (number) {
    case 1:
      return TokenKind::kNormal;
    case 2:
      return TokenKind::kUnknown;
    case 3:
      return TokenKind::kControl;
    case 4:
      return TokenKind::kUserDefined;
    case 5:
      return TokenKind::kUnused;
    case 6:
      return TokenKind::kByte;
    default:
      return TokenKind::kUndefined;
  }
}

}  // namespace

Vocabulary load_vocabulary(const GgufFile& file, std::string_view pre_tokenizer) {
  Vocabulary v;
  v.model = file.get_string("tokenizer.ggml.model");
  v.pre = file.find_string("tokenizer.ggml.pre").value_or("");
  if (!pre_tokenizer.empty()) {
    if (v.model != "gpt2") {
      throw_error(ErrorCode::kInvalidArgument,
                  "pre-tokeniser \"{}\": tokenizer.ggml.model is \"{}\"; only \"gpt2\" has one to choose",
                  pre_tokenizer, v.model);
    }
    v.pre = pre_tokenizer;
  }
  v.name = file.find_string("general.name").value_or("");
  v.architecture = file.find_string("general.architecture").value_or("");
  if (const auto tokens = file.find_strings("tokenizer.ggml.tokens")) v.tokens.assign(tokens->begin(), tokens->end());
  if (const auto merges = file.find_strings("tokenizer.ggml.merges")) v.merges.assign(merges->begin(), merges->end());
  if (const auto scores = file.find_floats("tokenizer.ggml.scores")) v.scores.assign(scores->begin(), scores->end());
  if (const auto kinds = file.find_ints("tokenizer.ggml.token_type")) {
    v.kinds.resize(kinds->size());
    std::transform(kinds->begin(), kinds->end(), v.kinds.begin(), kind_of);
  }

  const auto id = [&](const char* name) { return file.find_int(std::string("tokenizer.ggml.") + name + "_token_id"); };
  const auto id_or = [&](const char* name, const char* old) { return id(name) ? id(name) : id(old); };
  v.bos = id("bos");
  v.eos = id("eos");
  v.eot = id("eot");
  v.eom = id("eom");
  v.unknown = id("unknown");
  v.separator = id("seperator");  // the key is spelt so
  v.padding = id("padding");
  v.mask = id("mask");
  v.cls = id("cls");
  v.fim_prefix = id_or("fim_pre", "prefix");
  v.fim_suffix = id_or("fim_suf", "suffix");
  v.fim_middle = id_or("fim_mid", "middle");
  v.fim_pad = id("fim_pad");
  v.fim_repo = id("fim_rep");
  v.fim_separator = id("fim_sep");
  v.add_bos = file.find_bool("tokenizer.ggml.add_bos_token");
  v.add_eos = file.find_bool("tokenizer.ggml.add_eos_token");
  v.add_separator = file.find_bool("tokenizer.ggml.add_sep_token");
  v.add_space_prefix = file.find_bool("tokenizer.ggml.add_space_prefix");
  v.remove_extra_whitespaces = file.find_bool("tokenizer.ggml.remove_extra_whitespaces");
  v.lowercase = file.find_bool("tokenizer.ggml.normalizer.lowercase");
  v.strip_accents = file.find_bool("tokenizer.ggml.normalizer.strip_accents");
  if (const auto map = file.find_ints("tokenizer.ggml.precompiled_charsmap")) {
    for (int64_t byte : *map) v.precompiled_charsmap += static_cast<char>(byte);
  }
  return v;
}

}  // namespace ingle
