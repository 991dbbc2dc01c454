// One pass over the pattern. Outside brackets most of it means the same in both notations; inside, a class becomes one
// PCRE2 class where it can, and otherwise an expression for one character made of look-aheads.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "text/file_regex.h"
#include "text/utf8.h"

namespace ingle {
namespace {

// Bodies of classes.
constexpr std::string_view kSpace = R"(\t-\r\x{85}\p{Z})";
constexpr std::string_view kWord = R"(\p{Alphabetic}\p{M}\p{Nd}\p{Nl}\p{Pc}\x{B2}\x{B3}\x{B9}\x{BC}\x{BD}\x{BE})";
constexpr std::string_view kDigit = R"(\p{Nd})";
constexpr std::string_view kHex = "0-9A-Fa-f";

struct Named {
  std::string_view name, body;
};
// clang-format off
// Lower case, without '_', '-' and ' '.
constexpr Named kProperties[] = {
    {"any", R"(\x{0}-\x{10FFFF})"},
    {"l", R"(\p{L})"}, {"letter", R"(\p{L})"}, {"lu", R"(\p{Lu})"}, {"uppercaseletter", R"(\p{Lu})"},
    {"ll", R"(\p{Ll})"}, {"lowercaseletter", R"(\p{Ll})"}, {"lt", R"(\p{Lt})"}, {"titlecaseletter", R"(\p{Lt})"},
    {"lm", R"(\p{Lm})"}, {"modifierletter", R"(\p{Lm})"}, {"lo", R"(\p{Lo})"}, {"otherletter", R"(\p{Lo})"},
    {"m", R"(\p{M})"}, {"mark", R"(\p{M})"}, {"mn", R"(\p{Mn})"}, {"nonspacingmark", R"(\p{Mn})"},
    {"mc", R"(\p{Mc})"}, {"spacingmark", R"(\p{Mc})"}, {"me", R"(\p{Me})"}, {"enclosingmark", R"(\p{Me})"},
    {"n", R"(\p{N})"}, {"number", R"(\p{N})"}, {"nd", R"(\p{Nd})"}, {"decimalnumber", R"(\p{Nd})"},
    {"nl", R"(\p{Nl})"}, {"letternumber", R"(\p{Nl})"}, {"no", R"(\p{No})"}, {"othernumber", R"(\p{No})"},
    {"p", R"(\p{P})"}, {"punctuation", R"(\p{P})"}, {"pc", R"(\p{Pc})"}, {"connectorpunctuation", R"(\p{Pc})"},
    {"pd", R"(\p{Pd})"}, {"dashpunctuation", R"(\p{Pd})"}, {"ps", R"(\p{Ps})"}, {"openpunctuation", R"(\p{Ps})"},
    {"pe", R"(\p{Pe})"}, {"closepunctuation", R"(\p{Pe})"}, {"pi", R"(\p{Pi})"}, {"initialpunctuation", R"(\p{Pi})"},
    {"pf", R"(\p{Pf})"}, {"finalpunctuation", R"(\p{Pf})"}, {"po", R"(\p{Po})"}, {"otherpunctuation", R"(\p{Po})"},
    {"s", R"(\p{S})"}, {"symbol", R"(\p{S})"}, {"sm", R"(\p{Sm})"}, {"mathsymbol", R"(\p{Sm})"},
    {"sc", R"(\p{Sc})"}, {"currencysymbol", R"(\p{Sc})"}, {"sk", R"(\p{Sk})"}, {"modifiersymbol", R"(\p{Sk})"},
    {"so", R"(\p{So})"}, {"othersymbol", R"(\p{So})"}, {"z", R"(\p{Z})"}, {"separator", R"(\p{Z})"},
    {"zs", R"(\p{Zs})"}, {"spaceseparator", R"(\p{Zs})"}, {"zl", R"(\p{Zl})"}, {"lineseparator", R"(\p{Zl})"},
    {"zp", R"(\p{Zp})"}, {"paragraphseparator", R"(\p{Zp})"}, {"cc", R"(\p{Cc})"}, {"control", R"(\p{Cc})"},
    {"cf", R"(\p{Cf})"}, {"format", R"(\p{Cf})"}, {"co", R"(\p{Co})"}, {"privateuse", R"(\p{Co})"},
    {"alphabetic", R"(\p{Alphabetic})"}, {"alpha", R"(\p{Alphabetic})"}, {"uppercase", R"(\p{Uppercase})"},
    {"upper", R"(\p{Uppercase})"}, {"lowercase", R"(\p{Lowercase})"}, {"lower", R"(\p{Lowercase})"},
    {"alnum", R"(\p{Alphabetic}\p{Nd})"}, {"digit", kDigit}, {"whitespace", kSpace}, {"space", kSpace},
    {"word", kWord}, {"xdigit", kHex}, {"asciihexdigit", kHex}, {"ascii", R"(\x{0}-\x{7F})"},
    {"blank", R"(\t\p{Zs})"}, {"cntrl", R"(\p{Cc})"}, {"emoji", R"(\p{Emoji})"},
    {"extendedpictographic", R"(\p{Extended_Pictographic})"},
};
// clang-format on
// Scripts both engines know by these names.
constexpr std::string_view kScripts[] = {
    "arabic",     "armenian",  "bengali",   "bopomofo",  "cherokee", "common",   "coptic",   "cyrillic",
    "devanagari", "ethiopic",  "georgian",  "gothic",    "greek",    "gujarati", "gurmukhi", "han",
    "hangul",     "hebrew",    "hiragana",  "inherited", "kannada",  "katakana", "khmer",    "lao",
    "latin",      "malayalam", "mongolian", "myanmar",   "ogham",    "oriya",    "runic",    "sinhala",
    "syriac",     "tamil",     "telugu",    "thaana",    "thai",     "tibetan",  "tifinagh", "yi"};

[[noreturn]] void unsupported(std::string_view what) {
  throw_error(ErrorCode::kUnsupported, "regular expression: {} is not supported", what);
}

// A set of characters: the body of a class when that says it all, else an expression that matches one of them.
struct CharacterSet {
  std::string body;
  std::string expression;  // empty when `body` says it

