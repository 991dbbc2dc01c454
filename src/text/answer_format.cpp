// What a model writes is read off its template: the template has to print earlier answers just as the model wrote them.
// So conversations of words that stand in no template (answer_probes.h) are rendered, and the text around those words
// is cut into marks: before the reasoning and behind it, around the text, around calls (call_format.h). What no
// conversation shows is looked for by the words that models share; it is found only where the template or the
// vocabulary has them.
#include "text/answer_format.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "ingle/error.h"
#include "text/answer_probes.h"
#include "text/call_format.h"

namespace ingle {
namespace {

using namespace probes;
namespace json = boost::json;
using Calls = AnswerFormat::Calls;
constexpr size_t npos = std::string_view::npos;

class Finder {
 public:
  Finder(const Prober& prober, std::string_view source, std::span<const std::string> vocabulary)
      : prober_(prober), turn_(prober), source_(source), vocabulary_(vocabulary) {}

  AnswerFormat find() {
    format_.channels = has("<|message|>") && has("<|start|>") && (has("<|channel|>") || has(" to=self"));
    find_thinking();
    // With channels a header names the tool, and JSON follows.
    if (!format_.channels || !has("<|channel|>")) find_call_format(prober_, turn_, source_, format_);
    find_text_marks();
    find_known_words();
    return std::move(format_);
  }

 private:
  bool has(std::string_view text) const { return source_.find(text) != npos; }

  void find_thinking() {
    if (format_.channels) return;
    const auto learn = [&](const std::optional<std::string>& text) {
      const size_t reason = text ? text->find(kReason) : npos;
      if (reason == npos || text->find("'type'") != npos || text->find("\"type\"") != npos)
        return false;  // or printed as data
      const std::string_view behind = std::string_view(*text).substr(reason + kReason.size());
      const std::vector<std::string> end =
          groups(behind.substr(0, std::min(behind.find(kContent), behind.find(kName1))));
      std::vector<std::string> begin = turn_.without_header(text->substr(0, reason));
      // The prompt alone may have the beginning; or every answer has it.
      for (const auto& prompt : turn_.prompts)
        if (begin.empty() && prompt.size() > turn_.header.size())
          begin = {prompt.begin() + static_cast<ptrdiff_t>(turn_.header.size()), prompt.end()};
      if (begin.empty() && reason > 0) begin = {groups(text->substr(0, reason)).back()};
      if (end.empty() || begin.empty() || end[0] == kContent) return false;
      format_.thinking_begin = join(begin);
      format_.thinking_end = end[0];
      return true;
    };
    json::object answer = message("assistant", word(kContent));
    answer["reasoning_content"] = answer["thinking"] = word(kReason);
    std::vector<json::object> answers{answer};
    for (const bool text_arguments : {false, true})
      answers.push_back(assistant({.text_arguments = text_arguments, .two = false, .reasoning = true}));
    const json::object thought{{"type", "thinking"}, {"thinking", word(kReason)}},
        text{{"type", "text"}, {"text", word(kContent)}};
    answers.push_back(message("assistant", json::array{thought, text}));
    const json::object thoughts{{"type", "thoughts"}, {"text", word(kReason)}},
        response{{"type", "response"}, {"text", word(kContent)}};
    answers.push_back(message("assistant", json::object{{"blocks", json::array{thoughts, response}}}));
    for (const json::object& extra : {json::object(), json::object{{"enable_thinking", true}, {"thinking", true}}})
      for (const json::object& given : answers)
        if (learn(prober_.answer(given, extra))) return;
    // Templates that drop all thinking name the tag where they cut it off.
    for (size_t at = source_.find("</"); at != npos; at = source_.find("</", at + 2)) {
      const size_t end = source_.find_first_of("> \n'\"", at + 2);
      if (end == npos || source_[end] != '>') continue;
      const std::string tag(source_.substr(at + 2, end - at - 2));
      if (tag.find("think") == npos) continue;
      format_.thinking_begin = '<' + tag + '>';
      format_.thinking_end = "</" + tag + '>';
      return;
    }
    if (has("[/THINK]")) format_.thinking_begin = "[THINK]", format_.thinking_end = "[/THINK]";
  }

