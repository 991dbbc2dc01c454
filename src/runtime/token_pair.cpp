// Model::tokenize_pair: two texts as a reranker reads them.
#include <algorithm>

#include "base/error.h"
#include "ingle/model.h"
#include "runtime/model_impl.h"

namespace ingle {
namespace {

// The template with both texts in their places. Not Jinja: the published files have {query} and {document}.
std::vector<TokenId> by_template(const Chat& chat, std::string_view source, std::string_view query,
                                 std::string_view text) {
  std::vector<ChatTemplate::Span> spans;
  const auto put = [&](std::string_view piece, bool trusted) {
    if (!piece.empty()) spans.push_back({std::string(piece), trusted});
  };
  constexpr std::string_view kQuery = "{query}", kDocument = "{document}";
  while (!source.empty()) {
    const size_t at = std::min({source.find(kQuery), source.find(kDocument), source.size()});
    put(source.substr(0, at), true);
    source.remove_prefix(at);
    if (source.empty()) break;
    const bool is_query = source.starts_with(kQuery);
    put(is_query ? query : text, false);
    source.remove_prefix(is_query ? kQuery.size() : kDocument.size());
  }
  return chat.tokenize(spans);
}

int64_t count(const std::vector<TokenId>& tokens) { return static_cast<int64_t>(tokens.size()); }

}  // namespace

TokenPair Model::tokenize_pair(std::string_view query, std::string_view text, int64_t most) const {
  const Tokenizer& tokenizer = *impl_->tokenizer;
  std::vector<TokenId> second = tokenizer.encode(text, {.add_special = false, .parse_special = false});
  const auto cut = [&](int64_t too_many) {
    if (too_many >= count(second)) {
      throw_error(ErrorCode::kInvalidArgument, "{} tokens have no room for a text beside the {} of its question", most,
                  most + too_many - count(second));
    }
    second.resize(second.size() - static_cast<size_t>(too_many));
  };
  TokenPair pair;
  if (const auto source = impl_->file.find_string("tokenizer.chat_template.rerank")) {
    if (!impl_->chat) throw *impl_->chat_error;
    pair.tokens = by_template(*impl_->chat, *source, query, text);
    while (most > 0 && count(pair.tokens) > most) {
      cut(count(pair.tokens) - most);
      pair.tokens = by_template(*impl_->chat, *source, query, tokenizer.decode(second));
    }
    return pair;
  }
  const PairMarks marks = tokenizer.pair_marks();
  pair.tokens = tokenizer.encode(query, {.add_special = true, .parse_special = false});
  const auto append = [&](const std::vector<TokenId>& tokens) {
    pair.tokens.insert(pair.tokens.end(), tokens.begin(), tokens.end());
  };
  append(marks.between);
  pair.second_text = count(pair.tokens);
  const int64_t all = count(pair.tokens) + count(second) + count(marks.behind);
  if (most > 0 && all > most) cut(all - most);
  append(second);
  append(marks.behind);
  return pair;
}

}  // namespace ingle
