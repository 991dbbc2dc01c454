// The lists of texts are facts about published models. Detection by text is a crutch (a model may use such a text for
// something else), so a key in the file always goes first.
#include "text/special_ids.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

namespace ingle {
namespace {

constexpr std::string_view kEndOfTurn[] = {
    "<|eot_id|>", "<|im_end|>", "<|end|>", "<end_of_turn>",         "<|endoftext|>",     "<|end_of_text|>",
    "<EOT>",      "_<EOT>",     "[EOT]",   "<｜end▁of▁sentence｜>", "<end_of_utterance>"};
constexpr std::string_view kEndOfMessage[] = {"<|eom_id|>"};
constexpr std::string_view kFimPrefix[] = {"<|fim_prefix|>", "<fim-prefix>", "<fim_prefix>",    "<｜fim▁begin｜>",
                                           "<PRE>",          "▁<PRE>",       "<|code_prefix|>", "<|prefix|>"};
constexpr std::string_view kFimSuffix[] = {"<|fim_suffix|>", "<fim-suffix>", "<fim_suffix>",    "<｜fim▁hole｜>",
                                           "<SUF>",          "▁<SUF>",       "<|code_suffix|>", "<|suffix|>"};
constexpr std::string_view kFimMiddle[] = {"<|fim_middle|>", "<fim-middle>", "<fim_middle>",    "<｜fim▁end｜>",
                                           "<MID>",          "▁<MID>",       "<|code_middle|>", "<|middle|>"};
constexpr std::string_view kFimPad[] = {"<|fim_pad|>", "<fim-pad>", "<fim_pad>", "<PAD>", "[PAD]"};
constexpr std::string_view kFimRepo[] = {"<|fim_repo|>", "<|repo_name|>", "<fim-repo>", "<REPO>", "<reponame>"};
constexpr std::string_view kFimSeparator[] = {"<|file_sep|>"};
constexpr std::string_view kEndOfGeneration[] = {"<|eot_id|>",
                                                 "<|im_end|>",
                                                 "<|end|>",
                                                 "<|return|>",
                                                 "<|call|>",
                                                 "<|flush|>",
                                                 "<|calls|>",
                                                 "<end_of_turn>",
                                                 "<|endoftext|>",
                                                 "</s>",
                                                 "<|eom_id|>",
                                                 "<EOT>",
                                                 "_<EOT>",
                                                 "[EOT]",
                                                 "[EOS]",
                                                 "<|end_of_text|>",
                                                 "<end_of_utterance>",
                                                 "<eos>",
                                                 "<turn|>",
                                                 "<|tool_response>",
                                                 "<｜end▁of▁sentence｜>",
                                                 "[e~["};
// gpt-oss writes its channels with these; whoever reads the output must see them.
constexpr std::string_view kHarmonyMarkers[] = {"<|channel|>", "<|message|>", "<|start|>", "<|constrain|>"};

class Finder {
 public:
  Finder(Vocabulary& vocabulary, const std::function<std::optional<TokenId>(std::string_view)>& find,
         std::vector<std::string>& warnings)
      : vocabulary_(vocabulary), find_(find), warnings_(warnings) {}

  // The file's word; a number that is no token counts as absent.
  std::optional<TokenId> given(std::string_view key, std::optional<int64_t> id) {
    if (!id || valid(*id)) return id ? std::optional(static_cast<TokenId>(*id)) : std::nullopt;
    warnings_.push_back(fmt::format("tokenizer.ggml.{}_token_id: {} ignored, the vocabulary has {} tokens", key, *id,
                                    vocabulary_.tokens.size()));
    return std::nullopt;
  }
  std::optional<TokenId> given(std::string_view key, std::optional<int64_t> id, std::optional<TokenId> otherwise) {
    if (id) return given(key, id);
    return otherwise && valid(*otherwise) ? otherwise : std::nullopt;
  }
  std::optional<TokenId> detected(std::string_view key, std::optional<int64_t> id,
                                  std::span<const std::string_view> texts) {
    if (id) return given(key, id);
    for (std::string_view text : texts) {
      if (const auto found = find_(text)) {
        kind(*found) = TokenKind::kControl;
        return found;
      }
    }
    return std::nullopt;
  }
  std::optional<TokenId> find(std::string_view text) const { return find_(text); }
  TokenKind& kind(TokenId id) { return vocabulary_.kinds[static_cast<size_t>(id)]; }

 private:
  bool valid(int64_t id) const { return id >= 0 && static_cast<uint64_t>(id) < vocabulary_.tokens.size(); }

  Vocabulary& vocabulary_;
  const std::function<std::optional<TokenId>(std::string_view)>& find_;
  std::vector<std::string>& warnings_;
};

}  // namespace

SpecialIds find_special_ids(Vocabulary& v, const DefaultIds& defaults,
                            const std::function<std::optional<TokenId>(std::string_view)>& find,
                            std::vector<std::string>& warnings) {
  Finder finder(v, find, warnings);
  SpecialIds ids;
  ids.bos = v.cls && !v.bos ? finder.given("cls", v.cls) : finder.given("bos", v.bos, defaults.bos);
  ids.eos = finder.given("eos", v.eos, defaults.eos);
  ids.unknown = finder.given("unknown", v.unknown, defaults.unknown);
  ids.padding = finder.given("padding", v.padding, defaults.padding);
  ids.separator = finder.given("seperator", v.separator, defaults.separator);  // the key is spelt so
  ids.eot = finder.detected("eot", v.eot, kEndOfTurn);
  ids.eom = finder.detected("eom", v.eom, kEndOfMessage);
  finder.detected("fim_pre", v.fim_prefix, kFimPrefix);
  finder.detected("fim_suf", v.fim_suffix, kFimSuffix);
  finder.detected("fim_mid", v.fim_middle, kFimMiddle);

  std::vector<TokenId>& ends = ids.end_of_generation;
  const auto add = [&](std::optional<TokenId> id) {
    if (id) ends.push_back(*id);
  };
  add(finder.detected("fim_pad", v.fim_pad, kFimPad));
  add(finder.detected("fim_rep", v.fim_repo, kFimRepo));
  add(finder.detected("fim_sep", v.fim_separator, kFimSeparator));
  for (std::string_view text : kEndOfGeneration) add(finder.find(text));
  add(ids.eos);
  add(ids.eot);
  add(ids.eom);

  const auto have = [&](std::string_view a, std::string_view b) { return finder.find(a) && finder.find(b); };
  const bool harmony = have("<|return|>", "<|call|>");
  if (harmony || have("<|calls|>", "<|flush|>")) {
    // There <|end|> closes one message of several in an answer.
    if (const auto end = finder.find("<|end|>")) {
      std::erase(ends, *end);
      finder.kind(*end) = TokenKind::kUserDefined;
      if (ids.eot == end && !v.eot) ids.eot.reset();
    }
  }
  if (harmony) {
    for (std::string_view text : kHarmonyMarkers) {
      if (const auto id = finder.find(text)) finder.kind(*id) = TokenKind::kUserDefined;
    }
  }
  if (finder.find("<|tool_response>")) {
    if (const auto end = finder.find("</s>")) std::erase(ends, *end);  // an HTML tag in Gemma 4's vocabulary
  }
  std::sort(ends.begin(), ends.end());
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  return ids;
}

bool ends_generation(std::string_view text) noexcept { return std::ranges::count(kEndOfGeneration, text) > 0; }

}  // namespace ingle
