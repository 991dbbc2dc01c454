// A template says nothing of what it supports; so small conversations are rendered, and words that only they hold are
// looked for in what comes out.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>

#include "base/error.h"
#include "runtime/prompt_template_impl.h"

namespace ingle {
namespace {

namespace json = boost::json;

constexpr const char* kSystem = "quiet-harbour";
constexpr const char* kUser = "green-lantern";
constexpr const char* kSecond = "stone-bridge";
constexpr const char* kAnswer = "early-thaw";
constexpr const char* kReasoning = "narrow-gauge";
constexpr const char* kTool = "look_up_tide";
constexpr const char* kPlace = "Port-Ellen";
constexpr const char* kResult = "high-water";
constexpr const char* kDocument = "salt-marsh";

json::object message(const char* role, json::value content) {
  return {{"role", role}, {"content", std::move(content)}};
}

json::object answer_with_reasoning() {
  json::object answer = message("assistant", kAnswer);
  answer["reasoning_content"] = kReasoning;
  return answer;
}

json::array tools() {
  const json::object place{{"type", "string"}, {"description", "A harbour"}};
  const json::object parameters{
      {"type", "object"}, {"properties", json::object{{"place", place}}}, {"required", json::array{"place"}}};
  const json::object function{{"name", kTool}, {"description", "When the tide is in"}, {"parameters", parameters}};
  return {json::object{{"type", "function"}, {"function", function}}};
}

json::object call() {
  const json::object function{{"name", kTool}, {"arguments", json::object{{"place", kPlace}}}};
  json::object answer = message("assistant", "");
  // Nine letters and digits: some templates insist on it.
  answer["tool_calls"] = json::array{json::object{{"type", "function"}, {"id", "abcdef123"}, {"function", function}}};
  return answer;
}

json::object result() {
  json::object message_ = message("tool", kResult);
  message_["name"] = kTool;
  message_["tool_call_id"] = "abcdef123";
  return message_;
}

// A rendering, or the template's complaint.
struct Outcome {
  std::string text, complaint;

  bool has(std::string_view word) const { return text.find(word) != text.npos; }
};

class Prober {
 public:
  explicit Prober(const PromptTemplate::Impl& prompt_template) : template_(prompt_template) {}

  Outcome render(json::array messages, std::vector<std::pair<std::string, std::string>> arguments = {},
                 bool add_generation_prompt = false) const {
    try {
      return {template_.render({.messages = {},
                                .messages_json = json::serialize(messages),
                                .add_generation_prompt = add_generation_prompt,
                                .arguments = std::move(arguments)}),
              ""};
    } catch (const Error& error) {
      return {"", error.what()};
    }
  }

  // `word` in the output: yes; a complaint: refused; neither: no.
  void ask(std::string name, const Outcome& outcome, std::string_view word) {
    if (!outcome.complaint.empty()) return add(std::move(name), "refused", outcome.complaint);
    add(std::move(name), outcome.has(word) ? "yes" : "no");
  }
  void add(std::string name, std::string answer, std::string detail = "") {
    found_.push_back({std::move(name), std::move(answer), std::move(detail)});
  }

  std::vector<TemplateFeature> take() { return std::move(found_); }

