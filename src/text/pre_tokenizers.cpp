// The table of pre-tokenisers. Expressions are in Hugging Face's notation and are those the models were trained with.
// To add a family: a row in table(); if its expression is new, a line above the rows.
#include "text/pre_tokenizers.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <string>

#include "base/error.h"
#include "text/file_regex.h"

namespace ingle {
namespace {

constexpr const char* kGpt2 = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S))";
constexpr const char* kDeepSeek3Cjk = R"([\x{4E00}-\x{9FA5}\x{3040}-\x{309F}\x{30A0}-\x{30FF}]+)";
constexpr const char* kDeepSeekCjk = R"([\x{4E00}-\x{9FA5}\x{0800}-\x{4E00}\x{AC00}-\x{D7FF}]+)";
constexpr const char* kDeepSeekPunctuation =
    R"(\s?[!-/:-~\x{FF01}-\x{FF0F}\x{FF1A}-\x{FF5E}\x{2018}-\x{201F}\x{3000}-\x{3002}]+)";
// Cased letters of an older Unicode, with its gaps.
constexpr const char* kDeepSeekLetters =
    R"(\s?[A-Za-z\x{B5}\x{C0}-\x{D6}\x{D8}-\x{F6}\x{F8}-\x{1BA}\x{1BC}-\x{1BF}\x{1C4}-\x{293}\x{295}-\x{2AF})"
    R"(\x{370}-\x{373}\x{376}\x{377}\x{37B}-\x{37D}\x{37F}\x{386}\x{388}-\x{38A}\x{38C}\x{38E}-\x{3A1}\x{3A3}-\x{3F5})"
    R"(\x{3F7}-\x{481}\x{48A}-\x{52F}\x{531}-\x{556}\x{10A0}-\x{10C5}\x{13A0}-\x{13F5}\x{13F8}-\x{13FD})"
    R"(\x{1C90}-\x{1CBA}\x{1CBD}-\x{1CBF}\x{1D00}-\x{1D2B}\x{1D6B}-\x{1D77}\x{1D79}-\x{1D9A}\x{1E00}-\x{1F15})"
    R"(\x{1F18}-\x{1F1D}\x{1F20}-\x{1F45}\x{1F48}-\x{1F4D}\x{1F50}-\x{1F57}\x{1F59}\x{1F5B}\x{1F5D}\x{1F5F}-\x{1F7D})"
    R"(\x{1F80}-\x{1FB4}\x{1FB6}-\x{1FBC}\x{1FBE}\x{1FC2}-\x{1FC4}\x{1FC6}-\x{1FCC}\x{1FD0}-\x{1FD3}\x{1FD6}-\x{1FDB})"
    R"(\x{1FE0}-\x{1FEC}\x{1FF2}-\x{1FF4}\x{1FF6}-\x{1FFC}\x{2102}\x{2107}\x{210A}-\x{2113}\x{2115}\x{2119}-\x{211D})"
    R"(\x{2124}\x{2126}\x{2128}\x{212A}-\x{212D}\x{212F}-\x{2134}\x{2139}\x{213C}-\x{213F}\x{2145}-\x{2149}\x{214E})"
    R"(\x{2183}\x{2184}\x{2C00}-\x{2C7B}\x{2C7E}-\x{2CE4}\x{2CEB}-\x{2CEE}\x{2CF2}\x{2CF3}\x{A640}-\x{A66D})"
    R"(\x{A680}-\x{A69B}\x{A722}-\x{A76F}\x{A771}-\x{A787}\x{A78B}-\x{A78E}\x{AB70}-\x{ABBF}\x{FB00}-\x{FB06})"
    R"(\x{FB13}-\x{FB17}\x{FF21}-\x{FF3A}\x{FF41}-\x{FF5A}\x{10400}-\x{1044F}\x{104B0}-\x{104D3}\x{104D8}-\x{104FB})"
    R"(\x{10C80}-\x{10CB2}\x{10CC0}-\x{10CF2}\x{118A0}-\x{118DF}\x{1E900}-\x{1E943}]+)";
