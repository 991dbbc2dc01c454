// Each step is a function made once from what the file says.
#include "text/hf_normalizer.h"

#include <fmt/format.h>

#include "base/error.h"
#include "text/bert_normalizer.h"
#include "text/byte_alphabet.h"
#include "text/charsmap.h"
#include "text/compatibility.h"
#include "text/hf_pattern.h"
#include "text/space_mark.h"
#include "text/special_tokens.h"
#include "text/template_unicode.h"
#include "text/unicode.h"
#include "text/unicode_classes.h"
#include "text/utf8.h"

namespace ingle {
namespace {

constexpr size_t kMostSteps = 64;
constexpr size_t kLongestContent = 1024;

// Calls each(code, bytes) for every character and collects what it appends.
template <class Each>
void rewrite(std::string& text, Each&& each) {
  std::string out;
  out.reserve(text.size() + text.size() / 8);
  for (size_t i = 0; i < text.size();) {
    const Utf8Step step = decode_utf8(std::string_view(text).substr(i));
    each(step.code, std::string_view(text).substr(i, step.length), out);
    i += step.length;
  }
  text = std::move(out);
}

bool all_ascii(std::string_view text) {
  for (char c : text) {
    if (static_cast<unsigned char>(c) >= 0x80) return false;
  }
  return true;
}

void lower_case(std::string& text) {
  if (all_ascii(text)) {
    for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return;
  }
  rewrite(text,
          [](char32_t c, std::string_view, std::string& out) { jinja::append_cased(out, c, jinja::CaseForm::kLower); });
}

void strip_accents(std::string& text) {
  if (all_ascii(text)) return;
  rewrite(text, [](char32_t c, std::string_view bytes, std::string& out) {
    if (!is_in(c, kMarks)) out += bytes;
  });
}

// SentencePiece's rules "nmt": some control characters go, other odd ones become spaces.
void nmt(std::string& text) {
  rewrite(text, [](char32_t c, std::string_view bytes, std::string& out) {
    const bool dropped =
        (c >= 0x01 && c <= 0x08) || c == 0x0B || (c >= 0x0E && c <= 0x1F) || c == 0x7F || c == 0x8F || c == 0x9F;
    const bool space = c == 0x09 || c == 0x0A || c == 0x0C || c == 0x0D || c == 0x1680 ||
                       (c >= 0x200B && c <= 0x200F) || c == 0x2028 || c == 0x2029 || c == 0x2581 || c == 0xFEFF ||
                       c == 0xFFFD;
    if (space) {
      out += ' ';
    } else if (!dropped) {
      out += bytes;
    }
  });
}

void write_in_byte_alphabet(std::string& text) {
  std::string out;
  out.reserve(text.size() * 2);
  for (char c : text) append_utf8(out, kByteToCharacter[static_cast<unsigned char>(c)]);
  text = std::move(out);
}

void strip(std::string& text, bool left, bool right) {
  std::string_view rest = text;
  if (left) rest = trim_left(rest);
  if (right) rest = trim_right(rest);
  text = std::string(rest);
}

// The longest string of the map first; what it does not have stays.
void apply_charsmap(const Charsmap& map, std::string& text) {
  std::string out;
  out.reserve(text.size());
  for (std::string_view rest = text; !rest.empty();) {
    if (const auto match = map.longest(rest)) {
      out += match->replacement;
      rest.remove_prefix(match->length);
    } else {
      const size_t length = decode_utf8(rest).length;
      out += rest.substr(0, length);
      rest.remove_prefix(length);
    }
  }
  text = std::move(out);
}

std::string content(JsonValue json) {
  std::string text(json.string());
  if (text.size() > kLongestContent) json.fail(fmt::format("{} bytes, at most {}", text.size(), kLongestContent));
  return text;
}

Charsmap read_charsmap(JsonValue json) {
  try {
    return Charsmap(json.base64());
  } catch (const Error& error) {
    if (std::string_view(error.what()).starts_with("tokenizer.json")) throw;
    json.fail(error.what());
  }
}

}  // namespace

HfNormalizer::HfNormalizer(JsonValue json) {
  if (json && !json.is_null()) read(json);
}

void HfNormalizer::read(JsonValue json) {
  const std::string_view type = json.at("type").string();
  if (type == "Sequence") {
    json.allow_only({"type", "normalizers"});
    for (JsonValue step : json.at("normalizers").items()) read(step);
    return;
  }
  if (steps_.size() >= kMostSteps) json.fail(fmt::format("more than {} steps", kMostSteps));
  marks_spaces_ = false;
  steps_.push_back(read_step(type, json));
}

HfNormalizer::Step HfNormalizer::read_step(std::string_view type, JsonValue json) {
  using Scratch = FileRegex::Scratch;
  if (type == "Replace") {
    json.allow_only({"type", "pattern", "content"});
    auto pattern = std::make_shared<HfPattern>(
        HfPattern::read(json.at("pattern")));  // functions are copied: the expression is shared
    std::string with = content(json.at("content"));
    marks_spaces_ = pattern->is_literal(" ") && with == kSpaceMark;
    return [pattern = std::move(pattern), with = std::move(with)](std::string& text, Scratch& scratch) {
      pattern->replace(text, with, scratch);
    };
  }
  if (type == "Prepend") {
    json.allow_only({"type", "prepend"});
    return [prefix = content(json.at("prepend"))](std::string& text, Scratch&) {
      if (!text.empty()) text.insert(0, prefix);
    };
  }
  if (type == "Strip") {
    json.allow_only({"type", "strip_left", "strip_right"});
    const bool left = json.at("strip_left").boolean(), right = json.at("strip_right").boolean();
    return [left, right](std::string& text, Scratch&) { strip(text, left, right); };
  }
  if (type == "BertNormalizer") {
    json.allow_only({"type", "clean_text", "handle_chinese_chars", "strip_accents", "lowercase"});
    BertNormalizerOptions options;
    options.clean_text = json.at("clean_text").boolean();
    options.split_cjk = json.at("handle_chinese_chars").boolean();
    options.lowercase = json.at("lowercase").boolean();
    const JsonValue accents = json.find("strip_accents");
    options.strip_accents = !accents || accents.is_null() ? options.lowercase : accents.boolean();
    return [options](std::string& text, Scratch&) { text = bert_normalize(text, options); };
  }
  if (type == "Precompiled") {
    json.allow_only({"type", "precompiled_charsmap"});
    return [map = std::make_shared<Charsmap>(read_charsmap(json.at("precompiled_charsmap")))](
               std::string& text, Scratch&) { apply_charsmap(*map, text); };
  }
  json.allow_only({"type"});
  if (type == "NFC") {
    return [](std::string& text, Scratch&) {
      if (!is_nfc_quick(text)) text = to_nfc(text);
    };
  }
  if (type == "NFD") return [](std::string& text, Scratch&) { text = to_nfd(text); };
  if (type == "NFKC") return [](std::string& text, Scratch&) { text = to_nfc(expand_compatibility(text)); };
  if (type == "NFKD") return [](std::string& text, Scratch&) { text = to_nfd(expand_compatibility(text)); };
  if (type == "Lowercase") return [](std::string& text, Scratch&) { lower_case(text); };
  if (type == "StripAccents") return [](std::string& text, Scratch&) { strip_accents(text); };
  if (type == "Nmt") return [](std::string& text, Scratch&) { nmt(text); };
  if (type == "ByteLevel") return [](std::string& text, Scratch&) { write_in_byte_alphabet(text); };
  json.unsupported(fmt::format("type \"{}\" is not known here", type));
}

void HfNormalizer::apply(std::string& text, FileRegex::Scratch& scratch) const {
  // Steps may lengthen a text; many that each do so are no tokenizer's.
  const size_t most = (size_t{1} << 20) + 64 * text.size();
  for (const Step& step : steps_) {
    step(text, scratch);
    if (text.size() > most) {
      throw_error(ErrorCode::kInvalidArgument, "text: normalising made it longer than {} bytes", most);
    }
  }
}

}  // namespace ingle
