// ingle template: what a chat template makes of a conversation, what it supports, and where it goes wrong.
#include <boost/json.hpp>
#include <charconv>

#include "apps/ingle/commands.h"
#include "apps/ingle/exit_code.h"
#include "apps/ingle/fail.h"
#include "apps/ingle/files.h"
#include "apps/ingle/json_reading.h"
#include "apps/ingle/json_text.h"
#include "apps/ingle/option_table.h"
#include "apps/ingle/setup.h"
#include "apps/ingle/table.h"
#include "apps/ingle/terminal.h"
#include "apps/ingle/tools.h"
#include "apps/ingle/utf8.h"
#include "ingle/ingle.h"

namespace ingle::app {
namespace {

constexpr Option kOptions[] = {
    {.name = "prompt",
     .short_name = "p",
     .kind = ValueKind::kText,
     .value_name = "TEXT",
     .help = "A conversation of this message"},
    {.name = "system", .kind = ValueKind::kText, .value_name = "TEXT", .help = "Instructions that come before it"},
    {.name = "file",
     .short_name = "f",
     .kind = ValueKind::kFile,
     .value_name = "FILE",
     .help = "A conversation as JSON: its messages, or an object with messages, tools and other variables; '-' reads "
             "stdin"},
    {.name = "tools", .kind = ValueKind::kFile, .value_name = "FILE", .help = "Tools the model may call, a JSON array"},
    {.name = "arg",
     .kind = ValueKind::kText,
     .value_name = "NAME=VALUE",
     .help = "A variable of the template, as enable_thinking=false: JSON, or else a text; may be given several times",
     .repeatable = true},
    {.name = "no-generation-prompt", .help = "Leave out the beginning of an answer"},
    {.name = "variant",
     .kind = ValueKind::kText,
     .value_name = "NAME",
     .fallback_note = "tool_use where there are tools and the file has it",
     .help = "Which of a file's templates, where it has several"},
    {.name = "features", .help = "List what the template supports, found out by rendering small conversations"},
    {.name = "source", .help = "Print the template itself"},
    {.name = "ids", .help = "Print the ids of the rendered text's tokens"},
    {.name = "json", .help = "Print one JSON object"},
};
constexpr OptionGroup kTemplateOptions{"Conversation and output", kOptions};

namespace json = boost::json;

using Variables = std::vector<std::pair<std::string, std::string>>;

void set(Variables& variables, std::string name, std::string value) {
  std::erase_if(variables, [&](const auto& variable) { return variable.first == name; });
  variables.emplace_back(std::move(name), std::move(value));
}

// Messages alone, or an object as chat APIs and transformers have it: what is not messages is a variable.
void read_conversation(const std::string& file, ChatRequest& request) {
  const std::string name = file == "-" ? "standard input" : file;
  const std::string text = read_text(file);
  const json::value root = parse_json(text, name);
  if (root.is_array()) {
    request.messages_json = text;
    return;
  }
  const json::object* object = root.if_object();
  const json::value* messages = object ? object->if_contains("messages") : nullptr;
  if (!messages || !messages->is_array())
    fail(ErrorCode::kInvalidFile, "{}: no conversation: neither an array of messages nor an object with \"messages\"",
         name);
  const json::value* format = object->if_contains("format");
  if (format && format->is_string() && format->get_string() == "ingle-conversation") {
    json::array all;
    const json::value* system = object->if_contains("system");
    if (system && system->is_string() && !system->get_string().empty())
      all.push_back(json::object{{"role", "system"}, {"content", *system}});
    for (const json::value& message : messages->get_array()) all.push_back(message);
    request.messages_json = json::serialize(all);
    return;
  }
  for (auto& [key, value] : json_members(text)) {
    if (key == "messages") {
      request.messages_json = std::move(value);
    } else if (key == "add_generation_prompt" && (value == "true" || value == "false")) {
      request.add_generation_prompt = value == "true";
    } else {
      set(request.arguments, key, std::move(value));
    }
  }
}

ChatRequest read_request(const Arguments& arguments) {
  ChatRequest request;
  if (arguments.given("file")) {
    if (arguments.given("prompt") || arguments.given("system"))
      fail(ErrorCode::kInvalidArgument, "-f has the whole conversation; leave out -p and --system");
    read_conversation(arguments.text("file"), request);
  } else {
    if (arguments.given("system")) request.messages.push_back({"system", arguments.text("system")});
    if (arguments.given("prompt")) request.messages.push_back({"user", arguments.text("prompt")});
  }
  if (arguments.given("tools")) set(request.arguments, "tools", read_tools(arguments.text("tools")));
  for (const std::string& argument : arguments.texts("arg")) {
    const size_t equals = argument.find('=');
    if (equals == argument.npos || equals == 0)
      fail(ErrorCode::kInvalidArgument, "--arg: '{}' is not NAME=VALUE", printable(argument));
    const std::string value = argument.substr(equals + 1);
    set(request.arguments, argument.substr(0, equals), is_json(value) ? value : json::serialize(json::value(value)));
  }
  if (arguments.flag("no-generation-prompt")) request.add_generation_prompt = false;
  return request;
}

TemplateSource read_source(const std::filesystem::path& path, const Arguments& arguments, const ChatRequest& request) {
  if (arguments.given("variant")) return read_template(path, arguments.text("variant"));
  TemplateSource source = read_template(path);
  const bool tools = std::ranges::any_of(
      request.arguments, [](const auto& v) { return v.first == "tools" && v.second != "null" && v.second != "[]"; });
  const bool has_tool_use = std::ranges::count(source.names, "tool_use") > 0;
  return tools && has_tool_use ? read_template(path, "tool_use") : source;
}

// Lines of the template around the one that a complaint names.
void show_place(std::string_view source, std::string_view complaint) {
  const size_t at = complaint.find("line ");
  size_t line = 0;
  if (at == complaint.npos ||
      std::from_chars(complaint.data() + at + 5, complaint.data() + complaint.size(), line).ec != std::errc() ||
      line == 0)
    return;
  constexpr size_t kAround = 2, kColumns = 160;
  for (size_t number = 1; !source.empty(); ++number) {
    const size_t end = std::min(source.find('\n'), source.size());
    if (number + kAround >= line && number <= line + kAround) {
      const std::string_view text = source.substr(0, end);
      note("{} {:5} | {}{}", number == line ? '>' : ' ', number, printable(to_valid_utf8(text.substr(0, kColumns))),
           text.size() > kColumns ? "..." : "");
    }
    source.remove_prefix(std::min(end + 1, source.size()));
  }
}

template <class Function>
auto explaining(std::string_view source, Function function) {
  try {
    return function();
  } catch (const Error& error) {
    show_place(source, error.what());
    throw;
  }
}

void print_features(const std::vector<TemplateFeature>& features, bool as_json) {
  if (as_json) {
    json::array list;
    for (const TemplateFeature& feature : features)
      list.push_back(
          json::object{{"name", feature.name}, {"answer", feature.answer}, {"detail", to_valid_utf8(feature.detail)}});
    put("{}\n", json_text(json::object{{"features", std::move(list)}}));
    return;
  }
  Table table({"feature", "answer", "detail"}, 3);
  for (const TemplateFeature& feature : features) table.add({feature.name, feature.answer, printable(feature.detail)});
  put("{}", table.text());
}

void print_rendering(const PromptTemplate& prompt_template, const ChatRequest& request, bool as_json) {
  const std::string text = prompt_template.render(request);
  const size_t begins = prompt_template.generation_prompt_offset(request);
  const std::string opening = text.substr(begins);
  if (as_json) {
    put("{}\n", json_text(json::object{{"text", to_valid_utf8(text)},
                                       {"bytes", text.size()},
                                       {"generation_prompt", {{"begin", begins}, {"text", to_valid_utf8(opening)}}}}));
    return;
  }
  // What a program reads is the text and nothing else.
  if (!stdout_is_terminal()) {
    write_stdout(text);
  } else {
    put("{}\x1b[7m{}\x1b[m\n", text.substr(0, begins), opening);
  }
  if (opening.empty()) {
    note("{} bytes, no generation prompt", text.size());
  } else {
    note("{} bytes; the generation prompt starts at byte {}: '{}'", text.size(), begins, printable(opening));
  }
}

int render_template(const Arguments& arguments) {
  const bool as_json = arguments.flag("json"), source_alone = arguments.flag("source"), ids = arguments.flag("ids");
  if (source_alone + ids + arguments.flag("features") > 1)
    fail(ErrorCode::kInvalidArgument, "--features, --source and --ids: give one of them");
  const std::filesystem::path path = model_path(arguments);
  ChatRequest request = read_request(arguments);
  const bool conversation = !request.messages.empty() || !request.messages_json.empty();
  for (const char* option : {"ids", "arg", "no-generation-prompt"})
    if (!conversation && arguments.given(option))
      fail(ErrorCode::kInvalidArgument, "--{}: goes with a conversation: -p TEXT or -f FILE", option);
  const TemplateSource source = read_source(path, arguments, request);
  if (source.text.empty()) note("ingle: note: {} has no chat template; this is ChatML", path.string());
  const PromptTemplate prompt_template =
      explaining(source.text, [&] { return PromptTemplate(source.text, source.special_tokens); });

  if (source_alone) {
    const std::string& text = prompt_template.source();
    if (as_json) {
      put("{}\n", json_text(json::object{{"source", to_valid_utf8(text)}}));
    } else {
      write_stdout(text + (text.ends_with('\n') ? "" : "\n"));
    }
  } else if (arguments.flag("features") || !conversation) {
    print_features(prompt_template.features(), as_json);
    if (!source.names.empty() && !as_json)
      put("further templates in the file (--variant): {}\n", fmt::join(source.names, ", "));
  } else if (ids) {
    if (arguments.given("variant")) fail(ErrorCode::kInvalidArgument, "--ids: only with the file's default template");
    Engine engine({.isa = "", .log = log_to_stderr(arguments)});
    const Model model = open_model(engine, path, arguments, true);
    const std::vector<TokenId> tokens = explaining(source.text, [&] { return model.tokenize_chat(request); });
    if (as_json) {
      put("{}\n", json_text(json::object{{"count", tokens.size()}, {"ids", json::value_from(tokens)}}));
    } else {
      put("{}\n", fmt::join(tokens, " "));
    }
  } else {
    explaining(prompt_template.source(), [&] { print_rendering(prompt_template, request, as_json); });
  }
  return kSuccess;
}

}  // namespace

Command template_command() {
  return {
      {.name = "template",
       .summary = "render a conversation with a chat template",
       .description =
           "Shows the text that a model reads for a conversation, and on stderr where the generation prompt, the "
           "beginning of the model's answer, starts. Without a conversation it lists what the template supports. A "
           "complaint of the template comes with the lines it is about.",
       .positionals = {{.name = "MODEL",
                        .help = "A GGUF file, a catalogue name (smollm2), a tokenizer_config.json or its folder, or "
                                "a template",
                        .kind = ValueKind::kFile}},
       .groups = {&kModelFileOptions, &kTemplateOptions, &kGeneralOptions},
       .examples = {{"ingle template smollm2", "what its template supports"},
                    {"ingle template smollm2 -p \"Hello there\"", "what the model reads"},
                    {"ingle template template.jinja -f conversation.json --tools tools.json --arg "
                     "enable_thinking=false",
                     "a template in a file, with tools and a variable of its own"}}},
      render_template};
}

}  // namespace ingle::app
