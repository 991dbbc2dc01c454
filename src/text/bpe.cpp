// Symbols are token ids from the start, so a merge is one look-up of a pair of ids. Most words of a running text came
// by before and are in a cache. A new one that is a token is looked up whole, once it is known that merging would give
// the same; any other is cut where no merge can join, and its parts are cached too.
#include "text/bpe.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "text/byte_alphabet.h"
#include "text/space_mark.h"
#include "text/unicode.h"
#include "text/utf8.h"
#include "text/word_cache.h"

namespace ingle {
namespace {

// Through the byte alphabet. False when a character is not in it; it is then copied as it is.
bool append_alphabet_bytes(std::string_view text, std::string& out) {
  bool all = true;
  while (!text.empty()) {
    const Utf8Step step = decode_utf8(text);
    const int byte = step.valid() && step.code < kByteAlphabetEnd ? kCharacterToByte[step.code] : -1;
    if (byte >= 0) {
      out += static_cast<char>(byte);
    } else {
      out += text.substr(0, step.length);
      all = false;
    }
    text.remove_prefix(step.length);
  }
  return all;
}

}  // namespace

struct BpeTokenizer::Scratch {
  PreTokenizer::Scratch pre;
  std::vector<size_t> ends;
  std::vector<TokenId> symbols;
  BpeMerges::Scratch merging;
  WordCache cache;

