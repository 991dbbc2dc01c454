// Reading all of a tokenizer.json but normaliser and decoder, and the few things of tokenizer_config.json that matter.
#include "text/hf_description.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace ingle {
namespace {

// Added tokens become an automaton of some 80 bytes a byte.
constexpr size_t kMostAddedBytes = size_t{8} << 20;
constexpr size_t kMostAround = 1024;  // ids around a text

HfAddedToken read_added_token(JsonValue json) {
  json.allow_only({"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"});
  HfAddedToken token;
  token.text = json.at("content").string();
  token.special = json.at("special").boolean();
  token.normalized = json.at("normalized").boolean();
  token.single_word = json.at("single_word").boolean();
  token.strip_left = json.at("lstrip").boolean();
  token.strip_right = json.at("rstrip").boolean();
  return token;
}

// A text the model has keeps the model's id; others are numbered on from the model's, whatever the file says. So a file
// that says otherwise means something nobody can do.
void read_added(JsonValue list, HfDescription& d, const TextMap& model_ids) {
  TextMap by_text(list.size());
  int64_t last = -1;
  size_t bytes = 0;
  d.added.reserve(list.size());  // views into the texts must stay
  for (JsonValue json : list.items()) {
    HfAddedToken token = read_added_token(json);
    const int64_t said = json.at("id").integer();
    if (token.text.empty()) continue;
    bytes += token.text.size();
    if (bytes > kMostAddedBytes) list.fail(fmt::format("more than {} bytes of text", kMostAddedBytes));
    int64_t id = by_text.find(token.text);
    const bool again = id >= 0;
    if (!again) id = model_ids.find(token.text);
    if (id < 0) {
      id = static_cast<int64_t>(d.model.entries);
      if (last >= id) id = last + 1;
    }
    if (said != id) json.fail(fmt::format("\"{}\" has id {}, but is number {}", token.text.substr(0, 100), said, id));
    if (again) continue;
    token.id = static_cast<TokenId>(id);
    last = std::max(last, id);
    if (static_cast<size_t>(id) >= d.tokens.size()) d.tokens.resize(static_cast<size_t>(id) + 1);
    std::string& text = d.tokens[static_cast<size_t>(id)];
    if (!text.empty() && text != token.text) {
      json.fail(fmt::format("\"{}\" has id {}, as \"{}\" has", token.text.substr(0, 100), id, text));
    }
    text = token.text;
    d.added.push_back(std::move(token));
    by_text.insert(d.added.back().text, static_cast<TokenId>(id));
  }
}

TokenId id_in_range(JsonValue json, const HfDescription& d) {
  const int64_t id = json.integer();
  if (id < 0 || static_cast<size_t>(id) >= d.tokens.size()) {
    json.fail(fmt::format("{}: there are {} tokens", id, d.tokens.size()));
  }
  return static_cast<TokenId>(id);
}

void put_around(std::vector<TokenId> before, std::vector<TokenId> after, JsonValue json, HfDescription& d) {
  // The library does something else with the second of two, or fails.
  if (!d.before.empty() || !d.after.empty()) json.unsupported("adds tokens, and one before it did");
  d.before = std::move(before);
  d.after = std::move(after);
}

// "single": [{"SpecialToken": {"id": "<s>", ...}}, {"Sequence": {"id": "A", ...}}, ...]
void read_template(JsonValue json, HfDescription& d) {
  json.allow_only({"type", "single", "pair", "special_tokens"});
  const JsonValue special = json.at("special_tokens");
  std::vector<TokenId> before, after;
  bool text_seen = false;
  for (JsonValue piece : json.at("single").items()) {
    piece.allow_only({"SpecialToken", "Sequence"});
    if (const JsonValue token = piece.find("SpecialToken")) {
      token.allow_only({"id", "type_id"});
      const JsonValue entry = special.find(token.at("id").string());
      if (!entry) token.fail(fmt::format("\"{}\" is not in special_tokens", token.at("id").string()));
      entry.allow_only({"id", "ids", "tokens"});
      for (JsonValue id : entry.at("ids").items()) {
        std::vector<TokenId>& side = text_seen ? after : before;
        side.push_back(id_in_range(id, d));
        if (side.size() > kMostAround) json.fail(fmt::format("more than {} tokens", kMostAround));
      }
    } else {
      const JsonValue sequence = piece.at("Sequence");
      sequence.allow_only({"id", "type_id"});
      if (sequence.at("id").string() != "A") sequence.fail("the one text is A");
      if (text_seen) sequence.unsupported("the text twice");
      text_seen = true;
    }
  }
  if (!text_seen) json.at("single").unsupported("without the text");
  put_around(std::move(before), std::move(after), json, d);
}

TokenId id_of_pair(JsonValue json, const HfDescription& d) {  // ["[SEP]", 102]
  if (json.size() != 2) json.fail("not a text and an id");
  auto parts = json.items().begin();
  (*parts).string();
  ++parts;
  return id_in_range(*parts, d);
}

void read_post_processor(JsonValue json, HfDescription& d) {
  if (!json || json.is_null()) return;
  const std::string_view type = json.at("type").string();
  if (type == "TemplateProcessing") {
    read_template(json, d);
  } else if (type == "BertProcessing" || type == "RobertaProcessing") {
    json.allow_only({"type", "sep", "cls", "trim_offsets", "add_prefix_space"});
    put_around({id_of_pair(json.at("cls"), d)}, {id_of_pair(json.at("sep"), d)}, json, d);
  } else if (type == "ByteLevel") {
    json.allow_only({"type", "add_prefix_space", "trim_offsets", "use_regex"});  // says only where tokens lie
  } else if (type == "Sequence") {
    json.allow_only({"type", "processors"});
    for (JsonValue processor : json.at("processors").items()) read_post_processor(processor, d);
  } else {
    json.unsupported(fmt::format("type \"{}\" is not known here", type));
  }
}

// "bos_token": "<s>" or {"content": "<s>", ...}
std::optional<TokenId> configured(JsonValue config, std::string_view key, const TextMap& ids) {
  if (!config || !config.is_object()) return std::nullopt;
  JsonValue value = config.find(key);
  if (value && value.is_object()) value = value.find("content");
  if (!value || !value.is_string()) return std::nullopt;
  const TokenId id = ids.find(value.string());
  return id < 0 ? std::nullopt : std::optional(id);
}

// Of equal texts, which a unigram vocabulary may have, the last one counts.
TextMap map_of(const std::vector<std::string>& tokens) {
  TextMap map(tokens.size());
  for (size_t i = tokens.size(); i-- > 0;) {
    if (!tokens[i].empty()) map.insert(tokens[i], static_cast<TokenId>(i));
  }
  return map;
}

}  // namespace

HfDescription describe_tokenizer(JsonValue json, JsonValue config) {
  json.allow_only({"version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer", "post_processor",
                   "decoder", "model"});
  if (const JsonValue version = json.find("version"); version && version.string() != "1.0") {
    version.unsupported(fmt::format("\"{}\", not \"1.0\"", version.string()));
  }
  HfDescription d;
  d.model = read_hf_model(json.at("model"));
  d.tokens = d.model.tokens;
  if (const JsonValue added = json.find("added_tokens"); added && !added.is_null()) {
    read_added(added, d, map_of(d.model.tokens));
  }
  if (d.tokens.empty()) json.at("model").fail("there are no tokens");
  d.pre_steps = read_hf_pre_tokenizer(json.find("pre_tokenizer"));
  read_post_processor(json.find("post_processor"), d);
  if (config) {
    const TextMap ids = map_of(d.tokens);
    d.bos = configured(config, "bos_token", ids);
    d.eos = configured(config, "eos_token", ids);
    d.padding = configured(config, "pad_token", ids);
  }
  return d;
}

}  // namespace ingle
