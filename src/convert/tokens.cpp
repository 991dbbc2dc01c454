#include "convert/tokens.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "text/json_document.h"
#include "text/special_ids.h"

namespace ingle {
namespace {

void add_role(Draft& draft, const char* key, std::optional<TokenId> id) {
  if (id) draft.set(fmt::format("tokenizer.ggml.{}_token_id", key), gguf_value<uint32_t>(static_cast<uint32_t>(*id)));
}

// Of generation_config.json, or else of config.json; those that there are.
std::vector<TokenId> ends_of_generation(const Draft& draft, const HfFolder& folder, size_t vocab) {
  constexpr const char* kKey = "eos_token_id";
  const std::optional<HfConfig> generation = folder.read_config("generation_config.json");
  std::vector<TokenId> ends;
  for (const double id : (generation && generation->has(kKey) ? *generation : draft.config()).numbers(kKey))
    if (id >= 0 && id < static_cast<double>(vocab)) ends.push_back(static_cast<TokenId>(id));
  return ends;
}

// A file has three places: the end of a text, of a turn and of a message. What is known by its text needs none.
void add_ends(Draft& draft, const HfFolder& folder, Tokens& tokens) {
  const std::vector<TokenId> ends = ends_of_generation(draft, folder, tokens.texts.size());
  if (!tokens.eos && !ends.empty()) tokens.eos = ends.front();
  add_role(draft, "eos", tokens.eos);
  std::vector<TokenId> others;
  for (const TokenId id : ends)
    if (id != tokens.eos && !ends_generation(tokens.texts[static_cast<size_t>(id)])) others.push_back(id);
  constexpr const char* kPlaces[] = {"eot", "eom"};
  for (size_t i = 0; i < others.size(); ++i) {
    if (i < std::size(kPlaces)) {
      add_role(draft, kPlaces[i], others[i]);
    } else {
      draft.notes.push_back(fmt::format("generation ends at token {} as well (\"{}\"), which a file has no place for",
                                        others[i], tokens.texts[static_cast<size_t>(others[i])]));
    }
  }
}

}  // namespace

bool tokenizer_flag(const HfFolder& folder, std::string_view key, bool absent) {
  const std::optional<HfConfig> c = folder.read_config("tokenizer_config.json");
  return c ? c->flag(key, absent) : absent;
}

std::optional<std::string> token_of_role(const HfFolder& folder, std::string_view key) {
  for (const char* name : {"tokenizer_config.json", "special_tokens_map.json"}) {
    const std::optional<std::string> text = folder.read(name);
    if (!text) continue;
    const JsonDocument json(*text, name);
    const JsonValue token = json.root().find(key);
    if (!token || token.is_null()) continue;
    return std::string(token.is_object() ? token.at("content").string() : token.string());
  }
  return std::nullopt;
}

void add_tokens(Draft& draft, const HfFolder& folder, Tokens tokens, int64_t rows) {
  const auto known = static_cast<int64_t>(tokens.texts.size());
  if (known > rows)
    throw_error(ErrorCode::kInvalidFile, "{}: {} tokens, the embedding has {} rows", folder.path().native(), known,
                rows);
  // Embeddings are often longer than the vocabulary.
  tokens.texts.resize(static_cast<size_t>(rows));
  tokens.kinds.resize(tokens.texts.size(), kUnusedToken);
  for (size_t i = 0; i < tokens.texts.size(); ++i)
    if (tokens.texts[i].empty()) tokens.texts[i] = fmt::format("[PAD{}]", i);
  draft.set("tokenizer.ggml.tokens", gguf_array<std::string>(tokens.texts));
  draft.set("tokenizer.ggml.token_type", gguf_array<int32_t>(tokens.kinds));
  add_role(draft, "bos", tokens.bos);
  add_ends(draft, folder, tokens);
  add_role(draft, "padding", tokens.padding);
  add_role(draft, "unknown", tokens.unknown);
  draft.set("tokenizer.ggml.add_bos_token", gguf_value<bool>(tokens.adds_bos));
  draft.set("tokenizer.ggml.add_eos_token", gguf_value<bool>(tokens.adds_eos));
}

}  // namespace ingle