  // What one long text needed is not kept for ever.
  void trim() {
    constexpr size_t kKept = 1 << 20;
    if (ends.capacity() > kKept) ends = {};
    if (pre.other.capacity() > kKept) pre.other = {};
    if (symbols.capacity() > kKept) {
      symbols = {};
      merging = {};
    }
  }
};

BpeTokenizer::~BpeTokenizer() = default;

std::unique_ptr<const Tokenizer> BpeTokenizer::create(Vocabulary v) {
  std::string pre = v.pre;
  const bool gemma = v.model == "gemma4";
  if (gemma) pre = "gemma4";
  if (pre.empty()) pre = "default";
  PreTokenizer words = PreTokenizer::create(pre);
  const PreTokenizerFlags& flags = words.flags();
  Traits traits{.add_bos = flags.add_bos,
                .add_separator = flags.add_separator,
                .force_bos = gemma,  // files say false, the model needs it
                .mask_strips = flags.mask_strips};
  if (!gemma) {
    traits.ids.bos = flags.no_bos ? std::nullopt : std::optional<TokenId>(11);
    traits.ids.eos = 11;
  }
  return std::make_unique<BpeTokenizer>(std::move(v), std::move(words), traits);
}

BpeTokenizer::BpeTokenizer(Vocabulary v, PreTokenizer pre, const Traits& traits, const std::vector<BpeMerge>& merges)
    : TokenizerBase(std::move(v), traits),
      pre_(std::move(pre)),
      words_(static_cast<size_t>(size())),
      merges_(std::max(vocabulary().merges.size(), merges.size())),
      whole_(static_cast<size_t>(size())) {
  if (vocabulary().model == "gpt2" && vocabulary().pre.empty()) {
    warn("tokenizer.ggml.pre: missing, \"default\" is used; words may be cut otherwise than in training");
  }
  decode_texts();
  find_byte_tokens();
  cuts_at_marks_ = pre_.flags().raw_utf8 && !pre_.flags().ignore_merges && words_.find(kSpaceMark) >= 0;
  cuts_words_ = missing_bytes_ == 0;  // a byte that is left out lets its neighbours join across it
  for (size_t i = 0; i < merges.size(); ++i) add_merge(merges[i].left, merges[i].right, i, merges[i].result);
  if (merges.empty()) read_merges();
}

void BpeTokenizer::add_merge(TokenId left, TokenId right, size_t rank, TokenId result) {
  merges_.add(left, right, static_cast<uint32_t>(rank), result);
  const std::string_view before = bytes_of(left);
  if (!before.empty() && bytes_of(right).starts_with(kSpaceMark)) cutter_.joins_after(before.back());
  joins_.add(before, bytes_of(right));
  // The text of a byte token is not what it stands for.
  if (kind(left) == TokenKind::kByte || kind(right) == TokenKind::kByte) cuts_words_ = false;
}

void BpeTokenizer::append_normal(TokenId id, std::string& out) const {
  if (pre_.flags().raw_utf8) {
    append_unmarked(bytes_of(id), out);
  } else {
    out += bytes_of(id);
  }
}

// Fills the pool, and words_ with the tokens that text may become.
void BpeTokenizer::decode_texts() {
  const size_t n = vocabulary().tokens.size();
  std::vector<bool> in_alphabet(n, true);
  pool_ends_.reserve(n);
  for (size_t i = 0; i < n; ++i) {
    const std::string& text = vocabulary().tokens[i];
    if (pre_.flags().raw_utf8) {
      pool_ += text;
    } else {
      in_alphabet[i] = append_alphabet_bytes(text, pool_);
    }
    pool_ends_.push_back(pool_.size());
  }
  for (size_t i = 0; i < n; ++i) {  // only now: views into the pool must stay
    const auto id = static_cast<TokenId>(i);
    if (in_alphabet[i] && vocabulary().kinds[i] != TokenKind::kByte && stands_for_text(id)) {
      words_.insert(bytes_of(id), id);
    }
  }
}

// Whether text that was cut free of special tokens may become this token.
bool BpeTokenizer::stands_for_text(TokenId id) const noexcept {
  const TokenKind k = vocabulary().kinds[static_cast<size_t>(id)];
  if (k == TokenKind::kByte) return pre_.flags().raw_utf8;
  if (k == TokenKind::kUserDefined) return bytes_of(id) == vocabulary().tokens[static_cast<size_t>(id)];
  return k != TokenKind::kControl && k != TokenKind::kUnknown;
}

std::string_view BpeTokenizer::bytes_of(TokenId id) const noexcept {
  const auto i = static_cast<size_t>(id);
  const size_t begin = i == 0 ? 0 : pool_ends_[i - 1];
  return std::string_view(pool_).substr(begin, pool_ends_[i] - begin);
}

void BpeTokenizer::find_byte_tokens() {
  int& missing = missing_bytes_ = 0;
  for (int b = 0; b < 256; ++b) {
    std::string text;
    if (pre_.flags().raw_utf8) {
      text = fmt::format("<0x{:02X}>", b);
    } else {
      append_utf8(text, kByteToCharacter[static_cast<size_t>(b)]);
    }
    TokenId& token = byte_tokens_[static_cast<size_t>(b)];
    token = find(text).value_or(-1);
    // Some vocabularies have an added token spelt as a byte's character. It stands for that character, not for the
    // byte.
    if (token >= 0 && !stands_for_text(token)) token = -1;
    // C0, C1 and F5-FF never occur in valid text, and many vocabularies lack them.
    if (token < 0 && b != 0xC0 && b != 0xC1 && b < 0xF5) ++missing;
  }
  if (missing > 0) note(fmt::format("tokenizer.ggml.tokens: {} bytes have no token and are lost", missing));
}

// "A B": the rank is the line's number; a repeated pair keeps its first rank.
void BpeTokenizer::read_merges() {
  const std::vector<std::string>& lines = vocabulary().merges;
  if (lines.empty()) warn("tokenizer.ggml.merges: missing or empty");
  size_t ignored = 0, example = 0;
  std::string joined;
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string_view line = lines[i];
    const size_t space = line.find(' ', 1);
    if (line.size() >= 3 && space != std::string_view::npos && space + 1 < line.size()) {
      const auto left = find(line.substr(0, space)), right = find(line.substr(space + 1));
      joined.assign(line.substr(0, space)).append(line.substr(space + 1));
      const auto result = find(joined);
      if (left && right && result) {
        add_merge(*left, *right, i, *result);
        continue;
      }
    }
    if (ignored++ == 0) example = i;
  }
  if (ignored > 0) {
    warn(fmt::format(
        "tokenizer.ggml.merges: {} of {} ignored, not two tokens that make a third (first: index {}, \"{}\")", ignored,
        lines.size(), example, lines[example]));
  }
}

void BpeTokenizer::encode_fragment(std::string_view text, bool /*after_special*/, std::vector<TokenId>& out) const {
  const ScratchPool<Scratch>::Lease lease(scratch_);
  Scratch& scratch = *lease;
  std::string marked;
  if (pre_.flags().raw_utf8) {
    append_marked(text, marked);
    text = marked;
  }
  // Regular expressions need valid UTF-8. What is not, stands as a word of its own, so that no byte is lost.
  while (!text.empty()) {
    const size_t good = valid_utf8_prefix(text);
    if (good > 0) encode_words(text.substr(0, good), scratch, out);
    text.remove_prefix(good);
    size_t bad = 0;
    while (bad < text.size()) {
      const Utf8Step step = decode_utf8(text.substr(bad));
      if (step.valid()) break;
      bad += step.length;
    }
    if (bad > 0) encode_word(text.substr(0, bad), scratch, out);
    text.remove_prefix(bad);
  }
  scratch.trim();
}

