// The "model" of a tokenizer.json: vocabulary, merges and flags. The type may be missing in old files and is then told
// by the fields.
#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "text/hf_description.h"
#include "text/utf8.h"

namespace ingle {
namespace {

// Ids are stored as an array; a gap of this size is no vocabulary.
constexpr int64_t kMostTokens = int64_t{1} << 24;
constexpr size_t kLongestAffix = 256;

std::string optional_string(JsonValue object, std::string_view key) {
  const JsonValue value = object.find(key);
  return !value || value.is_null() ? std::string() : std::string(value.string());
}

bool optional_flag(JsonValue object, std::string_view key, bool otherwise) {
  const JsonValue value = object.find(key);
  return !value || value.is_null() ? otherwise : value.boolean();
}

std::string affix(JsonValue object, std::string_view key) {
  std::string text = optional_string(object, key);
  if (text.size() > kLongestAffix) object.at(key).fail(fmt::format("{} bytes, at most {}", text.size(), kLongestAffix));
  return text;
}

// {"text": id, ...}
void read_vocabulary(JsonValue vocabulary, HfModel& model, TextMap& by_text) {
  model.entries = vocabulary.size();
  model.tokens.resize(model.entries);
  std::vector<bool> taken(model.entries);
  for (JsonValue entry : vocabulary.members()) {
    const int64_t id = entry.integer();
    if (id < 0 || id >= kMostTokens) entry.fail(fmt::format("id {}, not from 0 to {}", id, kMostTokens - 1));
    const auto i = static_cast<size_t>(id);
    if (i >= model.tokens.size()) {
      model.tokens.resize(i + 1);
      taken.resize(i + 1);
    }
    if (taken[i]) entry.fail(fmt::format("id {} again, \"{}\" has it", id, model.tokens[i]));
    taken[i] = true;
    model.tokens[i] = entry.key();
    if (!by_text.insert(entry.key(), static_cast<TokenId>(id))) entry.fail("the same text twice");
  }
}

// "A B", or ["A", "B"].
std::pair<std::string_view, std::string_view> merge_parts(JsonValue merge) {
  if (merge.is_string()) {
    const std::string_view line = merge.string();
    const size_t space = line.find(' ');
    if (space == std::string_view::npos || line.find(' ', space + 1) != std::string_view::npos) {
      merge.fail(fmt::format("\"{}\" is not two texts with a space between them", line.substr(0, 100)));
    }
    return {line.substr(0, space), line.substr(space + 1)};
  }
  if (merge.size() != 2) merge.fail(fmt::format("{} texts, not two", merge.size()));
  auto parts = merge.items().begin();
  const std::string_view left = (*parts).string();
  ++parts;
  return {left, (*parts).string()};
}

// A pair that comes twice has its last rank: the earlier ones go.
std::vector<BpeMerge> without_repetitions(const std::vector<BpeMerge>& merges) {
  PairMap<char> seen(merges.size());
  std::vector<BpeMerge> out;
  out.reserve(merges.size());
  for (auto merge = merges.rbegin(); merge != merges.rend(); ++merge) {
    if (seen.insert(merge->left, merge->right, 1)) out.push_back(*merge);
  }
  std::reverse(out.begin(), out.end());
  return out;
}

void read_merges(JsonValue merges, HfModel& model, const TextMap& by_text) {
  const size_t prefix = model.continuing_prefix.size();
  std::string joined;
  model.merges.reserve(merges.size());
  for (JsonValue merge : merges.items()) {
    if (merge.is_string() && merge.string().starts_with("#version")) continue;
    const auto [left, right] = merge_parts(merge);
    if (right.size() < prefix) merge.fail("the second text is shorter than continuing_subword_prefix");
    joined.assign(left).append(right.substr(prefix));
    const BpeMerge ids{by_text.find(left), by_text.find(right), by_text.find(joined)};
    if (ids.left < 0) merge.fail(fmt::format("\"{}\" is not in model.vocab", left.substr(0, 100)));
    if (ids.right < 0) merge.fail(fmt::format("\"{}\" is not in model.vocab", right.substr(0, 100)));
    if (ids.result < 0) merge.fail(fmt::format("\"{}\" is not in model.vocab", joined.substr(0, 100)));
    model.merges.push_back(ids);
  }
  model.merges = without_repetitions(model.merges);
}

void find_unknown(HfModel& model, const TextMap& by_text) {
  if (model.unknown_text.empty()) return;
  if (const TokenId id = by_text.find(model.unknown_text); id >= 0) model.unknown = id;
}

HfModel read_bpe(JsonValue json) {
  json.allow_only({"type", "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk",
                   "byte_fallback", "ignore_merges", "vocab", "merges"});
  if (const JsonValue dropout = json.find("dropout"); dropout && !dropout.is_null() && dropout.number() != 0) {
    dropout.unsupported("leaves merges out at random, which only training wants");
  }
  HfModel model;
  model.type = HfModel::Type::kBpe;
  model.continuing_prefix = affix(json, "continuing_subword_prefix");
  model.end_suffix = affix(json, "end_of_word_suffix");
  model.fuse_unknown = optional_flag(json, "fuse_unk", false);
  model.byte_fallback = optional_flag(json, "byte_fallback", false);
  model.ignore_merges = optional_flag(json, "ignore_merges", false);
  model.unknown_text = optional_string(json, "unk_token");
  TextMap by_text(json.at("vocab").size());
  read_vocabulary(json.at("vocab"), model, by_text);
  read_merges(json.at("merges"), model, by_text);
  find_unknown(model, by_text);
  return model;
}

HfModel read_word_piece(JsonValue json) {
  json.allow_only({"type", "unk_token", "continuing_subword_prefix", "max_input_chars_per_word", "vocab"});
  HfModel model;
  model.type = HfModel::Type::kWordPiece;
  model.unknown_text = json.at("unk_token").string();
  model.continuing_prefix = json.at("continuing_subword_prefix").string();
  const JsonValue most = json.at("max_input_chars_per_word");
  if (most.integer() < 0) most.fail(fmt::format("{} is negative", most.integer()));
  model.most_characters = static_cast<size_t>(most.integer());
  TextMap by_text(json.at("vocab").size());
  read_vocabulary(json.at("vocab"), model, by_text);
  find_unknown(model, by_text);
  return model;
}

HfModel read_word_level(JsonValue json) {
  json.allow_only({"type", "unk_token", "vocab"});
  HfModel model;
  model.type = HfModel::Type::kWordLevel;
  model.unknown_text = json.at("unk_token").string();
  TextMap by_text(json.at("vocab").size());
  read_vocabulary(json.at("vocab"), model, by_text);
  find_unknown(model, by_text);
  return model;
}

// [["text", score], ...], ids in order.
HfModel read_unigram(JsonValue json) {
  json.allow_only({"type", "unk_id", "vocab", "byte_fallback"});
  HfModel model;
  model.type = HfModel::Type::kUnigram;
  model.byte_fallback = optional_flag(json, "byte_fallback", false);
  const JsonValue vocabulary = json.at("vocab");
  if (vocabulary.size() >= static_cast<size_t>(kMostTokens)) vocabulary.fail("too many entries");
  model.entries = vocabulary.size();
  for (JsonValue entry : vocabulary.items()) {
    if (entry.size() != 2) entry.fail(fmt::format("{} values, not a text and its score", entry.size()));
    auto parts = entry.items().begin();
    model.tokens.emplace_back((*parts).string());
    ++parts;
    model.scores.push_back((*parts).number());
  }
  if (const JsonValue unknown = json.find("unk_id"); unknown && !unknown.is_null()) {
    const int64_t id = unknown.integer();
    if (id < 0 || static_cast<size_t>(id) >= model.entries) {
      unknown.fail(fmt::format("{}: the vocabulary has {} entries", id, model.entries));
    }
    model.unknown = static_cast<TokenId>(id);
    model.unknown_text = model.tokens[static_cast<size_t>(id)];
  }
  return model;
}

}  // namespace

HfModel read_hf_model(JsonValue json) {
  std::string type = optional_string(json, "type");
  if (type.empty()) {
    const JsonValue vocabulary = json.at("vocab");
    type = json.find("merges")                      ? "BPE"
           : vocabulary.is_array()                  ? "Unigram"
           : json.find("continuing_subword_prefix") ? "WordPiece"
                                                    : "WordLevel";
  }
  if (type == "BPE") return read_bpe(json);
  if (type == "Unigram") return read_unigram(json);
  if (type == "WordPiece") return read_word_piece(json);
  if (type == "WordLevel") return read_word_level(json);
  json.unsupported(fmt::format("type \"{}\" is not known here (BPE, Unigram, WordPiece, WordLevel are)", type));
}

}  // namespace ingle