// `\s+$`, tried only where a run of white space starts; otherwise a run that does not reach the end costs its square.
constexpr const char* kTrailingSpace = R"((?<!\s)\s+$)";
constexpr const char* kFalconPunctuation = R"([\p{P}\$\+<=>\^~\|`]+)";
constexpr const char* kDefaultPunctuation = R"([\p{P}\$\+<=>\^~\|]+)";
constexpr const char* kBloom = R"( ?[^(\s|.,!?…。，、।۔،)]+)";
constexpr const char* kLines = R"([^\n]+|[\n]+)";
// `\d{1,3}(?=(?:\d{3})*\b)` as one run of digits that ends at a word boundary, which is then cut in threes, because the
// look-ahead reads to the end of the run for every group. Word characters are spelt out: \b of PCRE2 knows fewer.
constexpr const char* kDigitRun =
    R"((?<!\d)\d++(?![\p{Alphabetic}\p{M}\p{Nd}\p{Nl}\p{Pc}\x{B2}\x{B3}\x{B9}\x{BC}\x{BD}\x{BE}]))";

struct Row {
  std::string_view names;  // separated by one space
  std::vector<std::string> steps;
  PreTokenizerFlags flags = {};
};

std::vector<Row> table() {
  const std::string contraction = R"((?i:'s|'t|'re|'ve|'m|'ll|'d))";
  const std::string word = R"([^\r\n\p{L}\p{N}]?\p{L}+)";
  const std::string symbols = R"( ?[^\s\p{L}\p{N}]+[\r\n]*)";
  const std::string spaces = R"(\s*[\r\n]+|\s+(?!\S)|\s+)";
  const std::string upper = R"([\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])";
  const std::string lower = R"([\p{Ll}\p{Lm}\p{Lo}\p{M}])";
  // The same without Han. PCRE2 10 cannot intersect classes: everything that is neither Han nor of another category.
  const std::string upper_no_han = R"([^\p{sc:Han}\p{Ll}\p{N}\p{P}\p{S}\p{Z}\p{C}])";
  const std::string lower_no_han = R"([^\p{sc:Han}\p{Lu}\p{Lt}\p{N}\p{P}\p{S}\p{Z}\p{C}])";
  // Words cut where a small letter meets a capital, each with what may follow it.
  const auto cased = [](const std::string& up, const std::string& low, const std::string& tail) {
    const std::string lead = R"([^\r\n\p{L}\p{N}]?)";
    return lead + up + "*" + low + "+" + tail + "|" + lead + up + "+" + low + "*" + tail + "|";
  };

  const std::string llama3 = contraction + "|" + word + R"(|\p{N}{1,3}|)" + symbols + "|" + spaces;
  const std::string qwen2 = contraction + "|" + word + R"(|\p{N}|)" + symbols + "|" + spaces;
  const std::string minicpm5 = contraction + "|" + word + R"(|\p{N}+|)" + symbols + "|" + spaces;
  const std::string qwen35 =
      contraction + R"(|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|)" + spaces;
  const std::string tekken = cased(upper, lower, "") + R"(\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|)" + spaces;
  const std::string gpt4o =
      cased(upper, lower, contraction + "?") + R"(\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|)" + spaces;
  const std::string kimi_k2 = R"(\p{sc:Han}+|)" + cased(upper_no_han, lower_no_han, contraction + "?") +
                              R"(\p{N}{1,3}|)" + symbols + "|" + spaces;
  const std::string deepseek3 =
      R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|)" +
      spaces;
  const std::string bailing =
      R"('(?i:[sdmt]|ll|ve|re)|)" + word + R"(|\p{N}|)" + symbols + R"(|\s*[\r\n]|\s+(?!\S)|\s+)";
  const std::string seed_coder = contraction + "|" + word + R"(|\p{N}| ?[^\s\p{L}\p{N}\r\n]+|)" + spaces;
  // Possessive inside: nothing follows that a shorter match could help, and a long word must not cost stack.
  const std::string exaone_moe =
      contraction + R"(|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*+(?: \p{L}\p{M}*+)*+)++|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?)"
                    R"(|\s*[\r\n]|\s+(?!\S)|\s+)";
  // Between the pieces of a long run of white space nobody looks for a line break again: had there been one, it would
  // have been found from the run's start.
  const std::string jais2 =
      contraction + "|" + word + R"(|\p{N}{1,3}|)" + symbols +
      R"(|(?<![\t\x{B}\x{C}\x{85}\p{Z}])\s*[\r\n]+|\s{512}(?!\S)|\s{256}(?!\S)|\s{128}(?!\S)|\s{64}(?!\S))"
      R"(|\s{32}(?!\S)|\s{16}(?!\S)|\s{8}(?!\S)|\s{4}(?!\S)|\s{1,2}(?!\S)|\s{1})";

  return {
      {"llama-bpe llama3 llama-v3 falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano",
       {llama3},
       {.ignore_merges = true, .add_bos = true}},
      {"dbrx smaug-bpe", {llama3}},
      {"glm4 chatglm-bpe", {llama3}, {.no_bos = true}},
      {"qwen2 deepseek-r1-qwen", {qwen2}, {.nfc = true}},
      {"kormo f2llmv2 megrez stablelm2 hunyuan solar-open grok-2", {qwen2}},
      {"qwen35", {qwen35}, {.nfc = true}},
      {"gpt-2 phi-2 gigachat a.x-4.0 mellum exaone4 jais trillion granite-docling", {kGpt2}},
      {"jina-es jina-de jina-v2-es jina-v2-de", {kGpt2}, {.mask_strips = true}},
      {"jina-v2-code", {kGpt2}, {.add_separator = true, .mask_strips = true}},
      {"jina-v1-en roberta-bpe", {kGpt2}, {.add_separator = true}},
      {"mpt olmo modern-bert", {kGpt2}, {.nfc = true}},  // of GPT-NeoX's tokenizer
      {"starcoder refact smollm codeshell exaone minerva-7b mellum2", {R"(\p{N})", kGpt2}},
      {"command-r", {R"(\p{N})", kGpt2}, {.nfc = true}},
      {"falcon", {kFalconPunctuation, kGpt2, "[0-9][0-9][0-9]"}},
      {"default", {kDefaultPunctuation, kGpt2, R"(\p{N}+)", "[0-9][0-9][0-9]"}},
      {"deepseek-llm",
       {R"([\r\n])", kDeepSeekLetters, kDeepSeekPunctuation, kTrailingSpace, kDeepSeekCjk, R"(\p{N}+)"}},
      {"deepseek-coder", {R"([\r\n])", R"(\s?\p{L}+)", R"(\s?\p{P}+)", kDeepSeekCjk, R"(\p{N})"}},
      {"deepseek-v3 hunyuan-dense joyai-llm", {R"(\p{N}{1,3})", kDeepSeek3Cjk, deepseek3}},
      {"tekken", {tekken}, {.ignore_merges = true, .add_bos = true}},
      {"gpt-4o llama4 kanana2 talkie minimax-m2", {gpt4o}},
      {"tiny_aya cohere2moe", {kDigitRun, gpt4o}},
      {"bloom poro-chat gpt3-finnish", {kBloom}},
      {"viking", {kBloom, R"(\p{N})"}},
      {"bailingmoe bailingmoe2 llada-moe", {bailing}},
      {"seed-coder", {seed_coder}},
      {"exaone-moe", {exaone_moe}},
      {"jais-2", {jais2}},
      {"minicpm5", {R"(\p{N}{1,3})", minicpm5}, {.ignore_merges = true}},
      {"laguna", {kLines, qwen2}},
      {"kimi-k2", {kimi_k2}},
      {"gemma4 granite-embed-multi-311m sarvam-moe", {kLines}, {.raw_utf8 = true}},
  };
}

