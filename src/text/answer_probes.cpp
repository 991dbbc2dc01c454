#include "text/answer_probes.h"

#include <fmt/format.h>

#include <algorithm>

#include "ingle/error.h"
#include "text/answer_marks.h"

namespace ingle::probes {

namespace json = boost::json;

// Where marks may be cut apart: behind a newline; before < or [ unless a word goes on there. No white space around.
std::vector<std::string> groups(std::string_view text) {
  std::vector<std::string> all;
  size_t begin = 0;
  const auto add = [&](size_t end) {
    const std::string_view group = trim_answer_space(text.substr(begin, end - begin));
    if (!group.empty()) all.emplace_back(group);
    begin = end;
  };
  for (size_t i = 1; i < text.size(); ++i) {
    const char before = text[i - 1], c = text[i];
    const bool opens = c == '<' || c == '[';
    if (before == '\n' || (opens && (before == '>' || before == ']' || is_answer_space(before)))) add(i);
  }
  add(text.size());
  return all;
}

// Groups as one mark: any white space may stand between them.
std::string join(std::span<const std::string> parts) {
  std::string mark;
  for (const std::string& part : parts) {
    if (!mark.empty()) mark += AnswerFormat::kAnySpace;
    mark += part;
  }
  return mark;
}
std::string mark(std::string_view text) { return join(groups(text)); }

size_t common_front(std::span<const std::string> a, std::span<const std::string> b) {
  return static_cast<size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}
size_t common_back(std::span<const std::string> a, std::span<const std::string> b) {
  size_t n = 0;
  while (n < std::min(a.size(), b.size()) && a[a.size() - 1 - n] == b[b.size() - 1 - n]) ++n;
  return n;
}

json::string word(std::string_view text) { return json::string(text.data(), text.size()); }
json::object message(const char* role, json::value content) {
  return {{"role", role}, {"content", std::move(content)}};
}

namespace {

json::array tools() {
  const json::object text{{"type", "string"}, {"description", "a text"}};
  const auto tool = [&](std::string_view name) {
    const json::object parameters{{"type", "object"},
                                  {"properties", json::object{{kKey1, text}, {kKey2, text}}},
                                  {"required", json::array{word(kKey1)}}};
    return json::object{
        {"type", "function"},
        {"function", json::object{{"name", word(name)}, {"description", "a tool"}, {"parameters", parameters}}}};
  };
  return {tool(kName1), tool(kName2)};
}

}  // namespace

json::object assistant(const Variant& variant) {
  json::object answer = message("assistant", variant.with_content ? json::value(word(kContent)) : json::value(""));
  const auto call = [&](std::string_view name, json::object arguments, int index) {
    const std::string text = json::serialize(arguments);
    // Nine letters and digits: some templates insist on it; others print nothing but an id of the first form.
    const std::string id = variant.counted_ids ? fmt::format("functions.{}:{}", name, index)
                           : index == 0        ? "xq1w2e3r4"
                                               : "zt5y6u7i8";
    return json::object{
        {"id", word(id)},
        {"type", "function"},
        {"function",
         json::object{{"name", word(name)},
                      {"arguments", variant.text_arguments ? json::value(text) : json::value(std::move(arguments))}}}};
  };
  json::array calls{
      call(kName1,
           {{kKey1, variant.number ? json::value(1234567) : json::value(word(kValue1))}, {kKey2, word(kValue2)}}, 0)};
  if (variant.two) calls.push_back(call(kName2, {{kKey1, word(kValue3)}}, 1));
  answer["tool_calls"] = std::move(calls);
  if (variant.reasoning) answer["reasoning_content"] = answer["thinking"] = word(kReason);
  return answer;
}

Prober::Prober(const ChatTemplate& parsed, json::object special_tokens)
    : parsed_(parsed), variables_(std::move(special_tokens)) {
  variables_["tools"] = tools();
  variables_["documents"] = nullptr;
  if (ask({})) return;
  // One template fails without them.
  variables_["functions"] = "[]";
  variables_["datetime"] = "today";
}

std::optional<std::string> Prober::ask(const json::object& extra) const {
  return render({message("user", word(kUser))}, true, extra);
}

std::optional<std::string> Prober::answer(json::object given, const json::object& extra) const {
  return render({message("user", word(kUser)), std::move(given)}, false, extra);
}

std::optional<std::string> Prober::render(json::array messages, bool prompt, const json::object& extra) const {
  json::object variables = variables_;
  variables["messages"] = std::move(messages);
  variables["add_generation_prompt"] = prompt;
  for (const auto& [key, value] : extra) variables[key] = value;
  try {
    const std::string text = parsed_.render(variables, {});
    const size_t user = text.rfind(kUser);
    if (user == text.npos) return std::nullopt;
    return text.substr(user + kUser.size());
  } catch (const Error&) {
    return std::nullopt;
  }
}

Turn::Turn(const Prober& prober) {
  for (const json::object& extra : {json::object(), json::object{{"enable_thinking", true}, {"thinking", true}},
                                    json::object{{"enable_thinking", false}, {"thinking", false}}})
    if (const auto prompt = prober.ask(extra)) prompts.push_back(groups(*prompt));
  if (const auto plain = prober.answer(message("assistant", word(kContent)))) {
    if (const size_t content = plain->find(kContent); content != plain->npos) {
      before_text = plain->substr(0, content);
      before = groups(before_text);
      after = groups(std::string_view(*plain).substr(content + kContent.size()));
    }
  }
  header = before;
  for (const auto& prompt : prompts) header.resize(common_front(header, prompt));
}

std::vector<std::string> Turn::without_header(std::string_view text) const {
  std::vector<std::string> parts = groups(text);
  const size_t same = common_front(parts, header);
  parts.erase(parts.begin(), parts.begin() + static_cast<ptrdiff_t>(same));
  // A mark may follow the header without a break: assistant<think>.
  if (same < header.size() && !parts.empty() && parts[0].starts_with(header[same])) {
    const size_t end = header[same].size();
    if (parts[0].size() > end && (parts[0][end] == '<' || parts[0][end] == '[')) parts[0].erase(0, end);
  }
  return parts;
}

}  // namespace ingle::probes
