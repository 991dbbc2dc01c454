// Replays what Jinja2 and transformers rendered (scripts/make_template_golden.py), byte for byte.
#include <gtest/gtest.h>

#include <algorithm>
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

const std::filesystem::path kData = std::filesystem::path(INGLE_SOURCE_DIR) / "tests/text/data/templates";

json::value parse_json(std::string_view text) {
  json::parse_options options;
  options.max_depth = 100;
  return json::parse(text, {}, options);
}

const json::object& golden() {
  static const json::value value = parse_json(read(kData / "golden.json"));
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

// The spans of {% generation %} as the reference counts them, in code points.
json::array in_code_points(const std::string& text, const std::vector<ChatTemplate::Generated>& spans) {
  const auto points = [&](size_t bytes) {
    return std::count_if(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(bytes),
                         [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; });
  };
  json::array out;
  for (const auto& span : spans) out.push_back(json::array{points(span.begin), points(span.end)});
  return out;
}

void check(const ChatTemplate& parsed, const TemplateVariables& variables, const json::object& expected) {
  std::string text, error;
  ChatTemplate::Rendering rendering;
  try {
    rendering = parsed.render_all(variables, golden_now());
    for (const auto& span : rendering.spans) text += span.text;
    EXPECT_EQ(text, parsed.render(variables, golden_now()));
  } catch (const Error& e) {
    error = e.what();
  }
  if (const json::value* wanted = expected.if_contains("text")) {
    EXPECT_EQ(error, "");
    EXPECT_EQ(text, std::string(wanted->as_string()));
    if (const json::value* generated = expected.if_contains("generated")) {
      EXPECT_EQ(json::serialize(in_code_points(text, rendering.generated)), json::serialize(*generated));
    }
  } else if (!may_do_better(expected)) {
    EXPECT_NE(error, "") << "the reference fails: " << expected.at("kind") << ", here: " << text;
    const std::string message(expected.at("error").as_string());
    EXPECT_NE(error.find(message), std::string::npos) << error << " instead of " << message;
  }
}

TEST(TemplateGolden, EverySnippetOfTheLanguageRendersAsInJinja2) {
  for (const json::value& snippet : golden().at("snippets").as_array()) {
    const std::string source(snippet.at("source").as_string());
    SCOPED_TRACE(source);
    const json::object& expected = snippet.as_object();
    try {
      check(ChatTemplate::parse(source), golden().at("snippet_variables").as_object(), expected);
    } catch (const Error& e) {
      EXPECT_EQ(expected.if_contains("text"), nullptr) << e.what();
    }
  }
}

TemplateVariables variables_of(const json::object& conversation) {
  json::object all = golden().at("special").as_object();
  all["tools"] = nullptr;
  all["documents"] = nullptr;
  for (const auto& [key, value] : conversation)
    if (key != "messages") all[key] = value;
  TemplateVariables variables(all);
  variables.set_conversation(conversation.at("messages").as_array());
  return variables;
}

TEST(TemplateGolden, TemplatesOfKnownModelsRenderConversationsAsTransformersDoes) {
  std::ifstream lines(kData / "rendered.jsonl");
  size_t replayed = 0, absent = 0;
  for (std::string line; std::getline(lines, line);) {
    const json::value entry = parse_json(line);
    const std::string name(entry.at("template").as_string());
    std::string source = read(kData / (name + ".jinja"));
    if (source.empty()) source = read(shared_folder() / "data/templates" / (name + ".jinja"));
    if (source.empty()) {
      ++absent;
      continue;
    }
    const ChatTemplate parsed = ChatTemplate::parse(source);
    const json::object& cases = entry.at("cases").as_object();
    for (const auto& [title, conversation] : golden().at("conversations").as_object()) {
      SCOPED_TRACE(name + ": " + std::string(title));
      const json::object* expected = &cases.at(title).as_object();
      if (const json::value* other = expected->if_contains("as")) expected = &cases.at(other->as_string()).as_object();
      check(parsed, variables_of(conversation.as_object()), *expected);
      ++replayed;
    }
  }
  EXPECT_GE(replayed, golden().at("conversations").as_object().size());  // one template is committed
  if (absent > 0) GTEST_SKIP() << absent << " templates are not under " << shared_folder();
}

}  // namespace
}  // namespace ingle
