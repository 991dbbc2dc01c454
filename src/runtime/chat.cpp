#include "runtime/chat.h"

#include <algorithm>

#include "runtime/prompt_template_impl.h"

namespace ingle {

PromptTemplate::SpecialTokens special_tokens(const Tokenizer& tokenizer) {
  PromptTemplate::SpecialTokens tokens;
  const auto add = [&](const char* name, std::optional<TokenId> id) {
    if (id) tokens.emplace_back(name, tokenizer.text(*id));
  };
  add("bos_token", tokenizer.bos());
  add("eos_token", tokenizer.eos());
  add("pad_token", tokenizer.padding());
  return tokens;
}

Chat::Chat(std::string source, const Tokenizer& tokenizer)
    : tokenizer_(&tokenizer), template_(std::move(source), special_tokens(tokenizer)) {
  for (TokenId id = 0; id < tokenizer.size(); ++id) {
    if (tokenizer.kind(id) == TokenKind::kControl && !tokenizer.text(id).empty())
      control_.emplace_back(tokenizer.text(id), id);
  }
  std::ranges::sort(control_, [](const auto& a, const auto& b) {
    const auto first = [](std::string_view text) { return static_cast<unsigned char>(text.front()); };
    if (first(a.first) != first(b.first)) return first(a.first) < first(b.first);
    return a.first.size() > b.first.size();
  });
}

std::vector<Chat::Match> Chat::find_control_tokens(std::string_view text, const std::vector<bool>& trusted) const {
  std::vector<Match> matches;
  for (size_t at = 0; at < text.size();) {
    const auto first = static_cast<unsigned char>(text[at]);
    auto row = std::ranges::lower_bound(control_, first, {},
                                        [](const auto& c) { return static_cast<unsigned char>(c.first.front()); });
    while (row != control_.end() && static_cast<unsigned char>(row->first.front()) == first &&
           !text.substr(at).starts_with(row->first))
      ++row;
    if (row == control_.end() || static_cast<unsigned char>(row->first.front()) != first) {
      ++at;
      continue;
    }
    const size_t end = at + row->first.size();
    const bool ours = std::all_of(trusted.begin() + static_cast<ptrdiff_t>(at),
                                  trusted.begin() + static_cast<ptrdiff_t>(end), [](bool t) { return t; });
    matches.push_back({at, end, row->second, ours});
    at = ours ? end : at + 1;  // a trusted token may begin inside what only looks like one
  }
  return matches;
}

std::vector<TokenId> Chat::tokenize(const ChatRequest& request) const {
  return tokenize(template_.impl().render_spans(request));
}

std::vector<TokenId> Chat::tokenize(std::span<const ChatTemplate::Span> spans) const {
  std::string text;
  std::vector<bool> trusted;
  for (const ChatTemplate::Span& span : spans) {
    text += span.text;
    trusted.resize(text.size(), span.trusted);
  }
  const std::vector<Match> matches = find_control_tokens(text, trusted);

  std::vector<TokenId> ids;
  if (std::ranges::all_of(matches, &Match::trusted)) {
    // Nobody tries to write a control token: the whole text at once, exactly as the model saw it in training.
    ids = tokenizer_->encode(text, {.add_special = false, .parse_special = true});
  } else {
    const auto encode_text = [&](size_t begin, size_t end) {
      if (begin == end) return;
      const std::vector<TokenId> part = tokenizer_->encode(std::string_view(text).substr(begin, end - begin),
                                                           {.add_special = false, .parse_special = false});
      ids.insert(ids.end(), part.begin(), part.end());
    };
    size_t done = 0;
    for (const Match& match : matches) {
      if (!match.trusted) continue;
      encode_text(done, match.begin);
      ids.push_back(match.id);
      done = match.end;
    }
    encode_text(done, text.size());
  }
  // Many templates write the begin token themselves; it must not be there twice.
  const std::optional<TokenId> bos = tokenizer_->bos();
  if (tokenizer_->adds_bos() && bos && (ids.empty() || ids.front() != *bos)) ids.insert(ids.begin(), *bos);
  return ids;
}

}  // namespace ingle
