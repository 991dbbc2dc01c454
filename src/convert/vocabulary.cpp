// Four kinds of tokenizers in tokenizer.json have a form in GGUF: byte-level BPE, BPE over characters with byte tokens
// (which GGUF keeps as SentencePiece does, with scores, but for Gemma 4), unigram, WordPiece.
#include "convert/vocabulary.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "convert/sentencepiece_vocabulary.h"
#include "convert/tokenizer_form.h"
#include "convert/tokens.h"
#include "text/hf_description.h"
#include "text/hf_encoder.h"
#include "text/json_document.h"
#include "text/pre_tokenizers.h"
#include "text/space_mark.h"
#include "text/tokenizer_base.h"

namespace ingle {
namespace {

constexpr const char* kFile = "tokenizer.json";

template <class... Args>
[[noreturn]] void no_form(fmt::format_string<Args...> format, Args&&... args) {
  throw_error(ErrorCode::kUnsupported, "{}: {}", kFile, fmt::format(format, std::forward<Args>(args)...));
}

bool has_type(const std::vector<JsonValue>& steps, std::string_view type) {
  return std::ranges::any_of(steps, [&](JsonValue step) { return step.at("type").string() == type; });
}

std::vector<int32_t> kinds_of(const HfDescription& d) {
  std::vector<int32_t> kinds(d.tokens.size(), kNormalToken);
  for (size_t i = 0; i < kinds.size(); ++i) {
    if (d.tokens[i].empty()) kinds[i] = kUnusedToken;
    if (d.model.byte_fallback && parse_byte_token(d.tokens[i])) kinds[i] = kByteToken;
  }
  for (const HfAddedToken& token : d.added)
    kinds[static_cast<size_t>(token.id)] = token.special ? kControlToken : kUserDefinedToken;
  if (d.model.unknown) kinds[static_cast<size_t>(*d.model.unknown)] = kUnknownToken;
  return kinds;
}

void add_merges(Draft& draft, const HfDescription& d) {
  std::vector<std::string> merges;
  merges.reserve(d.model.merges.size());
  for (const BpeMerge& merge : d.model.merges) {
    const std::string &left = d.tokens[static_cast<size_t>(merge.left)],
                      &right = d.tokens[static_cast<size_t>(merge.right)];
    // A line is cut at its first space but one at its very start.
    if (left.find(' ', 1) != left.npos || right.starts_with(' '))
      no_form("model.merges: \"{}\" and \"{}\": a merge with a space has no form in GGUF", left, right);
    merges.push_back(left + ' ' + right);
  }
  draft.set("tokenizer.ggml.merges", gguf_array<std::string>(merges));
}

// SentencePiece joins the pair with the highest score first: that of a token is the rank of the merge that makes it.
std::vector<float> scores_of_merges(const HfDescription& d) {
  std::vector<float> scores(d.tokens.size(), 0.0f);
  for (size_t rank = d.model.merges.size(); rank-- > 0;)
    scores[static_cast<size_t>(d.model.merges[rank].result)] = -static_cast<float>(rank) - 1;
  return scores;
}

bool prefixes_space(const HfDescription& d, const std::vector<JsonValue>& steps) {
  for (const JsonValue step : steps)
    if (step.at("type").string() == "Prepend" && step.at("prepend").string() == kSpaceMark) return true;
  return std::ranges::any_of(d.pre_steps, [](const HfPreStep& step) {
    return step.kind == HfPreStep::Kind::kMetaspace && step.prepend != HfPreStep::Prepend::kNever;
  });
}

// Words begin with U+2581 in GGUF, and what continues one has no mark.
std::vector<std::string> wordpiece_texts(const HfDescription& d) {
  std::vector<std::string> texts = d.tokens;
  std::vector<bool> added(texts.size());
  for (const HfAddedToken& token : d.added) added[static_cast<size_t>(token.id)] = true;
  for (size_t i = 0; i < texts.size(); ++i) {
    if (added[i] || texts[i].empty()) continue;
    const std::string& prefix = d.model.continuing_prefix;
    texts[i] = !prefix.empty() && texts[i].starts_with(prefix) ? texts[i].substr(prefix.size())
                                                               : std::string(kSpaceMark) + texts[i];
  }
  return texts;
}

// Letters and their marks, as one character or as two.
void note_composing(Draft& draft, std::string_view pre, bool nfc) {
  if (PreTokenizer::create(pre).flags().nfc == nfc) return;
  draft.notes.push_back(
      fmt::format("the folder's tokenizer {} letters and the marks on them before it cuts words, "
                  "\"{}\" in a file {}: a text that has them apart gets other tokens",
                  nfc ? "joins" : "does not join", pre, nfc ? "does not" : "does"));
}

void add_model(Draft& draft, HfDescription& d, JsonValue root) {
  const std::vector<JsonValue> steps = normalizer_steps(root);
  const auto model = [&](std::string_view name) {
    draft.set("tokenizer.ggml.model", gguf_value<std::string>(std::string(name)));
  };
  const auto scores = [&](const std::vector<float>& values) {
    draft.set("tokenizer.ggml.scores", gguf_array<float>(values));
  };
  switch (d.model.type) {
    case HfModel::Type::kBpe: {
      if (const std::string_view pre = gguf_pre_tokenizer(d.pre_steps, has_type(steps, "NFC"), d.model.ignore_merges);
          !pre.empty()) {
        check_byte_level(steps, d.model);
        note_composing(draft, pre, has_type(steps, "NFC"));
        model("gpt2");
        draft.set("tokenizer.ggml.pre", gguf_value<std::string>(std::string(pre)));
        return add_merges(draft, d);
      }
      if (!d.model.byte_fallback)
        no_form("pre_tokenizer: cuts words in a way that has no name in GGUF (tokenizer.ggml.pre)");
      const bool gemma = draft.architecture() == "gemma4";
      check_marked_spaces(steps, d, !gemma);
      if (gemma) {
        model("gemma4");
        return add_merges(draft, d);
      }
      model("llama");
      scores(scores_of_merges(d));
      draft.set("tokenizer.ggml.add_space_prefix", gguf_value<bool>(prefixes_space(d, steps)));
      return;
    }
    case HfModel::Type::kUnigram: {
      check_unigram(steps, d);
      model("t5");
      scores({d.model.scores.begin(), d.model.scores.end()});
      for (const JsonValue step : steps) {
        if (step.at("type").string() != "Precompiled") continue;
        const std::string map = step.at("precompiled_charsmap").base64();
        draft.set("tokenizer.ggml.precompiled_charsmap", gguf_array<uint8_t>({map.begin(), map.end()}));
      }
      draft.set("tokenizer.ggml.add_space_prefix", gguf_value<bool>(prefixes_space(d, steps)));
      draft.set("tokenizer.ggml.remove_extra_whitespaces",
                gguf_value<bool>(has_type(steps, "Replace") || has_type(steps, "Strip")));
      return;
    }
    case HfModel::Type::kWordPiece: {
      check_word_piece(steps, d);
      model("bert");
      d.tokens = wordpiece_texts(d);
      const bool lowercase = steps.front().at("lowercase").boolean();
      const JsonValue strip = steps.front().find("strip_accents");
      draft.set("tokenizer.ggml.normalizer.lowercase", gguf_value<bool>(lowercase));
      draft.set("tokenizer.ggml.normalizer.strip_accents",
                gguf_value<bool>(strip && !strip.is_null() ? strip.boolean() : lowercase));
      return;
    }
    case HfModel::Type::kWordLevel:
      no_form("model.type: WordLevel has no form in GGUF");
  }
}

// Whether two tokens stand between the texts of a pair: the end of the first, and one more.
bool parts_pairs_twice(JsonValue root) {
  const JsonValue processor = root.find("post_processor");
  if (!processor || processor.is_null()) return false;
  if (processor.at("type").string() == "RobertaProcessing") return true;
  if (processor.at("type").string() != "TemplateProcessing") return false;
  const JsonValue pair = processor.find("pair");
  if (!pair || pair.is_null()) return false;
  int texts = 0, between = 0;
  for (const JsonValue piece : pair.items()) {
    if (piece.find("Sequence")) {
      ++texts;
    } else if (texts == 1) {
      ++between;
    }
  }
  return between == 2;
}

// Around a text a file has a place for one token each.
void note_around(Draft& draft, const std::vector<std::string>& texts, const HfDescription& d) {
  const auto note = [&](size_t count, std::string_view where, TokenId kept) {
    if (count > 1)
      draft.notes.push_back(fmt::format("the folder's tokenizer puts {} tokens {} a text, a file only \"{}\"", count,
                                        where, texts[static_cast<size_t>(kept)]));
  };
  if (!d.before.empty()) note(d.before.size(), "before", d.before.front());
  if (!d.after.empty()) note(d.after.size(), "behind", d.after.back());
}

// How an added token is looked for is known to readers by the file's name and kind, or not at all.
void note_added(Draft& draft, const std::vector<HfAddedToken>& added) {
  const auto text_of = [&](std::string_view key) {
    const auto found = std::ranges::find(draft.metadata, key, &std::pair<std::string, GgufValue>::first);
    return found == draft.metadata.end() ? std::string() : std::get<std::string>(found->second.value);
  };
  Vocabulary file;
  file.model = text_of("tokenizer.ggml.model");
  file.name = text_of("general.name");
  file.architecture = draft.architecture();
  const auto note = [&](std::string_view what, auto&& is_lost) {
    const auto first = std::ranges::find_if(added, is_lost);
    if (first != added.end())
      draft.notes.push_back(fmt::format("{} added tokens {}, which a file cannot say (\"{}\")",
                                        std::ranges::count_if(added, is_lost), what, first->text));
  };
  const auto reads = [&](const HfAddedToken& token) { return strip_flags(token.text, file, false); };
  note("take the white space beside them along", [&](const HfAddedToken& token) {
    return (token.strip_left && !reads(token).left) || (token.strip_right && !reads(token).right);
  });
  note("leave the white space beside them", [&](const HfAddedToken& token) {
    return (!token.strip_left && reads(token).left) || (!token.strip_right && reads(token).right);
  });
  note("count as whole words only", [](const HfAddedToken& token) { return token.single_word; });
}

void add_tokenizer_json(Draft& draft, const HfFolder& folder, std::string_view text, int64_t rows) {
  const std::string config_text = folder.read("tokenizer_config.json").value_or("{}");
  const JsonDocument json(text, kFile), config(config_text, "tokenizer_config.json");
  HfDescription d = describe_tokenizer(json.root(), config.root());
  std::vector<int32_t> kinds = kinds_of(d);
  const size_t known = d.tokens.size(), wanted = std::max(known, static_cast<size_t>(rows));
  d.tokens.resize(wanted);
  d.model.scores.resize(wanted, 0);
  add_model(draft, d, json.root());
  d.tokens.resize(known);

  Tokens tokens{.texts = std::move(d.tokens),
                .kinds = std::move(kinds),
                .bos = d.bos,
                .eos = d.eos,
                .padding = d.padding,
                .unknown = d.model.unknown};
  const auto or_mapped = [&](std::optional<TokenId>& id, const char* key) {
    if (const auto named = id ? std::nullopt : token_of_role(folder, key)) {
      const auto found = std::ranges::find(tokens.texts, *named);
      if (found != tokens.texts.end()) id = static_cast<TokenId>(found - tokens.texts.begin());
    }
  };
  or_mapped(tokens.bos, "bos_token");
  or_mapped(tokens.eos, "eos_token");
  or_mapped(tokens.padding, "pad_token");
  // What encoding puts before a text begins it, and what it puts behind ends it, whatever a configuration calls so.
  if (!d.before.empty()) tokens.bos = d.before.front();
  if (!d.after.empty()) tokens.eos = d.after.back();
  tokens.adds_bos = !d.before.empty() || tokenizer_flag(folder, "add_bos_token", false);
  tokens.adds_eos = !d.after.empty() || tokenizer_flag(folder, "add_eos_token", false);
  note_around(draft, tokens.texts, d);
  note_added(draft, d.added);
  const bool word_piece = d.model.type == HfModel::Type::kWordPiece;
  const std::optional<TokenId> cls = tokens.bos, separator = tokens.eos;
  add_tokens(draft, folder, std::move(tokens), rows);
  const bool twice = parts_pairs_twice(json.root());
  const auto role = [&](const char* key, std::optional<TokenId> id) {
    if (id) draft.set(key, gguf_value<uint32_t>(static_cast<uint32_t>(*id)));
  };
  if (word_piece) role("tokenizer.ggml.cls_token_id", cls);
  if (word_piece || twice) role("tokenizer.ggml.seperator_token_id", separator);  // the key is spelt so
  if (twice) draft.set("tokenizer.ggml.add_sep_token", gguf_value<bool>(true));
}

}  // namespace

void add_vocabulary(Draft& draft, const HfFolder& folder, int64_t rows) {
  if (const auto text = folder.read(kFile)) return add_tokenizer_json(draft, folder, *text, rows);
  if (const auto model = folder.read("tokenizer.model"))
    return add_sentencepiece_vocabulary(draft, folder, *model, rows);
  throw_error(ErrorCode::kNotFound, "{}: no {} and no tokenizer.model", folder.path().native(), kFile);
}

}  // namespace ingle
