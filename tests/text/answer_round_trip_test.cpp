// Every known template writes an assistant's message; the part that the model would have generated is read back.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json.hpp>
#include <optional>
#include <set>

#include "ingle/error.h"
#include "tests/text/answer_events.h"
#include "tests/text/shared_templates.h"
#include "tests/text/text_support.h"
#include "text/answer_format.h"

namespace ingle {
namespace {

namespace json = boost::json;

struct Conversation {
  std::string name, thinking, text;
  std::vector<std::pair<std::string, json::object>> calls;
};

json::array tools() {
  return json::parse(
             R"([{"type": "function", "function": {"name": "get_weather", "description": "weather", "parameters": {
      "type": "object", "required": ["city"], "properties": {
        "city": {"type": "string", "description": "where"}, "days": {"type": "integer", "description": "n"},
        "depth": {"type": "number", "description": "x"}, "wet": {"type": "boolean", "description": "y"},
        "tags": {"type": "array", "description": "t", "items": {"type": "string"}},
        "where": {"type": "object", "description": "w", "additionalProperties": {"type": "string"}}}}}},
    {"type": "function", "function": {"name": "note", "description": "keeps a text", "parameters": {
      "type": "object", "required": [], "properties": {"text": {"type": "string", "description": "it"}}}}}])")
      .as_array();
}

