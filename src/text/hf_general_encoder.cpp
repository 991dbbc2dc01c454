// The file's pre-tokeniser step by step, then one of four models for each piece.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "base/error.h"
#include "text/bpe_merges.h"
#include "text/hf_encoder.h"
#include "text/hf_pre_tokenizer.h"
#include "text/unigram.h"
#include "text/utf8.h"
#include "text/word_piece.h"

namespace ingle {
namespace {

class PieceModel {
 public:
  virtual ~PieceModel() = default;

  struct Scratch {
    std::vector<TokenId> symbols;
    BpeMerges::Scratch merging;
    std::string text;
  };
  virtual void encode(std::string_view piece, Scratch& scratch, std::vector<TokenId>& out) const = 0;
};

std::string byte_token(unsigned char byte) { return fmt::format("<0x{:02X}>", byte); }

[[noreturn]] void no_unknown(const HfModel& model, std::string_view piece) {
  if (model.unknown_text.empty()) {
    throw_error(ErrorCode::kInvalidFile, "tokenizer.json: \"{}\" is not in model.vocab, and there is no unknown token",
                piece.substr(0, 100));
  }
  throw_error(ErrorCode::kInvalidFile, "tokenizer.json: \"{}\" is not in model.vocab, nor is the unknown token \"{}\"",
              piece.substr(0, 100), model.unknown_text);
}

class BpeModel final : public PieceModel {
 public:
  BpeModel(HfModel model, const std::vector<bool>& special)
      : model_(std::move(model)),
        words_(model_.tokens.size()),
        starts_(model_.tokens.size()),
        merges_(model_.merges.size()) {
    for (size_t i = 0; i < model_.tokens.size(); ++i) {
      if (model_.tokens[i].empty()) continue;
      starts_.insert(model_.tokens[i], static_cast<TokenId>(i));
      if (!special[i]) words_.insert(model_.tokens[i], static_cast<TokenId>(i));
    }
    for (size_t i = 0; i < model_.merges.size(); ++i) {
      const BpeMerge& m = model_.merges[i];
      merges_.add(m.left, m.right, static_cast<uint32_t>(i), m.result);
    }
    for (int b = 0; b < 256; ++b)
      bytes_[static_cast<size_t>(b)] = starts_.find(byte_token(static_cast<unsigned char>(b)));
  }

  void encode(std::string_view piece, Scratch& scratch, std::vector<TokenId>& out) const override {
    if (model_.ignore_merges) {
      if (const TokenId id = words_.find(piece); id >= 0) {
        out.push_back(id);
        return;
      }
    }
    start(piece, scratch);
    merges_.apply(scratch.symbols, scratch.merging);
    out.insert(out.end(), scratch.symbols.begin(), scratch.symbols.end());
  }

 private:
  // One symbol a character, or its bytes, or the unknown token. A run of unknown characters waits until a known one
  // comes; tokens of bytes do not end it, so it stands behind them, as in the library.
  void start(std::string_view piece, Scratch& scratch) const {
    std::vector<TokenId>& symbols = scratch.symbols;
    symbols.clear();
    bool waiting = false;
    for (size_t i = 0; i < piece.size();) {
      const size_t length = decode_utf8(piece.substr(i)).length;
      std::string_view character = piece.substr(i, length);
      const bool first = i == 0, last = i + length == piece.size();
      i += length;
      if ((!first && !model_.continuing_prefix.empty()) || (last && !model_.end_suffix.empty())) {
        scratch.text.assign(first ? "" : model_.continuing_prefix);
        scratch.text.append(character).append(last ? model_.end_suffix : "");
        character = scratch.text;
      }
      if (const TokenId id = starts_.find(character); id >= 0) {
        if (waiting) symbols.push_back(*model_.unknown);
        waiting = false;
        symbols.push_back(id);
      } else if (model_.byte_fallback && std::all_of(character.begin(), character.end(), [&](char c) {
                   return bytes_[static_cast<unsigned char>(c)] >= 0;
                 })) {
        for (char c : character) symbols.push_back(bytes_[static_cast<unsigned char>(c)]);
      } else if (model_.unknown) {
        if (waiting && !model_.fuse_unknown) symbols.push_back(*model_.unknown);
        waiting = true;
      } else if (!model_.unknown_text.empty()) {
        no_unknown(model_, character);
      }
    }
    if (waiting) symbols.push_back(*model_.unknown);
  }

  const HfModel model_;
  TextMap words_;   // what a whole word may become
  TextMap starts_;  // what a character may become
  BpeMerges merges_;
  std::array<TokenId, 256> bytes_;
};

class UnigramModel final : public PieceModel {
 public:
  UnigramModel(HfModel model, const std::vector<bool>& special)
      : model_(std::move(model)), unigram_(make(model_, special)) {}

  void encode(std::string_view piece, Scratch&, std::vector<TokenId>& out) const override {
    const auto before = static_cast<ptrdiff_t>(out.size());
    unigram_.encode(piece, out);
    if (std::find(out.begin() + before, out.end(), kNowhere) != out.end()) no_unknown(model_, piece);
    // The unknown token may also be a piece that is spelt out: it joins the run it stands in.
    if (model_.unknown) {
      out.erase(std::unique(out.begin() + before, out.end(),
                            [&](TokenId a, TokenId b) { return a == b && a == *model_.unknown; }),
                out.end());
    }
  }

