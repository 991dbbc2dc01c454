// A description is turned into what a GGUF file would say; what such a file cannot say makes it no candidate.
#include <fmt/format.h>

#include <algorithm>

#include "text/bpe.h"
#include "text/byte_alphabet.h"
#include "text/hf_encoder.h"
#include "text/space_mark.h"
#include "text/utf8.h"

namespace ingle {
namespace {

using Kind = HfPreStep::Kind;

class FastEncoder final : public HfEncoder {
 public:
  explicit FastEncoder(std::unique_ptr<const Tokenizer> bpe) : bpe_(std::move(bpe)) {}

  void encode(std::string_view text, bool /*at_start*/, FileRegex::Scratch& /*scratch*/,
              std::vector<TokenId>& out) const override {
    const std::vector<TokenId> ids = bpe_->encode(text, {.add_special = false});
    out.insert(out.end(), ids.begin(), ids.end());
  }

 private:
  std::unique_ptr<const Tokenizer> bpe_;
};

// The steps as expressions that each cut at matches, then bytes; nothing when they are more than that.
std::vector<std::string> expressions_over_bytes(const std::vector<HfPreStep>& steps) {
  std::vector<std::string> expressions;
  for (const HfPreStep& step : steps) {
    const bool last = &step == &steps.back();
    if (step.kind == Kind::kSplit && !last && step.is_regex && !step.invert &&
        step.behavior == HfPreStep::Behavior::kIsolated) {
      expressions.push_back(step.text);
    } else if (step.kind == Kind::kDigits && !last) {
      expressions.emplace_back(step.individually ? R"(\p{N})" : R"(\p{N}+)");
    } else if (step.kind == Kind::kByteLevel && last && !step.add_prefix_space) {
      if (step.use_regex) {
        expressions.emplace_back(R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)");
      }
    } else {
      return {};
    }
  }
  return expressions;
}

// No step, or one that looks for spaces where there are none.
bool cuts_nothing(const std::vector<HfPreStep>& steps) {
  return std::all_of(steps.begin(), steps.end(), [](const HfPreStep& step) {
    return step.kind == Kind::kSplit && !step.is_regex && !step.invert && step.text == " ";
  });
}

bool has_all(const TextMap& ids, std::string (*name)(int byte)) {
  for (int byte = 0; byte < 256; ++byte) {
    if (ids.find(name(byte)) < 0) return false;
  }
  return true;
}

std::string byte_letter(int byte) {
  std::string text;
  append_utf8(text, kByteToCharacter[static_cast<size_t>(byte)]);
  return text;
}

std::string byte_token(int byte) { return fmt::format("<0x{:02X}>", byte); }

}  // namespace

std::string_view gguf_pre_tokenizer(const std::vector<HfPreStep>& steps, bool nfc, bool ignore_merges) {
  const std::vector<std::string> expressions = expressions_over_bytes(steps);
  return expressions.empty() ? std::string_view() : PreTokenizer::recognise(expressions, ignore_merges, nfc);
}

std::unique_ptr<const HfEncoder> fast_hf_encoder(const HfDescription& d, bool spaces_marked) {
  const HfModel& model = d.model;
  if (model.type != HfModel::Type::kBpe || !model.continuing_prefix.empty() || !model.end_suffix.empty()) {
    return nullptr;
  }
  TextMap ids(model.tokens.size());
  for (size_t i = 0; i < model.tokens.size(); ++i) {
    if (!model.tokens[i].empty()) ids.insert(model.tokens[i], static_cast<TokenId>(i));
  }
  const std::string_view pre = gguf_pre_tokenizer(d.pre_steps, false, model.ignore_merges);
  const bool bytes = !pre.empty();
  if (bytes) {
    // What has no token must be left out, as there.
    if ((!model.unknown_text.empty() || model.byte_fallback) && !has_all(ids, byte_letter)) return nullptr;
  } else if (!(spaces_marked && cuts_nothing(d.pre_steps) && model.byte_fallback && has_all(ids, byte_token))) {
    return nullptr;
  }

  Vocabulary v;
  v.model = bytes ? "gpt2" : "gemma4";
  v.pre = bytes ? std::string(pre) : "gemma4";
  v.tokens = model.tokens;
  v.kinds.assign(v.tokens.size(), TokenKind::kNormal);
  v.scores.assign(v.tokens.size(), 0.0f);
  for (int byte = 0; byte < 256 && !bytes; ++byte) {
    v.kinds[static_cast<size_t>(ids.find(byte_token(byte)))] = TokenKind::kByte;
  }
  for (const HfAddedToken& token : d.added) {
    const auto id = static_cast<size_t>(token.id);
    if (!token.special || id >= v.tokens.size() || v.tokens[id].empty()) continue;
    // Never made from text. A single character, though, is where merging starts.
    if (decode_utf8(token.text).length == token.text.size() || v.kinds[id] == TokenKind::kByte) return nullptr;
    v.kinds[id] = TokenKind::kControl;
  }
  const PreTokenizerFlags flags{.ignore_merges = model.ignore_merges, .raw_utf8 = !bytes};
  PreTokenizer words = bytes ? PreTokenizer::create(pre).with_flags(flags) : PreTokenizer::whole(flags);
  return std::make_unique<FastEncoder>(std::make_unique<BpeTokenizer>(
      std::move(v), std::move(words), TokenizerBase::Traits{.roles_by_text = false}, model.merges));
}

}  // namespace ingle