  std::string one() const { return expression.empty() ? fmt::format("[{}]", body) : expression; }
};

CharacterSet negated(const CharacterSet& set) {
  return {{},
          set.expression.empty() ? fmt::format("[^{}]", set.body) : fmt::format("(?:(?!{})(?s:.))", set.expression)};
}

class Translator {
 public:
  explicit Translator(std::string_view pattern) : in_(pattern) {}

  std::string translate() {
    while (!done()) step();
    if (caseless_.size() != 1) throw_error(ErrorCode::kInvalidFile, "regular expression: a bracket is not closed");
    return std::move(out_);
  }

 private:
  bool done() const { return at_ >= in_.size(); }
  char peek(size_t ahead = 0) const { return at_ + ahead < in_.size() ? in_[at_ + ahead] : '\0'; }
  bool starts_with(std::string_view s) const { return in_.substr(at_, s.size()) == s; }
  bool take(std::string_view s) {
    if (!starts_with(s)) return false;
    at_ += s.size();
    return true;
  }
  char32_t take_character() {
    if (done()) throw_error(ErrorCode::kInvalidFile, "regular expression: ends too early");
    const Utf8Step step = decode_utf8(in_.substr(at_));
    if (!step.valid()) throw_error(ErrorCode::kInvalidFile, "regular expression: not UTF-8");
    at_ += step.length;
    return step.code;
  }

  void step() {
    const bool quantified = std::exchange(after_brace_, false);
    const char c = peek();
    switch (c) {
      case '\\':
        ++at_;
        return escape();
      case '[':
        ++at_;
        out_ += bracket(0).one();
        last_literal_ = 0;
        return;
      case '(':
        ++at_;
        last_literal_ = 0;
        return open();
      case ')':
        if (caseless_.size() > 1) caseless_.pop_back();
        break;
      case '{':
        return brace();
      case '+':
      case '?':
        // In PCRE2 `{2}+` is possessive and `{2}?` lazy; in Oniguruma they repeat a repetition.
        if (quantified) unsupported("a quantifier after {...}");
        break;
      case '*':
      case '.':
      case '^':
      case '$':
      case '|':
        break;
      default:
        return literal(take_character());
    }
    out_ += c;
    ++at_;
    last_literal_ = 0;
  }

