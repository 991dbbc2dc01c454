#include "convert/tokenizer_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "base/error.h"
#include "text/byte_alphabet.h"
#include "text/hf_pattern.h"
#include "text/space_mark.h"
#include "text/utf8.h"

namespace ingle {
namespace {

using Kind = HfPreStep::Kind;

template <class... Args>
[[noreturn]] void no_form(fmt::format_string<Args...> format, Args&&... args) {
  throw_error(ErrorCode::kUnsupported, "tokenizer.json: {}", fmt::format(format, std::forward<Args>(args)...));
}

[[noreturn]] void no_form(JsonValue step) {
  step.unsupported(fmt::format("{} has no form in GGUF for a model of this kind", step.at("type").string()));
}

void open_up(JsonValue step, std::vector<JsonValue>& steps) {
  if (step.at("type").string() != "Sequence") {
    steps.push_back(step);
    return;
  }
  for (const JsonValue inner : step.at("normalizers").items()) open_up(inner, steps);
}

bool is(JsonValue step, std::string_view type) { return step.at("type").string() == type; }

// U+2581 for every space.
bool marks_spaces(JsonValue step) {
  return is(step, "Replace") && HfPattern::read(step.at("pattern")).is_literal(" ") &&
         step.at("content").string() == kSpaceMark;
}
bool marks_spaces(const HfPreStep& step) { return step.kind == Kind::kMetaspace && step.text == kSpaceMark; }

bool prepends_mark(JsonValue step) { return is(step, "Prepend") && step.at("prepend").string() == kSpaceMark; }

// One for several, as SentencePiece takes away what is too much.
bool joins_spaces(JsonValue step) {
  if (!is(step, "Replace")) return false;
  const HfPattern pattern = HfPattern::read(step.at("pattern"));
  const std::string_view with = step.at("content").string();
  return pattern.is_regex() && pattern.text() == " {2,}" && (with == " " || with == kSpaceMark);
}

// Whether every byte that a text can have is a token.
bool knows_every_byte(const HfModel& model) {
  const std::unordered_set<std::string_view> tokens(model.tokens.begin(), model.tokens.end());
  for (int byte = 0; byte < 256; ++byte) {
    if (byte == 0xC0 || byte == 0xC1 || byte > 0xF4) continue;  // in no UTF-8
    std::string letter;
    append_utf8(letter, kByteToCharacter[static_cast<size_t>(byte)]);
    if (!tokens.contains(letter)) return false;
  }
  return true;
}

void check_pairs(const HfModel& model) {
  if (!model.continuing_prefix.empty())
    no_form("model.continuing_subword_prefix: \"{}\" has no form in GGUF", model.continuing_prefix);
  if (!model.end_suffix.empty()) no_form("model.end_of_word_suffix: \"{}\" has no form in GGUF", model.end_suffix);
}

}  // namespace

std::vector<JsonValue> normalizer_steps(JsonValue root) {
  std::vector<JsonValue> steps;
  if (const JsonValue whole = root.find("normalizer"); whole && !whole.is_null()) open_up(whole, steps);
  return steps;
}

void check_byte_level(const std::vector<JsonValue>& steps, const HfModel& model) {
  for (const JsonValue step : steps)
    if (!is(step, "NFC")) no_form(step);
  check_pairs(model);
  if ((!model.unknown_text.empty() || model.byte_fallback) && !knows_every_byte(model))
    no_form("model: some bytes are no tokens; in GGUF they are left out, here they become {}",
            model.byte_fallback ? "others" : fmt::format("\"{}\"", model.unknown_text));
}

void check_marked_spaces(const std::vector<JsonValue>& steps, const HfDescription& d, bool may_prefix) {
  bool marked = false;
  for (const JsonValue step : steps) {
    marked = marked || marks_spaces(step);
    if (!marks_spaces(step) && !(may_prefix && prepends_mark(step))) no_form(step);
  }
  for (const HfPreStep& step : d.pre_steps) {
    const bool cuts_nothing = step.kind == Kind::kSplit && !step.is_regex && !step.invert && step.text == " " && marked;
    marked = marked || marks_spaces(step);
    const bool prefixes = step.kind == Kind::kMetaspace && step.prepend != HfPreStep::Prepend::kNever;
    if ((!cuts_nothing && !marks_spaces(step)) || (prefixes && !may_prefix))
      no_form("pre_tokenizer: cuts or changes text in a way that has no form in GGUF");
  }
  if (!marked) no_form("normalizer, pre_tokenizer: neither writes U+2581 for spaces, as GGUF has it");
  check_pairs(d.model);
}

void check_unigram(const std::vector<JsonValue>& steps, const HfDescription& d) {
  bool marked = false;
  int maps = 0;
  for (const JsonValue step : steps) {
    marked = marked || marks_spaces(step);
    if (is(step, "Precompiled") && ++maps == 1) continue;
    if (!is(step, "Strip") && !joins_spaces(step) && !marks_spaces(step) && !prepends_mark(step)) no_form(step);
  }
  for (const HfPreStep& step : d.pre_steps) {
    marked = marked || marks_spaces(step);
    if (step.kind != Kind::kWhitespaceSplit && !marks_spaces(step))
      no_form("pre_tokenizer: cuts or changes text in a way that has no form in GGUF");
  }
  if (!marked) no_form("normalizer, pre_tokenizer: neither writes U+2581 for spaces, as GGUF has it");
}

void check_word_piece(const std::vector<JsonValue>& steps, const HfDescription& d) {
  for (const JsonValue step : steps) {
    if (!is(step, "BertNormalizer")) no_form(step);
    for (const char* key : {"clean_text", "handle_chinese_chars"})
      if (!step.at(key).boolean()) step.at(key).unsupported("false has no form in GGUF");
  }
  if (steps.size() != 1) no_form("normalizer: {} of them; GGUF has one BertNormalizer", steps.size());
  if (d.pre_steps.size() != 1 || d.pre_steps.front().kind != Kind::kBert)
    no_form("pre_tokenizer: is not BertPreTokenizer, the only one that GGUF has for WordPiece");
  constexpr size_t kMostCharacters = 100;  // what readers of GGUF have
  if (d.model.most_characters != kMostCharacters)
    no_form("model.max_input_chars_per_word: {}; GGUF has words of up to {}", d.model.most_characters, kMostCharacters);
  if (d.model.continuing_prefix.empty())
    no_form("model.continuing_subword_prefix: is empty, which has no form in GGUF");
}

}  // namespace ingle