void BpeTokenizer::encode_words(std::string_view text, Scratch& scratch, std::vector<TokenId>& out) const {
  std::string normal;
  if (pre_.flags().nfc && !is_nfc_quick(text)) text = normal = to_nfc(text);
  pre_.split(text, scratch.pre, scratch.ends);
  size_t begin = 0;
  for (size_t end : scratch.ends) {
    const std::string_view word = text.substr(begin, end - begin);
    for (size_t from = 0; from < word.size();) {
      const size_t to = cuts_at_marks_ ? cutter_.word_end(word, from) : word.size();
      encode_word(word.substr(from, to - from), scratch, out);
      from = to;
    }
    begin = end;
  }
}

void BpeTokenizer::encode_word(std::string_view word, Scratch& scratch, std::vector<TokenId>& out) const {
  if (word.size() > WordCache::kLongestWord) return encode_new_word(word, scratch, out);
  const WordCache::Key key(word, WordCache::Space::kWord);
  if (const std::span<const TokenId> ids = scratch.cache.find(key); ids.data() != nullptr) {
    for (TokenId id : ids) out.push_back(id);
    return;
  }
  const size_t before = out.size();
  encode_new_word(word, scratch, out);
  scratch.cache.insert(key, std::span(out).subspan(before));
}

void BpeTokenizer::encode_new_word(std::string_view word, Scratch& scratch, std::vector<TokenId>& out) const {
  const TokenId id = words_.find(word);
  // Gemma's runs of newlines are tokens that no merge makes.
  const bool at_once = pre_.flags().ignore_merges || (pre_.flags().raw_utf8 && word.front() == '\n');
  if (id >= 0 && (at_once || whole_.contains(id))) {
    out.push_back(id);
    return;
  }
  size_t end = cuts_words_ ? joins_.part_end(word, 0) : word.size();
  if (end == word.size()) return merge_part(word, id, scratch, out);
  for (size_t begin = 0; begin < word.size(); begin = end) {
    if (begin > 0) end = joins_.part_end(word, begin);
    encode_part(word.substr(begin, end - begin), scratch, out);
  }
}

// Like a word, but made by merging alone.
void BpeTokenizer::encode_part(std::string_view part, Scratch& scratch, std::vector<TokenId>& out) const {
  const bool cached = part.size() <= WordCache::kLongestWord;
  if (!cached) return merge_part(part, words_.find(part), scratch, out);
  const WordCache::Key key(part, WordCache::Space::kPart);
  if (const std::span<const TokenId> ids = scratch.cache.find(key); ids.data() != nullptr) {
    for (TokenId id : ids) out.push_back(id);
    return;
  }
  const size_t before = out.size();
  merge_part(part, words_.find(part), scratch, out);
  scratch.cache.insert(key, std::span(out).subspan(before));
}

// `whole`: the token whose text the part is, -1 when there is none.
void BpeTokenizer::merge_part(std::string_view part, TokenId whole, Scratch& scratch, std::vector<TokenId>& out) const {
  if (whole >= 0 && whole_.contains(whole)) {
    out.push_back(whole);
    return;
  }
  start_symbols(part, scratch);
  merges_.apply(scratch.symbols, scratch.merging);
  if (whole >= 0 && scratch.symbols.size() == 1 && scratch.symbols.front() == whole) whole_.insert(whole);
  out.insert(out.end(), scratch.symbols.begin(), scratch.symbols.end());
}

// One symbol a byte, or a character. What has no token is left out before merging, so its neighbours may join.
void BpeTokenizer::start_symbols(std::string_view word, Scratch& scratch) const {
  std::vector<TokenId>& symbols = scratch.symbols;
  symbols.clear();
  const auto add_byte = [&](char c) {
    const TokenId id = byte_tokens_[static_cast<unsigned char>(c)];
    if (id >= 0) symbols.push_back(id);
    return id >= 0;
  };
  if (!pre_.flags().raw_utf8) {
    for (char c : word) add_byte(c);
    return;
  }
  while (!word.empty()) {
    const size_t length = decode_utf8(word).length;
    const std::string_view character = word.substr(0, length);
    const TokenId id = words_.find(character);
    if (id >= 0) {
      symbols.push_back(id);
    } else {
      const size_t before = symbols.size();
      bool all = true;
      for (char c : character) all = add_byte(c) && all;
      if (!all && ids().unknown) {  // all bytes or none
        symbols.resize(before);
        if (symbols.empty() || symbols.back() != *ids().unknown) symbols.push_back(*ids().unknown);
      }
    }
    word.remove_prefix(length);
  }
}

}  // namespace ingle
