// Two engines with one answer: machine code on a small stack first; when that stack is too small, the interpreter,
// whose frames are on the heap and bounded.
#include "text/regex_splitter.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/error.h"
#include "text/word_scanners.h"

namespace ingle {
namespace {

// PCRE2's \s also holds U+180E, which left White_Space in Unicode 6.3.
constexpr std::string_view kWhiteSpace = R"(\t-\r\x{85}\p{Z})";

std::string to_pcre2(std::string_view pattern) {
  std::string out;
  bool in_class = false;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c == '\\' && i + 1 < pattern.size()) {
      const char escaped = pattern[++i];
      if (escaped == 's' && in_class) {
        out += kWhiteSpace;
      } else if (escaped == 's' || escaped == 'S') {
        INGLE_CHECK(!in_class);  // \S inside brackets: nobody needs it
        out.append(escaped == 's' ? "[" : "[^").append(kWhiteSpace).append("]");
      } else {
        out.append({c, escaped});
      }
      continue;
    }
    if (c == '[') in_class = true;
    if (c == ']') in_class = false;
    out += c;
  }
  return out;
}

// A match looks at each character a few times, so a million is reached by texts of a megabyte in one word; the
// interpreter counts every step back. Both limits are for runaways.
constexpr uint32_t kMatchLimit = 1u << 30;
constexpr uint32_t kHeapLimitKib = 256 * 1024;

}  // namespace

struct RegexSplitter::Code {
  pcre2_code* code = nullptr;
  bool in_threes = false;
  WordScanner scanner = nullptr;  // then there is no code

  ~Code() { pcre2_code_free(code); }
};

RegexSplitter::Scratch::Scratch()
    : match_data_(pcre2_match_data_create(1, nullptr)), match_context_(pcre2_match_context_create(nullptr)) {
  if (match_data_ == nullptr || match_context_ == nullptr) throw_error(ErrorCode::kOutOfMemory, "regex: no memory");
  auto* context = static_cast<pcre2_match_context*>(match_context_);
  pcre2_set_match_limit(context, kMatchLimit);
  pcre2_set_heap_limit(context, kHeapLimitKib);
}

RegexSplitter::Scratch::~Scratch() {
  pcre2_match_data_free(static_cast<pcre2_match_data*>(match_data_));
  pcre2_match_context_free(static_cast<pcre2_match_context*>(match_context_));
}

RegexSplitter::RegexSplitter(std::string_view pattern, bool in_threes, Engine engine)
    : code_(std::make_unique<Code>()) {
  if (engine == Engine::kFastest && !in_threes) code_->scanner = find_word_scanner(pattern);
  if (code_->scanner != nullptr) return;
  const std::string text = to_pcre2(pattern);
  int error = 0;
  PCRE2_SIZE where = 0;
  code_->code =
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(),
                    PCRE2_UTF | PCRE2_UCP | PCRE2_DOLLAR_ENDONLY | PCRE2_NEVER_BACKSLASH_C, &error, &where, nullptr);
  INGLE_CHECK(code_->code != nullptr);  // patterns come from our own table
  code_->in_threes = in_threes;
  pcre2_jit_compile(code_->code, PCRE2_JIT_COMPLETE);  // without it pcre2_match interprets
}

RegexSplitter::RegexSplitter(RegexSplitter&&) noexcept = default;
RegexSplitter& RegexSplitter::operator=(RegexSplitter&&) noexcept = default;
RegexSplitter::~RegexSplitter() = default;

namespace {

// Ends of groups of three characters, the first group taking what is left over.
void cut_in_threes(std::string_view text, size_t begin, size_t end, std::vector<size_t>& ends) {
  const auto starts_character = [&](size_t i) { return (static_cast<unsigned char>(text[i]) & 0xC0) != 0x80; };
  size_t characters = 0;
  for (size_t i = begin; i < end; ++i) characters += starts_character(i);
  for (size_t i = begin; i < end; ++i) {
    if (!starts_character(i)) continue;
    if (i > begin && characters % 3 == 0) ends.push_back(i);
    --characters;
  }
  ends.push_back(end);
}

}  // namespace

void RegexSplitter::split(std::string_view text, size_t begin, size_t end, Scratch& scratch,
                          std::vector<size_t>& ends) const {
  if (code_->scanner != nullptr) return code_->scanner(text, begin, end, ends);
  auto* data = static_cast<pcre2_match_data*>(scratch.match_data_);
  auto* context = static_cast<pcre2_match_context*>(scratch.match_context_);
  const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data() + begin);
  const size_t size = end - begin;
  size_t position = 0;  // all before it has been given out
  while (position < size) {
    int found = pcre2_match(code_->code, subject, size, position, PCRE2_NO_UTF_CHECK, data, context);
    if (found == PCRE2_ERROR_JIT_STACKLIMIT) {
      found = pcre2_match(code_->code, subject, size, position, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, data, context);
    }
    if (found == PCRE2_ERROR_NOMATCH) break;
    if (found < 0) {
      throw_error(ErrorCode::kInvalidArgument, "text: splitting into words gave up at byte {} of {} (PCRE2 error {})",
                  begin + position, text.size(), found);
    }
    const PCRE2_SIZE* match = pcre2_get_ovector_pointer(data);
    INGLE_CHECK(match[1] > match[0]);  // no pattern of ours matches nothing
    if (match[0] > position) ends.push_back(begin + match[0]);
    if (code_->in_threes) {
      cut_in_threes(text, begin + match[0], begin + match[1], ends);
    } else {
      ends.push_back(begin + match[1]);
    }
    position = match[1];
  }
  if (position < size) ends.push_back(end);
}

}  // namespace ingle
