// Each step is a function made once from what the file says; it rewrites the list of texts. In the library a step that
// makes bytes replaces what is no UTF-8 at once; here bytes stay, so that pieces of a character can be put together.
#include "text/hf_decoder.h"

#include <fmt/format.h>

#include <memory>

#include "base/error.h"
#include "text/byte_alphabet.h"
#include "text/hf_description.h"
#include "text/hf_pattern.h"
#include "text/space_mark.h"
#include "text/tokenizer_base.h"
#include "text/utf8.h"

namespace ingle {
namespace {

constexpr size_t kMostSteps = 64;
constexpr size_t kLongestContent = 1024;

void replace_all(std::string& text, std::string_view what, std::string_view with) {
  if (what.empty() || text.find(what) == std::string::npos) return;
  std::string out;
  size_t position = 0;
  for (size_t i = text.find(what); i != std::string::npos; i = text.find(what, position)) {
    out.append(text, position, i - position).append(with);
    position = i + what.size();
  }
  text = out.append(text, position);
}

void fuse(std::vector<HfDecoded>& tokens) {
  if (tokens.empty()) return;
  for (size_t i = 1; i < tokens.size(); ++i) tokens[0].text += tokens[i].text;
  tokens.resize(1);
}

// A text with a character outside the alphabet is left as it is.
void read_byte_alphabet(HfDecoded& token) {
  if (token.added) return;
  std::string bytes;
  for (std::string_view rest = token.text; !rest.empty();) {
    const Utf8Step step = decode_utf8(rest);
    const int byte = step.valid() && step.code < kByteAlphabetEnd ? kCharacterToByte[step.code] : -1;
    if (byte < 0) return;
    bytes += static_cast<char>(byte);
    rest.remove_prefix(step.length);
  }
  token.text = std::move(bytes);
}

void strip(std::string& text, std::string_view what, int64_t start, int64_t stop) {
  std::string_view rest = text;
  for (; start > 0 && rest.starts_with(what); --start) rest.remove_prefix(what.size());
  for (; stop > 0 && rest.ends_with(what); --stop) rest.remove_suffix(what.size());
  text = std::string(rest);
}

// What the library mends in English.
void clean_up(std::string& text) {
  constexpr std::pair<std::string_view, std::string_view> kMends[] = {
      {" .", "."},   {" ?", "?"},           {" !", "!"},   {" ,", ","},     {" ' ", "'"},   {" n't", "n't"},
      {" 'm", "'m"}, {" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto& [what, with] : kMends) replace_all(text, what, with);
}

std::string content(JsonValue json) {
  std::string text(json.string());
  if (text.size() > kLongestContent) json.fail(fmt::format("{} bytes, at most {}", text.size(), kLongestContent));
  return text;
}

}  // namespace

HfDecoder::HfDecoder(JsonValue json) {
  if (json && !json.is_null()) read(json);
}

void HfDecoder::read(JsonValue json) {
  using Tokens = std::vector<HfDecoded>;
  joins_by_space_ = false;
  const std::string_view type = json.at("type").string();
  if (type == "Sequence") {
    json.allow_only({"type", "decoders"});
    for (JsonValue step : json.at("decoders").items()) read(step);
    return;
  }
  if (steps_.size() >= kMostSteps) json.fail(fmt::format("more than {} steps", kMostSteps));
  if (type == "ByteLevel") {
    json.allow_only({"type", "add_prefix_space", "trim_offsets", "use_regex"});
    steps_.push_back([](Tokens& tokens, bool) {
      for (HfDecoded& token : tokens) read_byte_alphabet(token);
      fuse(tokens);
    });
  } else if (type == "ByteFallback") {
    json.allow_only({"type"});
    steps_.push_back([](Tokens& tokens, bool) {
      for (HfDecoded& token : tokens) {
        if (const auto byte = parse_byte_token(token.text)) token.text.assign(1, static_cast<char>(*byte));
      }
    });
  } else if (type == "Fuse") {
    json.allow_only({"type"});
    steps_.push_back([](Tokens& tokens, bool) { fuse(tokens); });
  } else if (type == "Replace") {
    json.allow_only({"type", "pattern", "content"});
    auto pattern = std::make_shared<HfPattern>(HfPattern::read(json.at("pattern")));
    std::string with = content(json.at("content"));
    if (!pattern->is_regex() && !pattern->text().empty()) {
      steps_.push_back([what = pattern->text(), with = std::move(with)](Tokens& tokens, bool) {
        for (HfDecoded& token : tokens) replace_all(token.text, what, with);
      });
    } else {
      steps_.push_back([pattern = std::move(pattern), with = std::move(with)](Tokens& tokens, bool) {
        FileRegex::Scratch scratch;
        for (HfDecoded& token : tokens) {
          if (valid_utf8_prefix(token.text) < token.text.size()) token.text = with_replacement_characters(token.text);
          pattern->replace(token.text, with, scratch);
        }
      });
    }
  } else if (type == "Strip") {
    json.allow_only({"type", "content", "start", "stop"});
    const int64_t start = json.at("start").integer(), stop = json.at("stop").integer();
    if (start < 0 || stop < 0) json.fail("\"start\" or \"stop\" is negative");
    std::string what = content(json.at("content"));
    if (what.empty() || decode_utf8(what).length != what.size()) json.at("content").fail("not one character");
    strips_leading_space_ = strips_leading_space_ || (what == " " && start > 0);
    steps_.push_back([what = std::move(what), start, stop](Tokens& tokens, bool whole) {
      if (!whole) return;
      for (HfDecoded& token : tokens) strip(token.text, what, start, stop);
    });
  } else if (type == "Metaspace") {
    const HfPreStep step = read_hf_pre_tokenizer(json).front();
    const bool strips = step.prepend != HfPreStep::Prepend::kNever;
    strips_leading_space_ = strips_leading_space_ || strips;
    steps_.push_back([mark = step.text, strips](Tokens& tokens, bool whole) {
      for (size_t i = 0; i < tokens.size(); ++i) {
        replace_all(tokens[i].text, mark, whole && strips && i == 0 ? "" : " ");
      }
    });
  } else if (type == "WordPiece") {
    json.allow_only({"type", "prefix", "cleanup"});
    const bool cleans = json.at("cleanup").boolean();
    steps_.push_back([prefix = content(json.at("prefix")), cleans](Tokens& tokens, bool whole) {
      for (size_t i = 0; i < tokens.size(); ++i) {
        std::string& text = tokens[i].text;
        if (i > 0 || !whole) {
          if (text.starts_with(prefix)) {
            text.erase(0, prefix.size());
          } else {
            text.insert(0, 1, ' ');
          }
        }
        if (cleans) clean_up(text);
      }
    });
  } else if (type == "BPEDecoder") {
    json.allow_only({"type", "suffix"});
    steps_.push_back([suffix = content(json.at("suffix"))](Tokens& tokens, bool whole) {
      for (size_t i = 0; i < tokens.size(); ++i) {
        replace_all(tokens[i].text, suffix, whole && i + 1 == tokens.size() ? "" : " ");
      }
    });
  } else {
    json.unsupported(fmt::format("type \"{}\" is not known here", type));
  }
}

std::string HfDecoder::decode(std::vector<HfDecoded> tokens) const {
  for (const Step& step : steps_) step(tokens, true);
  std::string out;
  for (const HfDecoded& token : tokens) {
    if (joins_by_space_ && !out.empty()) out += ' ';
    out += token.text;
  }
  return out;
}

std::string HfDecoder::piece(HfDecoded token) const {
  std::vector<HfDecoded> tokens;
  tokens.push_back(std::move(token));
  for (const Step& step : steps_) step(tokens, false);
  return tokens.empty() ? std::string() : std::move(tokens.front().text);
}

}  // namespace ingle
