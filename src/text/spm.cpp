// A symbol is a stretch of the text; joining two neighbours is a longer stretch, looked up among the tokens. The pair
// with the highest score is joined first, of equal ones the leftmost.
//
// The text is cut before spaces where nothing can join, which keeps the heap small and lets a word that is a token be
// looked up whole.
#include "text/spm.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "text/space_mark.h"
#include "text/utf8.h"

namespace ingle {
namespace {

// Looking up a pair costs its length, so a file's longest token bounds the cost of a text. Real ones stay below 100
// bytes.
constexpr size_t kLongestToken = 1024;
constexpr uint32_t kEnd = UINT32_MAX;

struct Symbol {
  size_t begin;
  size_t size;  // 0: joined into one further left
  uint32_t previous, next;
};

struct Candidate {
  float score;
  uint32_t left;
  uint32_t size;  // of both together. Starts do not move, so an equal size means nothing has changed

  bool operator<(const Candidate& other) const {  // of a max-heap
    return score != other.score ? score < other.score : left > other.left;
  }
};

}  // namespace

struct SpmTokenizer::Scratch {
  std::vector<Symbol> symbols;
  std::vector<Candidate> heap;
  bool in_unknown = false;  // the last token stands for characters that are none
};

SpmTokenizer::SpmTokenizer(Vocabulary v)
    : TokenizerBase(
          std::move(v),
          {.ids = {.bos = 1, .eos = 2, .unknown = 0, .padding = std::nullopt}, .add_bos = true, .spaces_marked = true}),
      add_space_prefix_(vocabulary().add_space_prefix.value_or(true)),
      words_(vocabulary().tokens.size()),
      whole_(vocabulary().tokens.size()) {
  read_words();
  find_byte_tokens();
}

void SpmTokenizer::read_words() {
  size_t too_long = 0;
  for (TokenId id = 0; id < size(); ++id) {
    const std::string& text = vocabulary().tokens[static_cast<size_t>(id)];
    const TokenKind kind = vocabulary().kinds[static_cast<size_t>(id)];
    // Text never becomes a control token, the unknown token or a byte token by being spelt like one.
    if (kind == TokenKind::kControl || kind == TokenKind::kUnknown || kind == TokenKind::kByte) continue;
    if (text.size() > kLongestToken) {
      ++too_long;
      continue;
    }
    words_.insert(text, id);
    longest_ = std::max(longest_, text.size());
    for (size_t i = text.find(kSpaceMark, 1); i != std::string::npos; i = text.find(kSpaceMark, i + 1)) {
      cutter_.joins_after(text[i - 1]);
    }
  }
  if (too_long > 0) {
    warn(fmt::format("tokenizer.ggml.tokens: {} are longer than {} bytes and are never made from text", too_long,
                     kLongestToken));
  }
}

void SpmTokenizer::find_byte_tokens() {
  int missing = 0;
  for (int b = 0; b < 256; ++b) {
    auto id = find(fmt::format("<0x{:02X}>", b));
    if (!id) id = find(std::string(1, static_cast<char>(b)));
    byte_tokens_[static_cast<size_t>(b)] = id.value_or(-1);
    missing += !id.has_value();
  }
  if (missing > 0) warn(fmt::format("tokenizer.ggml.tokens: {} bytes have no token", missing));
}

void SpmTokenizer::append_normal(TokenId id, std::string& out) const {
  append_unmarked(vocabulary().tokens[static_cast<size_t>(id)], out);
}

void SpmTokenizer::encode_fragment(std::string_view fragment, bool after_special, std::vector<TokenId>& out) const {
  std::string text;
  if (add_space_prefix_ && after_special) text += kSpaceMark;
  append_marked(fragment, text);
  Scratch scratch;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = cutter_.word_end(text, begin);
    encode_word(std::string_view(text).substr(begin, end - begin), scratch, out);
    begin = end;
  }
}

void SpmTokenizer::encode_word(std::string_view word, Scratch& scratch, std::vector<TokenId>& out) const {
  const TokenId id = word.size() <= longest_ ? words_.find(word) : -1;
  if (id >= 0 && whole_.contains(id)) {
    out.push_back(id);
    scratch.in_unknown = false;
    return;
  }
  merge(word, scratch);
  if (id >= 0 && scratch.symbols.front().size == word.size()) whole_.insert(id);
  for (uint32_t i = 0; i != kEnd; i = scratch.symbols[i].next) {
    const std::string_view symbol = word.substr(scratch.symbols[i].begin, scratch.symbols[i].size);
    if (const TokenId token = words_.find(symbol); token >= 0) {
      out.push_back(token);
      scratch.in_unknown = false;
    } else {
      append_bytes(symbol, scratch, out);
    }
  }
}

// Leaves the final symbols as a linked list that starts at 0.
void SpmTokenizer::merge(std::string_view word, Scratch& scratch) const {
  std::vector<Symbol>& symbols = scratch.symbols;
  std::vector<Candidate>& heap = scratch.heap;
  symbols.clear();
  for (size_t i = 0; i < word.size();) {
    const Utf8Step step = decode_utf8(word.substr(i));
    const size_t size = step.valid() ? step.length : 1;  // a bad byte stands alone
    const auto n = static_cast<uint32_t>(symbols.size());
    if (n >= kEnd - 1) throw_error(ErrorCode::kInvalidArgument, "text: a word of {} bytes is too long", word.size());
    symbols.push_back({i, size, n == 0 ? kEnd : n - 1, n + 1});
    i += size;
  }
  symbols.back().next = kEnd;

  const auto push = [&](uint32_t left) {
    const Symbol& a = symbols[left];
    const size_t size = a.size + symbols[a.next].size;
    if (size > longest_) return;
    const TokenId id = words_.find(word.substr(a.begin, size));
    if (id < 0) return;
    float score = vocabulary().scores[static_cast<size_t>(id)];
    if (std::isnan(score)) score = -std::numeric_limits<float>::infinity();  // an order needs numbers
    heap.push_back({score, left, static_cast<uint32_t>(size)});
    std::push_heap(heap.begin(), heap.end());
  };
  for (uint32_t i = 0; i + 1 < symbols.size(); ++i) push(i);
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end());
    const Candidate c = heap.back();
    heap.pop_back();
    Symbol& left = symbols[c.left];
    if (left.size == 0 || left.next == kEnd || left.size + symbols[left.next].size != c.size) continue;
    Symbol& right = symbols[left.next];
    left.size = c.size;
    right.size = 0;
    left.next = right.next;
    if (left.next != kEnd) symbols[left.next].previous = c.left;
    if (left.previous != kEnd) push(left.previous);
    if (left.next != kEnd) push(c.left);
  }
}

// All bytes of the character, or the unknown token, one for a run of such characters.
void SpmTokenizer::append_bytes(std::string_view character, Scratch& scratch, std::vector<TokenId>& out) const {
  const bool all = std::all_of(character.begin(), character.end(),
                               [&](char c) { return byte_tokens_[static_cast<unsigned char>(c)] >= 0; });
  if (all) {
    for (char c : character) out.push_back(byte_tokens_[static_cast<unsigned char>(c)]);
  } else if (ids().unknown && !scratch.in_unknown) {
    out.push_back(*ids().unknown);
  }
  scratch.in_unknown = !all;
}

}  // namespace ingle
