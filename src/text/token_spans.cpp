// Pieces are laid against the text from left to right. Where a piece is not what stands there, both are reduced to bare
// letters (decomposed, without marks, in small letters, without white space) and compared like that.
#include "text/token_spans.h"

#include <algorithm>

#include "text/space_mark.h"
#include "text/template_unicode.h"
#include "text/unicode.h"
#include "text/unicode_classes.h"
#include "text/utf8.h"

namespace ingle {
namespace {

constexpr char32_t kSpaceMarkCode = 0x2581;
// How far an unknown token looks for the piece after it.
constexpr size_t kLookAhead = 1024;

// What normalisers drop between letters. Marks that take space of their own (kMc) are not among it: BERT keeps them.
bool is_dropped(char32_t c) {
  constexpr CategoryMask kDropped = bit(Category::kMn) | bit(Category::kMe) | bit(Category::kCf);
  return c <= 0x10FFFF && is_in(c, kDropped);  // four bytes that are no UTF-8 may say more
}

void append_bare(char32_t c, std::u32string& out) {
  if (is_white_space(c) || c == kSpaceMarkCode || c < 0x20 || (c >= 0x7F && c < 0xA0)) return;
  const auto table = unicode_tables::kDecompositions;
  const auto row = std::ranges::lower_bound(table, c, {}, &unicode_tables::Decomposition::code);
  const bool composed = row != table.end() && row->code == c;
  const std::span<const char32_t> parts =
      composed ? std::span(unicode_tables::kDecomposed + row->offset, row->length) : std::span(&c, 1);
  for (const char32_t part : parts) {
    if (is_dropped(part)) continue;
    std::string small;
    jinja::append_cased(small, part, jinja::CaseForm::kFold);
    for (size_t at = 0; at < small.size();) out += static_cast<char32_t>(jinja::next_code_point(small, at));
  }
}

std::u32string bare(std::string_view text) {
  std::u32string out;
  for (size_t at = 0; at < text.size();) append_bare(jinja::next_code_point(text, at), out);
  return out;
}

class Aligner {
 public:
  Aligner(const Tokenizer& tokenizer, std::string_view text, EncodeOptions options, std::span<const TokenId> ids)
      : tokenizer_(tokenizer), text_(text), options_(options), ids_(ids) {}

  std::vector<TextSpan> run() {
    spans_.reserve(ids_.size());
    bool may_have_prefix = tokenizer_.strips_leading_space();
    for (size_t i = 0; i < ids_.size(); ++i) {
      const TokenKind kind = tokenizer_.kind(ids_[i]);
      const std::string piece = tokenizer_.piece(ids_[i], true);
      const bool special = kind == TokenKind::kControl || kind == TokenKind::kUserDefined;
      const bool added = i == 0 && options_.add_special && tokenizer_.adds_bos();
      if (added || (kind == TokenKind::kControl && !options_.parse_special)) {
        nothing();
      } else if (special || kind == TokenKind::kUnused) {
        if (!literal(piece) && !after_space(piece)) nothing();
      } else if (!(may_have_prefix && piece.starts_with(' ') && literal(std::string_view(piece).substr(1))) &&
                 !literal(piece)) {
        if (kind == TokenKind::kUnknown) {
          unknown(i);
        } else {
          letters(piece);
        }
      }
      may_have_prefix = tokenizer_.strips_leading_space() && special;
    }
    return std::move(spans_);
  }

 private:
  void nothing() { spans_.push_back({at_, at_}); }
  void take(size_t end) {
    spans_.push_back({at_, end});
    at_ = end;
    pending_.clear();
  }

  bool literal(std::string_view piece) {
    if (!pending_.empty() || !text_.substr(at_).starts_with(piece)) return false;
    take(at_ + piece.size());
    return true;
  }

  // A special token that takes the white space before it along.
  bool after_space(std::string_view piece) {
    size_t at = at_;
    while (at < text_.size()) {
      size_t next = at;
      if (!is_white_space(jinja::next_code_point(text_, next))) break;
      at = next;
    }
    if (!text_.substr(at).starts_with(piece)) return false;
    at_ = at;
    take(at + piece.size());
    return true;
  }