 private:
  static constexpr TokenId kNowhere = std::numeric_limits<TokenId>::max();  // where the file has no unknown token

  static Unigram make(const HfModel& model, const std::vector<bool>& special) {
    std::vector<Unigram::Piece> pieces;
    double lowest = 0;
    TextMap ids(model.tokens.size());
    for (size_t i = model.tokens.size(); i-- > 0;) {  // of equal texts the last one counts
      const auto id = static_cast<TokenId>(i);
      lowest = std::min(lowest, model.scores[i]);
      if (!model.tokens[i].empty()) ids.insert(model.tokens[i], id);
      if (!special[i]) pieces.push_back({model.tokens[i], model.scores[i], id});
    }
    std::optional<std::array<int32_t, 256>> bytes;
    if (model.byte_fallback) {
      bytes.emplace();
      for (int b = 0; b < 256; ++b) {
        const TokenId id = ids.find(byte_token(static_cast<unsigned char>(b)));
        if (id < 0) {
          throw_error(ErrorCode::kUnsupported, "tokenizer.json: model.byte_fallback: there is no token {}",
                      byte_token(static_cast<unsigned char>(b)));
        }
        (*bytes)[static_cast<size_t>(b)] = id;
      }
    }
    return Unigram(pieces, lowest, model.unknown.value_or(kNowhere), bytes);
  }

  const HfModel model_;
  Unigram unigram_;
};

class WordPieceModel final : public PieceModel {
 public:
  WordPieceModel(HfModel model, const std::vector<bool>& special)
      : model_(std::move(model)), pieces_(make(model_, special)) {}

  void encode(std::string_view piece, Scratch&, std::vector<TokenId>& out) const override {
    const size_t before = out.size();
    pieces_.encode(piece, out);
    if (out.size() == before) no_unknown(model_, piece);
  }

 private:
  static WordPiece make(const HfModel& model, const std::vector<bool>& special) {
    std::vector<ByteTrie::Entry> first, next;
    for (size_t i = 0; i < model.tokens.size(); ++i) {
      const std::string_view text = model.tokens[i];
      const auto id = static_cast<TokenId>(i);
      if (text.empty() || special[i]) continue;
      first.push_back({text, id});
      if (text.starts_with(model.continuing_prefix) && text.size() > model.continuing_prefix.size()) {
        next.push_back({text.substr(model.continuing_prefix.size()), id});
      }
    }
    return WordPiece(std::move(first), std::move(next), model.unknown.value_or(-1), model.most_characters);
  }

  const HfModel model_;
  WordPiece pieces_;
};

class WordLevelModel final : public PieceModel {
 public:
  WordLevelModel(HfModel model, const std::vector<bool>& special)
      : model_(std::move(model)), words_(model_.tokens.size()) {
    for (size_t i = 0; i < model_.tokens.size(); ++i) {
      if (!model_.tokens[i].empty() && !special[i]) words_.insert(model_.tokens[i], static_cast<TokenId>(i));
    }
  }

  void encode(std::string_view piece, Scratch&, std::vector<TokenId>& out) const override {
    TokenId id = words_.find(piece);
    if (id < 0) {
      if (!model_.unknown) no_unknown(model_, piece);
      id = *model_.unknown;
    }
    out.push_back(id);
  }

 private:
  const HfModel model_;
  TextMap words_;
};

class GeneralEncoder final : public HfEncoder {
 public:
  GeneralEncoder(HfPreTokenizer pre, std::unique_ptr<const PieceModel> model)
      : pre_(std::move(pre)), model_(std::move(model)) {}

  void encode(std::string_view text, bool at_start, FileRegex::Scratch& scratch,
              std::vector<TokenId>& out) const override {
    HfPieces pieces{.text = std::string(text), .pieces = {{0, text.size()}}, .at_start = at_start};
    pre_.apply(pieces, scratch);
    PieceModel::Scratch of_model;
    for (const TextRange& piece : pieces.pieces) {
      model_->encode(std::string_view(pieces.text).substr(piece.begin, piece.end - piece.begin), of_model, out);
    }
  }

 private:
  HfPreTokenizer pre_;
  std::unique_ptr<const PieceModel> model_;
};

}  // namespace

std::unique_ptr<const HfEncoder> general_hf_encoder(HfDescription d) {
  // A special token is never a whole word that text may become: user text must not turn into one.
  std::vector<bool> special(d.model.tokens.size());
  for (const HfAddedToken& token : d.added) {
    if (token.special && static_cast<size_t>(token.id) < special.size()) special[static_cast<size_t>(token.id)] = true;
  }
  std::unique_ptr<const PieceModel> model;
  switch (d.model.type) {
    case HfModel::Type::kBpe:
      model = std::make_unique<BpeModel>(std::move(d.model), special);
      break;
    case HfModel::Type::kUnigram:
      model = std::make_unique<UnigramModel>(std::move(d.model), special);
      break;
    case HfModel::Type::kWordPiece:
      model = std::make_unique<WordPieceModel>(std::move(d.model), special);
      break;
    case HfModel::Type::kWordLevel:
      model = std::make_unique<WordLevelModel>(std::move(d.model), special);
      break;
  }
  return std::make_unique<GeneralEncoder>(HfPreTokenizer(std::move(d.pre_steps)), std::move(model));
}

}  // namespace ingle