  // Without case some pairs of letters are one character for Oniguruma ("ss" and U+00DF), but never for PCRE2.
  void literal(char32_t c) {
    if (caseless_.back()) {
      if (c >= 0x80) unsupported("(?i) with a character beyond ASCII");
      const auto lower = [](char32_t x) { return x >= 'A' && x <= 'Z' ? x + 32 : x; };
      const char32_t a = lower(last_literal_), b = lower(c);
      if ((a == 's' && (b == 's' || b == 't')) || (a == 'f' && (b == 'f' || b == 'i' || b == 'l'))) {
        unsupported("(?i) with \"ss\", \"st\", \"ff\", \"fi\" or \"fl\"");
      }
      last_literal_ = c;
    }
    append_literal(c);
  }

  void append_literal(char32_t c) {
    const bool plain = c >= 0x80 || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
    if (!plain && c > ' ' && c < 0x7F) out_ += '\\';
    if (c < ' ' || c == 0x7F) {
      out_ += fmt::format("\\x{{{:X}}}", static_cast<uint32_t>(c));
    } else {
      append_utf8(out_, c);
    }
  }

  // Behind '('.
  void open() {
    bool caseless = caseless_.back();
    if (peek() != '?') {
      if (peek() == '*') unsupported("(*");
      out_ += "(?:";  // nothing refers to groups
    } else if (take("?#")) {
      while (!done() && in_[at_] != ')') ++at_;
      if (!take(")")) throw_error(ErrorCode::kInvalidFile, "regular expression: a comment is not closed");
      return;
    } else if (take("?<=")) {
      out_ += "(?<=";
    } else if (take("?<!")) {
      out_ += "(?<!";
    } else if (peek(1) == ':' || peek(1) == '=' || peek(1) == '!' || peek(1) == '>') {
      out_ += std::string("(?") + peek(1);
      at_ += 2;
    } else if (take("?<")) {
      while (!done() && in_[at_] != '>') ++at_;
      if (!take(">")) throw_error(ErrorCode::kInvalidFile, "regular expression: a group's name is not closed");
      out_ += "(?:";
    } else {
      return options();
    }
    caseless_.push_back(caseless);
  }

  // Behind '(' of (?i) (?i:...) (?m-i:...).
  void options() {
    ++at_;
    std::string translated;
    bool on = true, caseless = caseless_.back();
    for (;; ++at_) {
      const char c = peek();
      if (c == '-') {
        on = false;
        translated += '-';
      } else if (c == 'i') {
        caseless = on;
        translated += 'i';
      } else if (c == 'm') {
        translated += 's';  // the dot matches a newline
      } else if (c == ':' || c == ')') {
        ++at_;
        out_ += fmt::format("(?{}{}", translated, c);
        if (c == ':') {
          caseless_.push_back(caseless);
        } else {
          // Oniguruma lets it reach over the alternatives behind it, as a group to the end; so does PCRE2.
          caseless_.back() = caseless;
        }
        return;
      } else {
        unsupported(fmt::format("(?{}", c));
      }
    }
  }

  // {n} {n,} {n,m} {,m}; anything else is text.
  void brace() {
    size_t i = at_ + 1;
    std::string low, high;
    while (i < in_.size() && in_[i] >= '0' && in_[i] <= '9') low += in_[i++];
    const bool comma = i < in_.size() && in_[i] == ',';
    if (comma) {
      ++i;
      while (i < in_.size() && in_[i] >= '0' && in_[i] <= '9') high += in_[i++];
    }
    if (i >= in_.size() || in_[i] != '}' || (low.empty() && high.empty())) {
      ++at_;
      return literal('{');
    }
    at_ = i + 1;
    out_ += fmt::format("{{{}{}{}}}", low.empty() ? "0" : low, comma ? "," : "", high);
    after_brace_ = true;
    last_literal_ = 0;
  }

