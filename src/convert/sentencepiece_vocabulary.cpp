#include "convert/sentencepiece_vocabulary.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <unordered_map>

#include "base/error.h"
#include "convert/sentencepiece.h"
#include "convert/tokens.h"
#include "text/json_document.h"

namespace ingle {
namespace {

constexpr const char* kFile = "tokenizer.model";
constexpr float kNever = -1000;  // the score of what is not made of pairs

struct Table {
  Tokens tokens;
  std::vector<float> scores;
};

void put(Table& table, int64_t id, std::string_view text, int32_t kind, int64_t rows, JsonValue place) {
  if (id < 0 || id >= rows) place.fail(fmt::format("id {}, the embedding has {} rows", id, rows));
  const auto at = static_cast<size_t>(id);
  if (at >= table.scores.size()) {
    table.tokens.texts.resize(at + 1);
    table.tokens.kinds.resize(at + 1, kUnusedToken);
    table.scores.resize(at + 1, kNever);
  }
  table.tokens.texts[at] = text;
  if (table.tokens.kinds[at] != kUnknownToken) table.tokens.kinds[at] = kind;
}

// {"<pad>": 32000, ...}, and {"32000": {"content": "<pad>", "special": true, ...}, ...}
void add_added(Table& table, const HfFolder& folder, int64_t rows) {
  if (const auto text = folder.read("added_tokens.json")) {
    const JsonDocument json(*text, "added_tokens.json");
    for (const JsonValue token : json.root().members())
      put(table, token.integer(), token.key(), kUserDefinedToken, rows, token);
  }
  if (const auto text = folder.read("tokenizer_config.json")) {
    const JsonDocument json(*text, "tokenizer_config.json");
    const JsonValue added = json.root().find("added_tokens_decoder");
    if (!added || added.is_null()) return;
    for (const JsonValue token : added.members()) {
      const std::string_view key = token.key();
      int64_t id = -1;
      const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), id);
      if (error != std::errc() || end != key.data() + key.size()) token.fail("not the number of a token");
      const JsonValue special = token.find("special");
      const bool control = special && special.boolean();
      put(table, id, token.at("content").string(), control ? kControlToken : kUserDefinedToken, rows, token);
    }
  }
}

void add_roles(Tokens& tokens, const SentencePieceModel& model, const HfFolder& folder) {
  std::unordered_map<std::string_view, TokenId> ids;
  for (size_t i = tokens.texts.size(); i-- > 0;) ids[tokens.texts[i]] = static_cast<TokenId>(i);
  const auto role = [&](const char* key, int32_t trained) -> std::optional<TokenId> {
    const std::optional<std::string> text = token_of_role(folder, key);
    if (const auto found = text ? ids.find(*text) : ids.end(); found != ids.end()) {
      tokens.kinds[static_cast<size_t>(found->second)] = kControlToken;
      return found->second;
    }
    return trained < 0 ? std::nullopt : std::optional<TokenId>(trained);
  };
  tokens.bos = role("bos_token", model.bos);
  tokens.eos = role("eos_token", model.eos);
  tokens.padding = role("pad_token", model.padding);
  if (model.unknown >= 0) tokens.unknown = model.unknown;
  tokens.adds_bos = tokens.bos && tokenizer_flag(folder, "add_bos_token", true);
  tokens.adds_eos = tokens.eos && tokenizer_flag(folder, "add_eos_token", false);
}

void check_form(const SentencePieceModel& model) {
  using Type = SentencePieceModel::Type;
  const auto refuse = [](std::string_view what) {
    throw_error(ErrorCode::kUnsupported, "{}: {}, for which GGUF has no form", kFile, what);
  };
  if (model.type != Type::kUnigram && model.type != Type::kBpe) refuse("words or characters instead of pieces");
  if (model.space_is_suffix) refuse("spaces stand at the end of pieces");
  if (!model.escapes_spaces) refuse("spaces are not marked");
  if (model.type == Type::kBpe && !model.charsmap.empty())
    refuse("pairs are joined in a text that is normalised first");
  if (model.type == Type::kBpe && model.removes_extra_spaces) refuse("pairs are joined after extra spaces are removed");
}

}  // namespace

void add_sentencepiece_vocabulary(Draft& draft, const HfFolder& folder, std::string_view bytes, int64_t rows) {
  const SentencePieceModel model = read_sentencepiece(bytes, kFile);
  check_form(model);
  Table table;
  for (const SentencePieceModel::Piece& piece : model.pieces) {
    table.tokens.texts.push_back(piece.text);
    table.tokens.kinds.push_back(piece.kind);
    table.scores.push_back(piece.score);
  }
  add_added(table, folder, rows);
  add_roles(table.tokens, model, folder);
  table.scores.resize(static_cast<size_t>(std::max<int64_t>(rows, std::ssize(table.scores))), kNever);

  const bool pairs = model.type == SentencePieceModel::Type::kBpe;
  draft.set("tokenizer.ggml.model", gguf_value<std::string>(pairs ? "llama" : "t5"));
  draft.set("tokenizer.ggml.scores", gguf_array<float>(table.scores));
  draft.set("tokenizer.ggml.add_space_prefix", gguf_value<bool>(model.adds_space));
  if (!pairs) {
    draft.set("tokenizer.ggml.remove_extra_whitespaces", gguf_value<bool>(model.removes_extra_spaces));
    if (!model.charsmap.empty())
      draft.set("tokenizer.ggml.precompiled_charsmap",
                gguf_array<uint8_t>({model.charsmap.begin(), model.charsmap.end()}));
  }
  add_tokens(draft, folder, std::move(table.tokens), rows);
}

}  // namespace ingle