  // Characters of the text whose bare letters are the piece's. One character may be several pieces ("ﬁ").
  void letters(std::string_view piece) {
    const std::u32string wanted = bare(piece);
    size_t begin = at_, done = 0;
    if (!pending_.empty() && !spans_.empty()) begin = spans_.back().begin;
    bool begun = !pending_.empty();
    size_t position = at_;
    std::u32string have = std::move(pending_);
    pending_.clear();
    while (done < wanted.size()) {
      if (have.empty()) {
        if (position == text_.size()) break;
        size_t next = position;
        append_bare(jinja::next_code_point(text_, next), have);
        if (!begun) begin = position;
        begun = begun || !have.empty();
        position = next;
        continue;
      }
      if (have.front() != wanted[done]) break;
      have.erase(0, 1);
      ++done;
    }
    if (done < wanted.size()) return nothing();
    // Marks that follow belong to the last letter.
    while (have.empty() && position < text_.size()) {
      size_t next = position;
      if (!is_dropped(jinja::next_code_point(text_, next))) break;
      position = next;
    }
    at_ = std::min(begin, at_);
    spans_.push_back({begun ? begin : at_, position});
    at_ = position;
    pending_ = std::move(have);
  }

  // Up to where the next token's text stands; one character when it is not found.
  void unknown(size_t i) {
    pending_.clear();
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    if (at_ == text_.size()) return nothing();
    size_t end = at_;
    jinja::next_code_point(text_, end);
    std::string next;
    if (i + 1 < ids_.size() && tokenizer_.kind(ids_[i + 1]) == TokenKind::kNormal)
      next = tokenizer_.piece(ids_[i + 1], true);
    if (next.starts_with(' ') && next.size() > 1) next.erase(0, 1);
    if (i + 1 == ids_.size()) {
      end = text_.size();
    } else if (!next.empty()) {
      const size_t found = text_.substr(end, kLookAhead).find(next);
      if (found != text_.npos) end += found;
    }
    while (end > at_ + 1 && text_[end - 1] == ' ') --end;
    take(end);
  }

  const Tokenizer& tokenizer_;
  std::string_view text_;
  EncodeOptions options_;
  std::span<const TokenId> ids_;
  size_t at_ = 0;           // of the text, not yet given to a token
  std::u32string pending_;  // bare letters of the last character that its token left over
  std::vector<TextSpan> spans_;
};

// A stretch of a text that composition changes as a whole, and what it becomes.
struct Stretch {
  size_t from, to;  // where it begins in the text, and in the composed text
  bool changed;
};

// Stretches begin at characters that join nothing before them. The last entry is the end of both.
std::vector<Stretch> stretches(std::string_view text) {
  std::vector<Stretch> all;
  size_t to = 0;
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    jinja::next_code_point(text, end);
    while (end < text.size()) {
      size_t next = end;
      const unicode_tables::NfcProperties& p = nfc_properties(jinja::next_code_point(text, next));
      if (!p.unsafe && p.combining_class == 0) break;
      end = next;
    }
    const std::string_view part = text.substr(at, end - at);
    const std::string composed = to_nfc(part);
    all.push_back({at, to, composed != part});
    to += composed.size();
    at = end;
  }
  all.push_back({text.size(), to, false});
  return all;
}

// Spans in the composed text become spans in the text: a changed stretch counts as one.
void map_back(std::vector<TextSpan>& spans, const std::vector<Stretch>& all) {
  const auto before = [&](size_t at) {  // the last stretch that begins at or before `at`
    return std::prev(std::ranges::upper_bound(all, at, {}, &Stretch::to));
  };
  for (TextSpan& span : spans) {
    const auto first = before(span.begin);
    const bool empty = span.begin == span.end;
    const size_t begin = first->from + (first->changed ? 0 : span.begin - first->to);
    const auto last = empty ? first : before(span.end - 1);
    span.end = empty ? begin : last->changed ? std::next(last)->from : last->from + (span.end - last->to);
    span.begin = begin;
  }
}

}  // namespace

std::vector<TextSpan> token_spans(const Tokenizer& tokenizer, std::string_view text, EncodeOptions options,
                                  std::span<const TokenId> ids) {
  // Some models compose the text first (NFC). Their pieces are the composed text's bytes.
  if (text.size() == valid_utf8_prefix(text) && !is_nfc_quick(text)) {
    const std::string composed = to_nfc(text);
    std::string pieces;
    for (const TokenId id : ids) pieces += tokenizer.piece(id, true);
    if (composed != text && pieces.ends_with(composed)) {
      std::vector<TextSpan> spans = Aligner(tokenizer, composed, options, ids).run();
      map_back(spans, stretches(text));
      return spans;
    }
  }
  return Aligner(tokenizer, text, options, ids).run();
}

}  // namespace ingle