  std::vector<std::string> without_known(std::vector<std::string> parts) const {
    std::erase_if(
        parts, [&](const std::string& part) { return part == format_.thinking_begin || part == format_.thinking_end; });
    return parts;
  }

  // Marks around the text itself: <|START_RESPONSE|> text <|END_RESPONSE|>.
  void find_text_marks() {
    if (format_.channels || turn_.before.size() <= turn_.header.size()) return;
    const std::vector<std::string> own =
        without_known({turn_.before.begin() + static_cast<ptrdiff_t>(turn_.header.size()), turn_.before.end()});
    // What a prompt ends with is a beginning of answers, not of their text.
    const auto asked = [&](const auto& prompt) {
      return !prompt.empty() && !own.empty() && prompt.back() == own.back();
    };
    if (own.empty() || std::ranges::all_of(turn_.prompts, asked)) return;
    for (const std::string& part : own) {
      // A mark without brackets needs the newline behind it, or it would be the beginning of some word.
      const bool word = part.find_first_of("<[") == npos;
      format_.text_marks.push_back(word && turn_.before_text.ends_with('\n') ? part + '\n' : part);
    }
    for (const std::string& part : turn_.after) {
      if (part.find_first_of("<[") != npos) format_.text_marks.push_back(part);
      if (!turn_.header.empty() && part == turn_.header[0]) break;  // the end of the turn, the user's too
    }
  }

  // What the conversations did not show, by words that models share.
  void find_known_words() {
    const auto known = [&](std::string_view word) {
      return has(word) || std::ranges::any_of(vocabulary_, [&](const std::string& text) { return text == word; });
    };
    if (!format_.channels && format_.thinking_end.empty() && known("<think>") && known("</think>")) {
      format_.thinking_begin = "<think>";
      format_.thinking_end = "</think>";
    }
    if (format_.channels || format_.calls != Calls::kNone) return;
    if (known("<|tool_call_start|>")) {
      format_.calls = Calls::kPython;
      format_.call_begin = "<|tool_call_start|>";
      format_.call_end = "<|tool_call_end|>";
    } else if (known("<tool_call>") && known("</tool_call>")) {
      format_.calls = Calls::kJson;
      format_.call_begin = "<tool_call>";
      format_.call_end = "</tool_call>";
    } else if (known("<|tool_call|>")) {
      format_.calls = Calls::kJson;
      format_.call_begin = "<|tool_call|>";
    }
  }

  const Prober& prober_;
  const Turn turn_;
  std::string_view source_;
  std::span<const std::string> vocabulary_;
  AnswerFormat format_;
};

}  // namespace

AnswerFormat find_answer_format(const ChatTemplate& parsed, std::string_view source, const json::object& special_tokens,
                                std::span<const std::string> vocabulary) {
  return Finder(Prober(parsed, special_tokens), source, vocabulary).find();
}

ThinkingSwitch find_thinking_switch(const ChatTemplate& parsed, const json::object& special_tokens) {
  // In order of preference; a template that knows none of the names renders the same with all of them.
  static constexpr std::array<std::array<const char*, 3>, 6> kSwitches{
      {{"enable_thinking", "true", "false"},
       {"thinking", "true", "false"},
       {"reasoning", "true", "false"},
       {"thinking_mode", R"("enabled")", R"("disabled")"},
       {"reasoning_effort", R"("high")", R"("none")"},
       {"reasoning_effort", R"("high")", R"("no_think")"}}};
  const auto render = [&](const char* name, const char* value) -> std::optional<std::string> {
    json::object variables = special_tokens;
    variables["messages"] = json::array{message("user", word(kUser))};
    variables["tools"] = nullptr;
    variables["documents"] = nullptr;
    variables["add_generation_prompt"] = true;
    if (name != nullptr) variables[name] = json::parse(value);
    try {
      return parsed.render(variables, {});
    } catch (const Error&) {
      return std::nullopt;
    }
  };
  const auto plain = render(nullptr, nullptr);
  for (const auto& [name, on, off] : kSwitches) {
    const auto with = render(name, on), without = render(name, off);
    if (with && without && with != without) return {name, on, off, plain == with};
  }
  return {};
}

}  // namespace ingle