  // Behind '\', outside of brackets.
  void escape() {
    last_literal_ = 0;
    const char c = peek();
    const std::string word = fmt::format("[{}]", kWord);
    if (const auto set = class_escape()) {
      out_ += set->one();
      return;
    }
    switch (c) {
      case 'b':
        out_ += fmt::format("(?:(?<={0})(?!{0})|(?<!{0})(?={0}))", word);
        break;
      case 'B':
        out_ += fmt::format("(?:(?<={0})(?={0})|(?<!{0})(?!{0}))", word);
        break;
      case 'A':
      case 'z':
      case 'Z':
        out_ += std::string("\\") + c;
        break;
      case 'R':
        out_ += R"((?>\r\n|[\n-\r\x{85}\x{2028}\x{2029}]))";
        break;
      case 'O':
        out_ += "(?s:.)";
        break;
      case 'N':
        out_ += R"([^\n])";
        break;
      default:
        return literal(character_escape());
    }
    ++at_;
  }

  // \s and its like, \p{...}: `at_` moves behind it. Nothing happens when it is none.
  std::optional<CharacterSet> class_escape() {
    const char c = peek();
    const auto known = [&](std::string_view body, bool negative) {
      ++at_;
      const CharacterSet set{std::string(body), {}};
      return negative ? negated(set) : set;
    };
    switch (c) {
      case 's':
      case 'S':
        return known(kSpace, c == 'S');
      case 'w':
      case 'W':
        return known(kWord, c == 'W');
      case 'd':
      case 'D':
        return known(kDigit, c == 'D');
      case 'h':
      case 'H':
        return known(kHex, c == 'H');
      case 'p':
      case 'P':
        return property();
      default:
        return std::nullopt;
    }
  }

  CharacterSet property() {
    bool negative = peek() == 'P';
    if (peek(1) != '{') unsupported(fmt::format("\\{} without braces", peek()));
    at_ += 2;
    if (take("^")) negative = !negative;
    const size_t close = in_.find('}', at_);
    if (close == std::string_view::npos)
      throw_error(ErrorCode::kInvalidFile, "regular expression: \\p{{ is not closed");
    const std::string_view name = in_.substr(at_, close - at_);
    at_ = close + 1;
    const CharacterSet set{named_set(name), {}};
    return negative ? negated(set) : set;
  }

  std::string named_set(std::string_view name) const {
    std::string plain;
    for (char c : name) {
      if (c != '_' && c != '-' && c != ' ') plain += c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    }
    for (const Named& property : kProperties) {
      if (property.name != plain) continue;
      if (caseless_.back() && (plain[0] == 'l' || plain[0] == 'u') && plain != "l" && plain != "letter") {
        unsupported(fmt::format("(?i) with \\p{{{}}}", name));
      }
      return std::string(property.body);
    }
    if (std::find(std::begin(kScripts), std::end(kScripts), plain) != std::end(kScripts)) {
      return fmt::format("\\p{{sc:{}}}", plain);
    }
    unsupported(fmt::format("\\p{{{}}}", name.substr(0, 60)));
  }

