// Machine code on a small stack first; when that is too small, on a large one, made only then; without machine code,
// the interpreter, whose frames are on the heap and bounded. One match may cost so many steps, and all matches in a
// text so much time: an expression may be chosen to cost its square.
#include "text/file_regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "base/error.h"
#include "text/utf8.h"

namespace ingle {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMaxPattern = 64 * 1024;  // bytes, after translation
constexpr uint32_t kHeapLimitKib = 256 * 1024;
constexpr size_t kStackBytes = size_t{256} << 20;  // at most, of the large stack; it grows as it is used

// Real expressions look at a character a few times, also when a text of a megabyte is one word.
uint32_t match_limit(size_t text_bytes) {
  return static_cast<uint32_t>(std::min<uint64_t>(uint64_t{1} << 30, (1u << 22) + uint64_t{32} * text_bytes));
}

// Real ones do ten megabytes and more in a second; this is a hundredth of that.
Clock::duration time_limit(size_t text_bytes) {
  return std::chrono::seconds(5) + std::chrono::microseconds(10 * text_bytes);
}

}  // namespace

struct FileRegex::Code {
  pcre2_code* code = nullptr;

  ~Code() { pcre2_code_free(code); }
};

struct FileRegex::Scratch::State {
  pcre2_match_data* data = pcre2_match_data_create(1, nullptr);
  pcre2_match_context* context = pcre2_match_context_create(nullptr);
  pcre2_jit_stack* stack = nullptr;

  // False when there is one already.
  bool enlarge_stack() {
    if (stack != nullptr) return false;
    stack = pcre2_jit_stack_create(64 * 1024, kStackBytes, nullptr);
    pcre2_jit_stack_assign(context, nullptr, stack);
    return stack != nullptr;
  }

  ~State() {
    pcre2_jit_stack_free(stack);
    pcre2_match_data_free(data);
    pcre2_match_context_free(context);
  }
};

FileRegex::Scratch::Scratch() : state_(std::make_unique<State>()) {
  if (state_->data == nullptr || state_->context == nullptr) throw_error(ErrorCode::kOutOfMemory, "regex: no memory");
  pcre2_set_heap_limit(state_->context, kHeapLimitKib);
}

FileRegex::Scratch::~Scratch() = default;

FileRegex::FileRegex(std::string_view pattern) : code_(std::make_unique<Code>()) {
  if (pattern.size() > kMaxPattern) {
    throw_error(ErrorCode::kUnsupported, "regular expression: {} bytes, at most {}", pattern.size(), kMaxPattern);
  }
  const std::string text = pcre2_from_oniguruma(pattern);
  pcre2_compile_context* context = pcre2_compile_context_create(nullptr);
  if (context == nullptr) throw_error(ErrorCode::kOutOfMemory, "regex: no memory");
  pcre2_set_newline(context, PCRE2_NEWLINE_LF);
  pcre2_set_parens_nest_limit(context, 100);
  int error = 0;
  PCRE2_SIZE where = 0;
  // Lines: ^ and $ match at each, as in Oniguruma's own notation.
  code_->code =
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(),
                    PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C, &error, &where, context);
  pcre2_compile_context_free(context);
  if (code_->code == nullptr) {
    PCRE2_UCHAR message[128] = {};
    pcre2_get_error_message(error, message, sizeof message);
    throw_error(ErrorCode::kInvalidFile, "regular expression: {} (at byte {} of {})",
                reinterpret_cast<const char*>(message), where, text.substr(0, 200));
  }
  pcre2_jit_compile(code_->code, PCRE2_JIT_COMPLETE);  // without it pcre2_match interprets
}

FileRegex::FileRegex(FileRegex&&) noexcept = default;
FileRegex& FileRegex::operator=(FileRegex&&) noexcept = default;
FileRegex::~FileRegex() = default;

void FileRegex::find_all(std::string_view text, Scratch& scratch, std::vector<TextRange>& matches) const {
  Scratch::State& s = *scratch.state_;
  pcre2_set_match_limit(s.context, match_limit(text.size()));
  const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  const auto match = [&](size_t from, uint32_t options) {
    return pcre2_match(code_->code, subject, text.size(), from, PCRE2_NO_UTF_CHECK | options, s.data, s.context);
  };
  std::optional<Clock::time_point> deadline;
  size_t position = 0, last_end = std::string_view::npos;
  for (size_t n = 1; position <= text.size(); ++n) {
    int found = match(position, 0);
    if (found == PCRE2_ERROR_JIT_STACKLIMIT && s.enlarge_stack()) found = match(position, 0);
    if (found == PCRE2_ERROR_NOMATCH) return;
    if (found < 0) {
      throw_error(ErrorCode::kInvalidArgument,
                  "text: the file's regular expression gave up at byte {} of {} (PCRE2 error {})", position,
                  text.size(), found);
    }
    if (n % 64 == 0) {
      const Clock::time_point now = Clock::now();
      if (!deadline) deadline = now + time_limit(text.size());
      if (now > *deadline) {
        throw_error(ErrorCode::kInvalidArgument, "text: the file's regular expression takes too long at byte {} of {}",
                    position, text.size());
      }
    }
    const PCRE2_SIZE* range = pcre2_get_ovector_pointer(s.data);
    if (range[0] == range[1] && range[0] == last_end) {
      if (position >= text.size()) return;
      position += decode_utf8(text.substr(position)).length;
      continue;
    }
    matches.push_back({range[0], range[1]});
    position = last_end = range[1];
  }
}

}  // namespace ingle
