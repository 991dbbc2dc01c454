#include "text/spm_normalizer.h"

#include "text/space_mark.h"
#include "text/utf8.h"

namespace ingle {
namespace {

// What stands at the front of `text`, and what becomes of it.
struct Step {
  size_t length;
  std::string_view result;
};

Step next_step(const SpmNormalizer& n, std::string_view text) {
  if (const size_t length = n.user_defined.longest(text).length; length > 0) return {length, text.substr(0, length)};
  if (n.charsmap) {
    if (const auto match = n.charsmap->longest(text)) return {match->length, match->replacement};
  }
  const Utf8Step step = decode_utf8(text);
  if (!step.valid()) return {1, kReplacementCharacter};
  return {step.length, text.substr(0, step.length)};
}

}  // namespace

std::string SpmNormalizer::normalize(std::string_view text) const {
  std::string out;
  if (remove_extra_whitespaces) {
    while (!text.empty()) {
      const Step step = next_step(*this, text);
      if (step.result != " ") break;
      text.remove_prefix(step.length);
    }
  }
  if (text.empty()) return out;
  out.reserve(text.size() + text.size() / 2);
  if (add_space_prefix && !space_is_suffix) out += kSpaceMark;
  bool after_space = true;
  while (!text.empty()) {
    Step step = next_step(*this, text);
    text.remove_prefix(step.length);
    if (remove_extra_whitespaces && after_space) {
      while (step.result.starts_with(' ')) step.result.remove_prefix(1);
    }
    if (step.result.empty()) continue;
    after_space = step.result.back() == ' ';
    append_marked(step.result, out);
  }
  if (remove_extra_whitespaces) {
    while (std::string_view(out).ends_with(kSpaceMark)) out.resize(out.size() - kSpaceMark.size());
  }
  if (add_space_prefix && space_is_suffix) out += kSpaceMark;  // also after nothing, as in SentencePiece
  return out;
}

}  // namespace ingle
