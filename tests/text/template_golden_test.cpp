// Replays what Jinja2 and transformers rendered (scripts/make_template_golden.py), byte for byte.
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "ingle/error.h"
#include "text/chat_template.h"

namespace ingle {
namespace {

namespace json = boost::json;

std::string read(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::filesystem::path shared_folder() {
  const char* given = std::getenv("INGLE_SHARED");
  return given != nullptr ? std::filesystem::path(given) : std::filesystem::path(INGLE_SOURCE_DIR) / ".." / "shared";
}

// INGLE_TEMPLATE_GOLDEN names another file of the same kind: every template of the folder, say.
const json::object& golden() {
  static const json::value value = [] {
    const char* given = std::getenv("INGLE_TEMPLATE_GOLDEN");
    json::parse_options options;
    options.max_depth = 100;
    return json::parse(
        read(given != nullptr ? std::filesystem::path(given)
                              : std::filesystem::path(INGLE_SOURCE_DIR) / "tests/text/data/templates/golden.json"),
        {}, options);
  }();
  return value.get_object();
}

std::chrono::system_clock::time_point golden_now() {
  std::tm local{};
  local.tm_year = 125, local.tm_mon = 2, local.tm_mday = 7, local.tm_hour = 9, local.tm_min = 5, local.tm_sec = 3;
  local.tm_isdst = -1;
  return std::chrono::system_clock::from_time_t(std::mktime(&local));
}

// What the reference refuses and we render all the same: appending in the sandbox, from_json, generators as JSON.
bool may_do_better(const json::object& expected) {
  return expected.at("kind") == "SecurityError" || expected.at("kind") == "TemplateRuntimeError";
}

void check(const std::string& name, const std::string& source, const json::object& variables,
           const json::object& expected) {
  SCOPED_TRACE(name);
  std::string text, error;
  try {
    const ChatTemplate parsed = ChatTemplate::parse(source);
    const auto spans = parsed.render_spans(variables, golden_now());
    for (const auto& span : spans) text += span.text;
    EXPECT_EQ(text, parsed.render(variables, golden_now()));
  } catch (const Error& e) {
    error = e.what();
  }
  if (const json::value* wanted = expected.if_contains("text")) {
    EXPECT_EQ(error, "");
    EXPECT_EQ(text, std::string(wanted->as_string()));
  } else if (!may_do_better(expected)) {
    EXPECT_NE(error, "") << "the reference fails: " << expected.at("kind") << ", here: " << text;
    const std::string message(expected.at("error").as_string());
    EXPECT_NE(error.find(message), std::string::npos) << error << " instead of " << message;
  }
}

TEST(TemplateGolden, EverySnippetOfTheLanguageRendersAsInJinja2) {
  const json::value* snippets = golden().if_contains("snippets");
  if (snippets == nullptr) GTEST_SKIP() << "no snippets in this file";
  for (const json::value& snippet : snippets->as_array()) {
    const std::string source(snippet.at("source").as_string());
    check(source, source, golden().at("snippet_variables").as_object(), snippet.as_object());
  }
}

TEST(TemplateGolden, TemplatesOfKnownModelsRenderConversationsAsTransformersDoes) {
  size_t replayed = 0;
  for (const json::value& entry : golden().at("templates").as_array()) {
    const std::string name(entry.at("template").as_string());
    std::string source;
    if (const json::value* given = entry.as_object().if_contains("source"))
      source = given->as_string();
    else
      source = read(shared_folder() / "data/templates" / (name + ".jinja"));
    if (source.empty()) continue;
    for (const json::value& expected : entry.at("cases").as_array()) {
      const json::value& title = expected.at("conversation");
      json::object variables = golden().at("special").as_object();
      variables["tools"] = nullptr;
      variables["documents"] = nullptr;
      for (const auto& [key, value] : golden().at("conversations").at(title.as_string()).as_object())
        variables[key] = value;
      variables["messages"] = normalize_messages(variables.at("messages").as_array());
      check(name + ": " + std::string(title.as_string()), source, variables, expected.as_object());
      ++replayed;
    }
  }
  if (replayed == 0) GTEST_SKIP() << "no templates under " << shared_folder();
}

}  // namespace
}  // namespace ingle