  // One character written with a backslash, which is behind us.
  char32_t character_escape() {
    const char32_t c = take_character();
    switch (c) {
      case 't':
        return '\t';
      case 'n':
        return '\n';
      case 'r':
        return '\r';
      case 'f':
        return '\f';
      case 'v':
        return '\v';
      case 'a':
        return '\a';
      case 'e':
        return 0x1B;
      case 'u':
        return hex(4, 4);
      case 'x': {
        if (take("{")) {
          const char32_t code = hex(1, 8);
          if (!take("}")) throw_error(ErrorCode::kInvalidFile, "regular expression: \\x{{ is not closed");
          return code;
        }
        const char32_t code = hex(1, 2);
        if (code >= 0x80) unsupported("\\x with a byte that is no character");
        return code;
      }
      default:
        break;
    }
    if ((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z')) {
      unsupported(fmt::format("\\{}", static_cast<char>(c)));
    }
    return c;
  }

  char32_t hex(size_t least, size_t most) {
    char32_t code = 0;
    size_t n = 0;
    for (; n < most; ++n, ++at_) {
      const char c = peek();
      const int digit = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (digit < 0) break;
      code = code * 16 + static_cast<char32_t>(digit);
      if (code > 0x10FFFF) break;
    }
    if (n < least || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) {
      throw_error(ErrorCode::kInvalidFile, "regular expression: not a character in hexadecimal digits");
    }
    return code;
  }

  static std::string code_point(char32_t c) { return fmt::format("\\x{{{:X}}}", static_cast<uint32_t>(c)); }

  // Behind '['.
  CharacterSet bracket(int depth) {
    if (depth > 16) unsupported("a class nested deeper than 16");
    const bool negative = take("^");
    std::vector<CharacterSet> factors;  // of an intersection
    CharacterSet sum;
    std::vector<std::string> others;  // of the union, what no body can say
    bool first = true;
    const auto finish = [&] {
      if (!others.empty()) {
        std::string all = sum.body.empty() ? std::string() : fmt::format("[{}]", sum.body);
        for (const std::string& other : others) all += (all.empty() ? "" : "|") + other;
        sum.expression = fmt::format("(?:{})", all);
      } else if (sum.body.empty()) {
        throw_error(ErrorCode::kInvalidFile, "regular expression: an empty class");
      }
      factors.push_back(std::move(sum));
      sum = {};
      others.clear();
    };
    const auto add = [&](const CharacterSet& set) {
      if (set.expression.empty()) {
        sum.body += set.body;
      } else {
        others.push_back(set.expression);
      }
    };
    for (;; first = false) {
      if (done()) throw_error(ErrorCode::kInvalidFile, "regular expression: a class is not closed");
      if (!first && take("]")) break;
      if (take("&&")) {
        finish();
      } else if (take("[:")) {
        add(posix());
      } else if (take("[")) {
        add(bracket(depth + 1));
      } else if (take("\\")) {
        if (peek() == 'b') {
          ++at_;
          range('\b', sum.body);
        } else if (const auto set = class_escape()) {
          add(*set);
          if (peek() == '-' && peek(1) != ']') unsupported("a range that starts with a class");
        } else {
          range(character_escape(), sum.body);
        }
      } else {
        range(take_character(), sum.body);
      }
    }
    finish();
    CharacterSet all = std::move(factors.back());
    if (factors.size() > 1) {
      std::string both = "(?:";
      for (size_t i = 0; i + 1 < factors.size(); ++i) both += fmt::format("(?={})", factors[i].one());
      all.expression = both + all.one() + ")";
    }
    return negative ? negated(all) : all;
  }

  // A character in a class, or the range it starts.
  void range(char32_t low, std::string& body) {
    char32_t high = low;
    if (peek() == '-' && peek(1) != ']' && peek(1) != '\0') {
      ++at_;
      if (peek() == '[' || starts_with("&&")) unsupported("a range that ends with a class");
      if (take("\\")) {
        if (peek() == 'p' || peek() == 'P' || peek() == 's' || peek() == 'w' || peek() == 'd' || peek() == 'h') {
          unsupported("a range that ends with a class");
        }
        high = character_escape();
      } else {
        high = take_character();
      }
    }
    if (low > high) throw_error(ErrorCode::kInvalidFile, "regular expression: a range that runs backwards");
    if (caseless_.back() && high >= 0x80) unsupported("(?i) with a character beyond ASCII");
    body += code_point(low);
    if (high != low) body += fmt::format("-{}", code_point(high));
  }

  // Behind "[:".
  CharacterSet posix() {
    const bool negative = take("^");
    const size_t close = in_.find(":]", at_);
    if (close == std::string_view::npos) unsupported("[: in a class");
    const std::string_view name = in_.substr(at_, close - at_);
    at_ = close + 2;
    for (std::string_view known : {"alpha", "digit", "space", "upper", "lower", "alnum", "word", "xdigit", "ascii"}) {
      if (name != known) continue;
      const CharacterSet set{named_set(name), {}};
      return negative ? negated(set) : set;
    }
    unsupported(fmt::format("[:{}:]", name.substr(0, 60)));
  }

  std::string_view in_;
  size_t at_ = 0;
  std::string out_;
  std::vector<bool> caseless_{false};  // of each open group
  char32_t last_literal_ = 0;          // the one just before, while case does not matter
  bool after_brace_ = false;
};

}  // namespace

std::string pcre2_from_oniguruma(std::string_view pattern) { return Translator(pattern).translate(); }

}  // namespace ingle