bool has_name(std::string_view names, std::string_view name) {
  while (!names.empty()) {
    const size_t space = std::min(names.find(' '), names.size());
    if (names.substr(0, space) == name) return true;
    names.remove_prefix(std::min(space + 1, names.size()));
  }
  return false;
}

}  // namespace

PreTokenizer::PreTokenizer(PreTokenizerFlags flags, std::vector<RegexSplitter> steps)
    : flags_(flags), steps_(std::move(steps)) {}

PreTokenizer PreTokenizer::create(std::string_view pre) {
  for (const Row& row : table()) {
    if (!has_name(row.names, pre)) continue;
    std::vector<RegexSplitter> steps;
    for (const std::string& pattern : row.steps) steps.emplace_back(pattern, pattern == kDigitRun);
    return PreTokenizer(row.flags, std::move(steps));
  }
  std::vector<std::string_view> known = names();
  std::sort(known.begin(), known.end());
  throw_error(
      ErrorCode::kUnsupported,
      "tokenizer.ggml.pre: \"{}\" is not a pre-tokeniser known here; another can be chosen (--pre-tokenizer) if "
      "it cuts the same words. Known are {}",
      pre, fmt::join(known, ", "));
}

PreTokenizer PreTokenizer::with_flags(const PreTokenizerFlags& flags) && {
  flags_ = flags;
  return std::move(*this);
}

