#include "runtime/chat.h"

#include <algorithm>
#include <boost/json.hpp>
#include <chrono>

#include "base/error.h"

namespace ingle {
namespace {

namespace json = boost::json;

// What most models that come without a template were trained on.
constexpr std::string_view kChatMl =
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + "
    "'\\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

json::object template_variables(const ChatRequest& request, const Tokenizer& tokenizer) {
  json::array messages;
  for (const ChatMessage& message : request.messages)
    messages.push_back(json::object{{"role", message.role}, {"content", message.content}});

  json::object variables;
  variables["messages"] = normalize_messages(messages);
  variables["add_generation_prompt"] = request.add_generation_prompt;
  // There, and none: what transformers passes when it has neither.
  variables["tools"] = nullptr;
  variables["documents"] = nullptr;
  const auto text_of = [&](std::optional<TokenId> id) { return id ? tokenizer.text(*id) : std::string(); };
  variables["bos_token"] = text_of(tokenizer.bos());
  variables["eos_token"] = text_of(tokenizer.eos());
  variables["pad_token"] = text_of(tokenizer.padding());
  for (const auto& [name, value] : request.arguments) {
    json::error_code error;
    json::value parsed = json::parse(value, error);
    if (error) {
      throw_error(ErrorCode::kInvalidArgument, "template argument '{}': {} is not JSON ({})", name, value,
                  error.message());
    }
    variables[name] = std::move(parsed);
  }
  return variables;
}

}  // namespace

Chat::Chat(std::string_view source, const Tokenizer& tokenizer)
    : tokenizer_(&tokenizer), template_(ChatTemplate::parse(source.empty() ? kChatMl : source)) {
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

std::vector<ChatTemplate::Span> Chat::render_spans(const ChatRequest& request) const {
  std::vector<ChatTemplate::Span> spans =
      template_.render_spans(template_variables(request, *tokenizer_), std::chrono::system_clock::now());
  // Gemma 4's first templates could close a turn and forget to open the model's. What a message says does not count.
  constexpr std::string_view kClosed = "<turn|>\n", kOpened = "<|turn>model\n";
  std::string end;
  for (auto span = spans.rbegin(); span != spans.rend() && span->trusted && end.size() < kClosed.size(); ++span)
    end.insert(0, span->text);
  if (request.add_generation_prompt && end.ends_with(kClosed)) spans.push_back({std::string(kOpened), true});
  return spans;
}

std::string Chat::render(const ChatRequest& request) const {
  std::string text;
  for (const ChatTemplate::Span& span : render_spans(request)) text += span.text;
  return text;
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
  std::string text;
  std::vector<bool> trusted;
  for (const ChatTemplate::Span& span : render_spans(request)) {
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
