// Every step but those that rewrite the text is one loop over the pieces: find the matches in each, then keep, drop or
// join matches and gaps as its behaviour says.
#include "text/hf_pre_tokenizer.h"

#include "text/byte_alphabet.h"
#include "text/unicode.h"
#include "text/unicode_classes.h"
#include "text/utf8.h"
#include "text/word_characters.h"

namespace ingle {
namespace {

using Behavior = HfPreStep::Behavior;
using Kind = HfPreStep::Kind;

constexpr std::string_view kGpt2Words = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

struct Part {
  size_t begin, end;
  bool match;
};

// Matches and the gaps between them, from begin to end.
void fill_gaps(const std::vector<TextRange>& matches, size_t size, std::vector<Part>& parts) {
  size_t position = 0;
  for (const TextRange& match : matches) {
    if (match.begin > position) parts.push_back({position, match.begin, false});
    parts.push_back({match.begin, match.end, true});
    position = match.end;
  }
  if (position < size) parts.push_back({position, size, false});
}

// Joins neighbours in place.
void join(Behavior behavior, std::vector<Part>& parts) {
  size_t out = 0;
  if (behavior == Behavior::kContiguous || behavior == Behavior::kMergedWithPrevious) {
    bool before = false;
    for (const Part part : parts) {
      const bool joins = behavior == Behavior::kContiguous ? part.match == before : part.match && !before;
      before = part.match;
      if (joins && out > 0) {
        parts[out - 1].end = part.end;
      } else {
        parts[out++] = part;
      }
    }
    parts.resize(out);
  } else if (behavior == Behavior::kMergedWithNext) {
    out = parts.size();
    bool after = false;
    for (size_t i = parts.size(); i-- > 0;) {
      const Part part = parts[i];
      const bool joins = part.match && !after;
      after = part.match;
      if (joins && out < parts.size()) {
        parts[out].begin = part.begin;
      } else {
        parts[--out] = part;
      }
    }
    parts.erase(parts.begin(), parts.begin() + static_cast<ptrdiff_t>(out));
  }
}

// find(text, matches) says where the matches are.
template <class Find>
void split(HfPieces& all, Behavior behavior, bool invert, Find&& find) {
  std::vector<TextRange> pieces, matches;
  std::vector<Part> parts;
  pieces.reserve(all.pieces.size());
  for (const TextRange& piece : all.pieces) {
    matches.clear();
    parts.clear();
    const std::string_view text = std::string_view(all.text).substr(piece.begin, piece.end - piece.begin);
    find(text, matches);
    fill_gaps(matches, text.size(), parts);
    if (invert) {
      for (Part& part : parts) part.match = !part.match;
    }
    join(behavior, parts);
    for (const Part& part : parts) {
      if (part.begin == part.end || (part.match && behavior == Behavior::kRemoved)) continue;
      pieces.push_back({piece.begin + part.begin, piece.begin + part.end});
    }
  }
  all.at_start = all.at_start && !pieces.empty() && pieces.front().begin == all.pieces.front().begin;
  all.pieces = std::move(pieces);
}

// Each character that `is` is a match by itself.
template <class Is>
void split_at(HfPieces& all, Behavior behavior, Is&& is) {
  split(all, behavior, false, [&](std::string_view text, std::vector<TextRange>& matches) {
    for (size_t i = 0; i < text.size();) {
      const Utf8Step step = decode_utf8(text.substr(i));
      if (is(step.code)) matches.push_back({i, i + step.length});
      i += step.length;
    }
  });
}

bool is_punctuation(char32_t c) noexcept {
  if (c >= 0x80) return is_in(c, kPunctuation);
  return (c >= 0x21 && c <= 0x2F) || (c >= 0x3A && c <= 0x40) || (c >= 0x5B && c <= 0x60) || (c >= 0x7B && c <= 0x7E);
}

// \w+|[^\w\s]+
void find_words(std::string_view text, std::vector<TextRange>& matches) {
  enum class Class { kSpace, kWord, kOther };
  Class before = Class::kSpace;
  for (size_t i = 0; i < text.size();) {
    const Utf8Step step = decode_utf8(text.substr(i));
    const Class now = is_white_space(step.code)      ? Class::kSpace
                      : is_word_character(step.code) ? Class::kWord
                                                     : Class::kOther;
    if (now != Class::kSpace) {
      if (now != before) matches.push_back({i, i});
      matches.back().end = i + step.length;
    }
    before = now;
    i += step.length;
  }
}

void cut_to_length(size_t characters, HfPieces& all) {
  split(all, Behavior::kIsolated, false, [&](std::string_view text, std::vector<TextRange>& matches) {
    size_t n = 0;
    for (size_t i = 0; i < text.size();) {
      if (n++ % characters == 0) matches.push_back({i, i});
      i += decode_utf8(text.substr(i)).length;
      matches.back().end = i;
    }
  });
}

// rewrite(piece, n, out) appends what becomes of piece number n.
template <class Rewrite>
void rewrite(HfPieces& all, Rewrite&& rewrite_piece) {
  std::string out;
  out.reserve(all.text.size() + all.text.size() / 4);
  for (size_t n = 0; n < all.pieces.size(); ++n) {
    TextRange& piece = all.pieces[n];
    const size_t begin = out.size();
    rewrite_piece(std::string_view(all.text).substr(piece.begin, piece.end - piece.begin), n, out);
    piece = {begin, out.size()};
  }
  all.text = std::move(out);
}

void mark_spaces(const HfPreStep& step, HfPieces& all) {
  const std::string& mark = step.text;
  rewrite(all, [&](std::string_view piece, size_t n, std::string& out) {
    const bool prepends = step.prepend == HfPreStep::Prepend::kAlways ||
                          (step.prepend == HfPreStep::Prepend::kFirst && all.at_start && n == 0);
    if (prepends && !piece.starts_with(' ') && !piece.starts_with(mark)) out += mark;
    for (char c : piece) {
      if (c == ' ') {
        out += mark;
      } else {
        out += c;
      }
    }
  });
  if (!step.split) return;
  split(all, Behavior::kMergedWithNext, false, [&](std::string_view text, std::vector<TextRange>& matches) {
    for (size_t i = text.find(mark); i != std::string_view::npos; i = text.find(mark, i + mark.size())) {
      matches.push_back({i, i + mark.size()});
    }
  });
}

void write_in_byte_alphabet(HfPieces& all) {
  rewrite(all, [](std::string_view piece, size_t, std::string& out) {
    for (char c : piece) append_utf8(out, kByteToCharacter[static_cast<unsigned char>(c)]);
  });
}

}  // namespace

HfPreTokenizer::HfPreTokenizer(std::vector<HfPreStep> steps) {
  for (HfPreStep& what : steps) {
    Step& step = steps_.emplace_back();
    step.what = std::move(what);
    if (step.what.kind == Kind::kSplit) step.pattern.emplace(step.what.text, step.what.is_regex);
    if (step.what.kind == Kind::kByteLevel && step.what.use_regex) step.pattern.emplace(std::string(kGpt2Words), true);
  }
}

void HfPreTokenizer::apply(HfPieces& pieces, FileRegex::Scratch& scratch) const {
  for (const Step& step : steps_) apply(step, pieces, scratch);
}

void HfPreTokenizer::apply(const Step& step, HfPieces& all, FileRegex::Scratch& scratch) const {
  const HfPreStep& what = step.what;
  const auto find = [&](std::string_view text, std::vector<TextRange>& matches) {
    step.pattern->find_all(text, scratch, matches);
  };
  switch (what.kind) {
    case Kind::kSplit:
      return split(all, what.behavior, what.invert, find);
    case Kind::kByteLevel:
      if (what.add_prefix_space) {
        rewrite(all, [](std::string_view piece, size_t, std::string& out) {
          if (!piece.starts_with(' ')) out += ' ';
          out += piece;
        });
      }
      if (step.pattern) split(all, Behavior::kIsolated, false, find);
      return write_in_byte_alphabet(all);
    case Kind::kDigits:
      return split_at(all, what.individually ? Behavior::kIsolated : Behavior::kContiguous,
                      [](char32_t c) { return is_in(c, kNumbers); });
    case Kind::kPunctuation:
      return split_at(all, what.behavior, is_punctuation);
    case Kind::kMetaspace:
      return mark_spaces(what, all);
    case Kind::kWhitespace:
      return split(all, Behavior::kRemoved, true, find_words);
    case Kind::kWhitespaceSplit:
      return split_at(all, Behavior::kRemoved, is_white_space);
    case Kind::kBert:
      split_at(all, Behavior::kRemoved, is_white_space);
      return split_at(all, Behavior::kIsolated, is_punctuation);
    case Kind::kFixedLength:
      return cut_to_length(what.length, all);
  }
}

}  // namespace ingle