namespace {

// Two spellings of an expression have one canonical text. Rows written in PCRE2's own notation have none.
std::string canonical(const std::string& expression) {
  try {
    std::string text = pcre2_from_oniguruma(expression);
    // What white space the rest leaves over is a gap, and so a word, either way.
    static const std::string gpt2 = pcre2_from_oniguruma(kGpt2);
    static const std::string gpt2_spaces = pcre2_from_oniguruma(std::string(kGpt2) + R"(|\s+)");
    return text == gpt2_spaces ? gpt2 : text;
  } catch (const Error&) {
    return {};
  }
}

std::string first_name(std::string_view names) { return std::string(names.substr(0, names.find(' '))); }

// Rows whose expression has been rewritten, as files have it.
struct Spelling {
  const char* pre;
  const char* expression;  // the first; the others are the row's
};
constexpr Spelling kSpellings[] = {{"tiny_aya", R"(\d{1,3}(?=(?:\d{3})*\b))"}};

}  // namespace

std::string_view PreTokenizer::recognise(const std::vector<std::string>& expressions, bool ignore_merges, bool nfc) {
  std::vector<std::string> wanted;
  for (const std::string& expression : expressions) {
    wanted.push_back(canonical(expression));
    if (wanted.back().empty()) return {};
  }
  std::string_view found;
  for (const Row& row : table()) {
    if (row.flags.raw_utf8 || row.steps.size() != wanted.size()) continue;
    bool same = true;
    for (size_t i = 0; i < wanted.size() && same; ++i) {
      std::string step = row.steps[i];
      for (const Spelling& spelling : kSpellings) {
        if (i == 0 && first_name(row.names) == spelling.pre) step = spelling.expression;
      }
      same = canonical(step) == wanted[i];
    }
    if (!same) continue;
    const std::string_view name = row.names.substr(0, row.names.find(' '));
    if (row.flags.ignore_merges == ignore_merges && row.flags.nfc == nfc) return name;
    if (found.empty()) found = name;
  }
  return found;
}

void PreTokenizer::split(std::string_view text, Scratch& scratch, std::vector<size_t>& ends) const {
  ends.clear();
  if (text.empty()) return;
  ends.push_back(text.size());
  for (const RegexSplitter& step : steps_) {
    std::swap(ends, scratch.other);
    ends.clear();
    size_t begin = 0;
    for (size_t end : scratch.other) {
      step.split(text, begin, end, scratch.regex, ends);
      begin = end;
    }
  }
}

std::vector<std::string_view> PreTokenizer::first_names() {
  std::vector<std::string_view> all;
  for (const Row& row : table()) all.push_back(row.names.substr(0, row.names.find(' ')));
  return all;
}

std::vector<std::string_view> PreTokenizer::names() {
  std::vector<std::string_view> all;
  for (const Row& row : table()) {
    std::string_view names = row.names;
    while (!names.empty()) {
      const size_t space = std::min(names.find(' '), names.size());
      all.push_back(names.substr(0, space));
      names.remove_prefix(std::min(space + 1, names.size()));
    }
  }
  return all;
}

}  // namespace ingle