std::vector<Conversation> conversations() {
  const auto object = [](const char* text) { return json::parse(text).as_object(); };
  return {
      {"text", "", "Four.", {}},
      {"thinking", "2 + 2\nis easy", "Four.", {}},
      {"call", "", "", {{"get_weather", object(R"({"city": "Z\u00fcrich", "days": 3})")}}},
      {"text and call", "", "Let me see.", {{"get_weather", object(R"({"city": "Bern"})")}}},
      {"thinking and call", "the weather is wanted", "", {{"get_weather", object(R"({"city": "Bern"})")}}},
      {"all and two calls",
       "two of them",
       "Let me see.",
       {{"get_weather", object(R"({"city": "Bern"})")}, {"note", object(R"({"text": "b"})")}}},
      {"types",
       "",
       "",
       {{"get_weather", object(R"({"city": "12", "days": -3, "depth": 1.5, "wet": true, "tags": ["a", "b c"],
                                    "where": {"lat": "47", "at": "x"}})")}}},
      {"null", "", "", {{"get_weather", object(R"({"city": "a", "none": null})")}}},
      {"markup", "", "", {{"note", object(R"({"text": "\"q\" 'a' \\ <b> {x: [1]}, \n  two\ttabs\n"})")}}},
      {"no arguments", "", "", {{"note", object("{}")}}},
  };
}

// The same values, whatever the order of members and 2.0 or 2.
bool equal(const json::value& a, const json::value& b) {
  if (a.is_number() && b.is_number()) return a.to_number<double>() == b.to_number<double>();
  if (a.is_object() && b.is_object()) {
    return a.get_object().size() == b.get_object().size() &&
           std::ranges::all_of(a.get_object(), [&](const auto& member) {
             const json::value* other = b.get_object().if_contains(member.key());
             return other != nullptr && equal(member.value(), *other);
           });
  }
  if (a.is_array() && b.is_array()) return std::ranges::equal(a.get_array(), b.get_array(), equal);
  return a == b;
}

class Template {
 public:
  explicit Template(const std::string& source)
      : parsed_(ChatTemplate::parse(source)), format_(find_answer_format(parsed_, source, test::special_tokens())) {}

  const AnswerFormat& format() const { return format_; }

  std::optional<std::string> render(json::array messages, bool prompt, const json::object& extra) const {
    json::object all = test::special_tokens();
    all["functions"] = "[]", all["datetime"] = "now";  // one template fails without them
    all["tools"] = tools();
    all["documents"] = nullptr;
    all["add_generation_prompt"] = prompt;
    for (const auto& [key, value] : extra) all[key] = value;
    TemplateVariables variables(all);
    variables.set_conversation(messages);
    try {
      return parsed_.render(variables, {});
    } catch (const Error&) {
      return std::nullopt;
    }
  }

  // What the model generated for `conversation`, and the prompt's end before it; nullopt: the template refuses it.
  struct Generated {
    std::string prompt_end, answer;
  };
  std::optional<Generated> generate(const Conversation& conversation) const {
    const json::object user{{"role", "user"}, {"content", "What is it?"}};
    std::optional<Generated> best;
    for (const bool text_arguments : {false, true}) {
      json::object answer{{"role", "assistant"}, {"content", json::string(conversation.text)}};
      if (!conversation.thinking.empty()) answer["reasoning_content"] = json::string(conversation.thinking);
      json::array calls;
      for (const auto& [name, arguments] : conversation.calls) {
        const json::value given =
            text_arguments ? json::value(json::string(json::serialize(arguments))) : json::value(arguments);
        calls.push_back(json::object{{"id", calls.empty() ? "abcdefgh1" : "abcdefgh2"},
                                     {"type", "function"},
                                     {"function", json::object{{"name", json::string(name)}, {"arguments", given}}}});
      }
      if (!calls.empty()) answer["tool_calls"] = calls;
      for (const bool on : {!conversation.thinking.empty(), conversation.thinking.empty()}) {
        for (const json::object& extra :
             {json::object{{"enable_thinking", on}, {"thinking", on}, {"reasoning_effort", on ? "high" : "no_think"}},
              json::object{}}) {
          const auto whole = render({user, answer}, false, extra);
          const auto prompt = render({user}, true, extra);
          if (!whole || !prompt) continue;
          const size_t from = whole->rfind("What is it?");
          const size_t prompt_from = prompt->rfind("What is it?");
          if (from == whole->npos || prompt_from == prompt->npos) continue;
          // A template may close the thinking in a prompt and write none into the history: then what both begin with.
          const std::string_view written = std::string_view(*whole).substr(from),
                                 asked = std::string_view(*prompt).substr(prompt_from);
          const auto shared = static_cast<size_t>(std::ranges::mismatch(written, asked).in1 - written.begin());
          const bool exact = shared == prompt->size() - prompt_from;
          size_t begin = from + shared;
          if (!exact) {
            begin = whole->find_last_of(">]\n:", begin > 0 ? begin - 1 : 0) + 1;
            if (begin < from + 11) begin = from + 11;
          }
          Generated generated{whole->substr(from + 11, begin - from - 11), without_end(whole->substr(begin))};
          // An instruction may stand between the last message and the answer, in a prompt only.
          const std::string tag = prompt->substr(std::min(prompt->rfind('<'), prompt->size()));
          if (!exact && !tag.empty() && generated.answer.starts_with(tag)) generated.answer.erase(0, tag.size());
          // The history may leave out what a prompt says to begin the thinking.
          if (!conversation.thinking.empty() && generated.answer.starts_with(conversation.thinking))
            generated.prompt_end = prompt->substr(prompt_from + 11);
          if (exact) return generated;
          if (!best) best = std::move(generated);
        }
      }
      if (best) return best;
    }
    return best;
  }

 private:
  // Without the tokens that end a generation, and what a template writes behind them.
  static std::string without_end(std::string text) {
    for (const char* end : {"<|im_end|>",
                            "</s>",
                            "<|eot_id|>",
                            "<|eom_id|>",
                            "<end_of_turn>",
                            "<turn|>",
                            "<|tool_response>",
                            "<｜end▁of▁sentence｜>",
                            "<|END_OF_TURN_TOKEN|>",
                            "<SPECIAL_12>",
                            "<|end_of_text|>",
                            "[e~[",
                            "<|end_of_msg|>",
                            "<|eot|>",
                            "<sep>",
                            "<｜hy_eos:opensource｜>",
                            "</assistant>",
                            "<|START_OF_TURN_TOKEN|>",
                            "\n\n<sep>",
                            "\n<|end|>",
                            "<|end|>"}) {
      const std::string_view rest = std::string_view(text).substr(std::min(text.size(), text.find(end)));
      if (std::string_view(end) == "<|end|>" && rest.find("<|start|>") != rest.npos)
        continue;  // of a message, not the turn
      text.resize(text.size() - rest.size());
    }
    for (const char* end : {"<|message_sep|>\n\n", "\n\n"})
      if (text.ends_with(end)) text.resize(text.size() - std::string_view(end).size());
    return text;
  }

  ChatTemplate parsed_;
  AnswerFormat format_;
};

// Of what was said, what the template writes at all.
Conversation written(Conversation conversation, std::string_view answer) {
  if (answer.find(conversation.thinking) == answer.npos) conversation.thinking.clear();
  if (answer.find(conversation.text) == answer.npos) conversation.text.clear();
  while (!conversation.calls.empty() && answer.find(conversation.calls.back().first) == answer.npos)
    conversation.calls.pop_back();
  return conversation;
}

// What comes back differently, as words; "" when all is the same.
std::string difference(const Conversation& conversation, const ParsedAnswer& parsed) {
  std::string what;
  const auto add = [&](std::string part) { what += (what.empty() ? "" : ", ") + part; };
  if (parsed.thinking != conversation.thinking) add("thinking");
  if (parsed.text != conversation.text) add("text");
  if (parsed.calls.size() != conversation.calls.size()) {
    add("calls");
    return what;
  }
  for (size_t i = 0; i < parsed.calls.size(); ++i) {
    if (parsed.calls[i].name != conversation.calls[i].first) add("name");
    if (!equal(json::parse(parsed.calls[i].arguments), conversation.calls[i].second)) add("arguments");
  }
  if (!parsed.problems.empty()) add("problems");
  return what;
}

TEST(AnswerRoundTrip, WhatATemplateWritesIsReadBack) {
  std::map<std::string, std::string> templates = test::shared_templates();
  const bool all = !templates.empty();
  templates["harmony"] = test::kHarmony;
  // "template: conversation: what differs" and why, for those that keep less than they are given.
  std::map<std::string, std::string> lossy;
  for (const std::string& line : test::data_lines("answer_round_trips.txt")) {
    if (line.starts_with('#') || line.empty()) continue;
    const size_t colon = line.rfind(": ");
    lossy[line.substr(0, colon)] = line.substr(colon + 2);
  }
  size_t read_back = 0;
  for (const auto& [name, source] : templates) {
    const Template subject(source);
    for (const Conversation& conversation : conversations()) {
      const std::string title = name + ": " + conversation.name;
      SCOPED_TRACE(title);
      const auto generated = subject.generate(conversation);
      std::string found = "refused";
      if (generated) {
        const AnswerParser::Options options{
            .prompt_end = generated->prompt_end, .tools = json::serialize(tools()), .calls = true};
        const ParsedAnswer parsed = parse_answer(subject.format(), generated->answer, options);
        found = difference(written(conversation, generated->answer), parsed);
        for (const size_t step : {1, 2, 7})
          EXPECT_EQ(test::events_of(subject.format(), generated->answer, options, step),
                    test::events_of(subject.format(), generated->answer, options))
              << "in pieces of " << step;
        for (size_t end = 0; end < generated->answer.size(); ++end) {
          const std::string_view cut = std::string_view(generated->answer).substr(0, end);
          EXPECT_EQ(test::bytes_of(test::events_of(subject.format(), cut, options, 5)), cut);
        }
      }
      const auto known = lossy.find(title);
      EXPECT_EQ(found, known == lossy.end() ? "" : known->second);
      read_back += found.empty();
    }
  }
  if (all) {
    EXPECT_EQ(read_back + lossy.size(), templates.size() * conversations().size());
  }
}

}  // namespace
}  // namespace ingle