 private:
  const PromptTemplate::Impl& template_;
  std::vector<TemplateFeature> found_;
};

// What stands in `longer` and not in `shorter`, where they have a beginning and an end in common.
std::string difference(std::string_view longer, std::string_view shorter) {
  const size_t front = static_cast<size_t>(std::ranges::mismatch(longer, shorter).in1 - longer.begin());
  size_t back = 0;
  while (back < std::min(longer.size(), shorter.size()) - std::min(front, shorter.size()) &&
         longer[longer.size() - 1 - back] == shorter[shorter.size() - 1 - back])
    ++back;
  // "<a></a>" put before "<b>" is also "a></a><" put after "<": the first reading is meant.
  size_t end = longer.size() - back, begin = front;
  while (begin > 0 && end > begin && longer[begin - 1] == longer[end - 1]) --begin, --end;
  return std::string(longer.substr(begin, end - begin));
}

std::string thinking_switches(const Prober& prober, const json::array& question) {
  struct Switch {
    const char *name, *one, *other;
  };
  constexpr std::array<Switch, 5> kSwitches{{{"enable_thinking", "true", "false"},
                                             {"thinking", "true", "false"},
                                             {"thinking_mode", R"("enabled")", R"("disabled")"},
                                             {"thinking_budget", "0", "512"},
                                             {"reasoning_effort", R"("low")", R"("high")"}}};
  std::string names;
  for (const Switch& s : kSwitches) {
    const Outcome one = prober.render(question, {{s.name, s.one}}, true);
    const Outcome other = prober.render(question, {{s.name, s.other}}, true);
    if (one.text != other.text) names += fmt::format("{}{}", names.empty() ? "" : ", ", s.name);
  }
  return names;
}

bool writes_date(const PromptTemplate::Impl& prompt_template, const json::array& question) {
  const std::string messages = json::serialize(question);
  const auto at = [&](int64_t seconds) {
    const std::chrono::system_clock::time_point now{std::chrono::seconds(seconds)};
    try {
      return prompt_template.render({.messages = {}, .messages_json = messages}, now);
    } catch (const Error&) {
      return std::string();
    }
  };
  return at(1'000'000'000) != at(1'500'000'000);
}

}  // namespace

std::vector<TemplateFeature> find_features(const PromptTemplate::Impl& prompt_template) {
  Prober prober(prompt_template);
  const json::object user = message("user", kUser), answer = message("assistant", kAnswer);
  const json::array question{user};
  const std::string declared = json::serialize(tools());

  const Outcome plain = prober.render(question), open = prober.render(question, {}, true);
  prober.ask("user message", plain, kUser);
  prober.ask("system message", prober.render({message("system", kSystem), user}), kSystem);
  prober.ask("several turns", prober.render({user, answer, message("user", kSecond)}), kSecond);
  prober.ask("two user messages in a row", prober.render({user, message("user", kSecond)}), kSecond);

  const json::array parts{json::object{{"type", "text"}, {"text", kUser}}};
  const Outcome in_parts = prober.render({message("user", parts)});
  if (in_parts.has("'type'") || in_parts.has("\"type\"")) {
    prober.add("content in parts", "no", "parts are printed as data");
  } else {
    prober.ask("content in parts", in_parts, kUser);
  }

  const std::string begins = open.text.starts_with(plain.text) ? open.text.substr(plain.text.size()) : "";
  prober.add("generation prompt", begins.empty() ? "no" : "yes", begins);

  const Outcome with_tools = prober.render(question, {{"tools", declared}});
  prober.ask("tools", with_tools, kTool);
  const Outcome called = prober.render({user, call()}, {{"tools", declared}});
  prober.ask("tool calls", called, kPlace);
  if (called.has(kPlace)) {
    json::object silent = message("assistant", "");
    prober.add("tool call looks like", "",
               difference(called.text, prober.render({user, silent}, {{"tools", declared}}).text));
  }
  prober.ask("tool results", prober.render({user, call(), result()}, {{"tools", declared}}), kResult);

  prober.ask("reasoning of the last answer", prober.render({user, answer_with_reasoning()}), kReasoning);
  prober.ask("reasoning of earlier answers", prober.render({user, answer_with_reasoning(), message("user", kSecond)}),
             kReasoning);
  const std::string switches = thinking_switches(prober, question);
  prober.add("thinking switch", switches.empty() ? "no" : "yes", switches);

  const json::array documents{json::object{{"title", "Shore"}, {"text", kDocument}, {"content", kDocument}}};
  prober.ask("documents", prober.render(question, {{"documents", json::serialize(documents)}}), kDocument);

  const auto& special = prompt_template.special_tokens;
  const auto bos = std::ranges::find(special, "bos_token", [](const auto& pair) { return pair.first; });
  if (bos != special.end()) prober.add("begin token", plain.text.starts_with(bos->second) ? "yes" : "no", bos->second);
  prober.add("today's date", writes_date(prompt_template, question) ? "yes" : "no");
  prober.add("marks answers for training",
             prompt_template.source.find("endgeneration") != std::string::npos ? "yes" : "no");
  return prober.take();
}

}  // namespace ingle
