// Reading the "pre_tokenizer" of a tokenizer.json into a flat list of steps.
#include <fmt/format.h>

#include "base/error.h"
#include "text/hf_description.h"
#include "text/hf_pattern.h"
#include "text/utf8.h"

namespace ingle {
namespace {

constexpr size_t kMostSteps = 64;

bool flag(JsonValue json, std::string_view key, bool otherwise) {
  const JsonValue value = json.find(key);
  return value ? value.boolean() : otherwise;
}

std::string one_character(JsonValue json) {
  const std::string_view text = json.string();
  if (text.empty() || decode_utf8(text).length != text.size()) json.fail("not one character");
  return std::string(text);
}

HfPreStep::Behavior read_behavior(JsonValue json) {
  using Behavior = HfPreStep::Behavior;
  constexpr std::pair<std::string_view, Behavior> kNames[] = {{"Removed", Behavior::kRemoved},
                                                              {"Isolated", Behavior::kIsolated},
                                                              {"MergedWithPrevious", Behavior::kMergedWithPrevious},
                                                              {"MergedWithNext", Behavior::kMergedWithNext},
                                                              {"Contiguous", Behavior::kContiguous}};
  for (const auto& [name, behavior] : kNames) {
    if (json.string() == name) return behavior;
  }
  json.unsupported(fmt::format("\"{}\" is not known here", json.string()));
}

HfPreStep read_split(JsonValue json) {
  json.allow_only({"type", "pattern", "behavior", "invert"});
  HfPreStep step{.kind = HfPreStep::Kind::kSplit};
  const HfPattern pattern = HfPattern::read(json.at("pattern"));  // made once more later, but here errors have a place
  step.text = pattern.text();
  step.is_regex = pattern.is_regex();
  step.behavior = read_behavior(json.at("behavior"));
  step.invert = json.at("invert").boolean();
  return step;
}

HfPreStep read_metaspace(JsonValue json) {
  using Prepend = HfPreStep::Prepend;
  json.allow_only({"type", "replacement", "prepend_scheme", "split", "add_prefix_space", "str_rep"});
  HfPreStep step{.kind = HfPreStep::Kind::kMetaspace};
  step.text = one_character(json.at("replacement"));
  if (const JsonValue scheme = json.find("prepend_scheme")) {
    const std::string_view name = scheme.string();
    if (name != "first" && name != "never" && name != "always") {
      scheme.unsupported(fmt::format("\"{}\" is not known here", name));
    }
    step.prepend = name == "first" ? Prepend::kFirst : name == "never" ? Prepend::kNever : Prepend::kAlways;
  }
  // The older way to say it.
  if (!flag(json, "add_prefix_space", true) && step.prepend != Prepend::kNever) {
    json.fail("add_prefix_space is false, but prepend_scheme is not \"never\"");
  }
  const JsonValue split = json.find("split");
  step.split = !split || split.is_null() || split.boolean();
  return step;
}

HfPreStep read_step(std::string_view type, JsonValue json) {
  using Kind = HfPreStep::Kind;
  if (type == "Split") return read_split(json);
  if (type == "Metaspace") return read_metaspace(json);
  if (type == "ByteLevel") {
    json.allow_only({"type", "add_prefix_space", "trim_offsets", "use_regex"});
    HfPreStep step{.kind = Kind::kByteLevel};
    step.add_prefix_space = json.at("add_prefix_space").boolean();
    step.use_regex = flag(json, "use_regex", true);
    return step;
  }
  if (type == "Digits") {
    json.allow_only({"type", "individual_digits"});
    HfPreStep step{.kind = Kind::kDigits};
    step.individually = json.at("individual_digits").boolean();
    return step;
  }
  if (type == "Punctuation") {
    json.allow_only({"type", "behavior"});
    HfPreStep step{.kind = Kind::kPunctuation};
    if (const JsonValue behavior = json.find("behavior")) step.behavior = read_behavior(behavior);
    return step;
  }
  if (type == "CharDelimiterSplit") {
    json.allow_only({"type", "delimiter"});
    HfPreStep step{.kind = Kind::kSplit};
    step.text = one_character(json.at("delimiter"));
    step.behavior = HfPreStep::Behavior::kRemoved;
    return step;
  }
  if (type == "FixedLength") {
    json.allow_only({"type", "length"});
    HfPreStep step{.kind = Kind::kFixedLength};
    const JsonValue length = json.find("length");
    if (length && length.integer() < 1) length.fail(fmt::format("{} is not positive", length.integer()));
    step.length = length ? static_cast<size_t>(length.integer()) : 5;
    return step;
  }
  json.allow_only({"type"});
  if (type == "Whitespace") return {.kind = Kind::kWhitespace};
  if (type == "WhitespaceSplit") return {.kind = Kind::kWhitespaceSplit};
  if (type == "BertPreTokenizer") return {.kind = Kind::kBert};
  json.unsupported(fmt::format("type \"{}\" is not known here", type));
}

void read_steps(JsonValue json, std::vector<HfPreStep>& steps) {
  const std::string_view type = json.at("type").string();
  if (type == "Sequence") {
    json.allow_only({"type", "pretokenizers"});
    for (JsonValue step : json.at("pretokenizers").items()) read_steps(step, steps);
    return;
  }
  if (steps.size() >= kMostSteps) json.fail(fmt::format("more than {} steps", kMostSteps));
  steps.push_back(read_step(type, json));
}

}  // namespace

std::vector<HfPreStep> read_hf_pre_tokenizer(JsonValue json) {
  std::vector<HfPreStep> steps;
  if (json && !json.is_null()) read_steps(json, steps);
  return steps;
}

}  // namespace ingle
