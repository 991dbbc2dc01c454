// Where templates are kept: under tokenizer.chat_template in GGUF, in a tokenizer_config.json or beside it, in a file
// of their own.
#include <algorithm>
#include <boost/json.hpp>

#include "base/error.h"
#include "base/read_file.h"
#include "gguf/gguf.h"
#include "ingle/prompt_template.h"
#include "models/vocabulary.h"
#include "runtime/chat.h"

namespace ingle {
namespace {

namespace json = boost::json;
namespace fs = std::filesystem;

constexpr size_t kMostTemplateBytes = size_t{64} << 20;
constexpr std::string_view kKey = "tokenizer.chat_template";

[[noreturn]] void no_such_name(const fs::path& path, std::string_view name, const std::vector<std::string>& names) {
  throw_error(ErrorCode::kNotFound, "{}: no chat template named \"{}\" ({})", path.native(), name,
              names.empty() ? "there is only the default one" : fmt::format("there are {}", fmt::join(names, ", ")));
}

TemplateSource of_gguf(const fs::path& path, std::string_view name) {
  const GgufFile file = GgufFile::open(path);
  TemplateSource source;
  for (const auto& [key, value] : file.metadata()) {
    if (key.size() > kKey.size() + 1 && key.starts_with(kKey) && key[kKey.size()] == '.')
      source.names.push_back(key.substr(kKey.size() + 1));
  }
  const auto text = file.find_string(name.empty() ? std::string(kKey) : fmt::format("{}.{}", kKey, name));
  if (!text && !name.empty()) no_such_name(path, name, source.names);
  source.text = text.value_or("");
  source.special_tokens = special_tokens(*Tokenizer::create(load_vocabulary(file)));
  return source;
}

// A special token is a text, or an object that has it as "content".
const json::string* token_text(const json::value& value) {
  if (value.is_string()) return &value.get_string();
  const json::object* object = value.if_object();
  const json::value* content = object ? object->if_contains("content") : nullptr;
  return content ? content->if_string() : nullptr;
}

TemplateSource of_config(const fs::path& path, std::string_view name) {
  json::error_code error;
  const json::value root = json::parse(read_file(path, kMostTemplateBytes), error);
  const json::object* config = root.if_object();
  if (error || !config)
    throw_error(ErrorCode::kInvalidFile, "{}: not a JSON object ({})", path.native(),
                error ? error.message() : "but another value");
  TemplateSource source;
  for (const auto& [key, value] : *config) {
    if (!key.ends_with("_token") || key.starts_with("add_")) continue;
    if (const json::string* text = token_text(value)) source.special_tokens.emplace_back(key, std::string(*text));
  }
  bool found = false;
  const json::value* given = config->if_contains("chat_template");
  if (given && given->is_string()) {
    source.text = given->get_string();
    found = name.empty() || name == "default";
  } else if (given && given->is_array()) {  // [{"name": "default", "template": "..."}, ...]
    for (const json::value& entry : given->get_array()) {
      const json::object* object = entry.if_object();
      const json::value* title = object ? object->if_contains("name") : nullptr;
      const json::value* text = object ? object->if_contains("template") : nullptr;
      if (!title || !title->is_string() || !text || !text->is_string())
        throw_error(ErrorCode::kInvalidFile, "{}: chat_template: an entry without \"name\" and \"template\"",
                    path.native());
      const bool wanted = title->get_string() == (name.empty() ? std::string_view("default") : name);
      if (wanted) source.text = text->get_string();
      found = found || wanted;
      if (title->get_string() != "default") source.names.emplace_back(title->get_string());
    }
  }
  if (!found && !name.empty()) no_such_name(path, name, source.names);
  return source;
}

// additional_chat_templates/NAME.jinja
std::vector<std::string> further_names(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored))
    if (entry.path().extension() == ".jinja") names.push_back(entry.path().stem().string());
  std::ranges::sort(names);
  return names;
}

// Newest first: a file of the template's own, one beside a processor, the tokenizer's configuration.
TemplateSource of_folder(const fs::path& folder, std::string_view name) {
  const fs::path config = folder / "tokenizer_config.json", beside = folder / "chat_template.jinja",
                 of_processor = folder / "chat_template.json", further = folder / "additional_chat_templates";
  const std::vector<std::string> names = further_names(further);
  const bool is_further = std::ranges::count(names, name) > 0;
  std::error_code ignored;
  const bool own = fs::exists(beside, ignored), processor = !own && fs::exists(of_processor, ignored);
  TemplateSource source;
  if ((!own && !processor) || fs::exists(config, ignored)) source = of_config(config, is_further ? "" : name);
  for (const std::string& other : names)
    if (std::ranges::count(source.names, other) == 0) source.names.push_back(other);
  if (is_further) {
    source.text = read_file(further / (std::string(name) + ".jinja"), kMostTemplateBytes);
  } else if (name.empty() && own) {
    source.text = read_file(beside, kMostTemplateBytes);
  } else if (name.empty() && processor) {
    source.text = of_config(of_processor, {}).text;
  } else if (!name.empty() && !fs::exists(config, ignored)) {
    no_such_name(folder, name, source.names);
  }
  return source;
}

}  // namespace

TemplateSource read_template(const fs::path& path, std::string_view name) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return of_folder(path, name);
  if (begins_with(path, "GGUF")) return of_gguf(path, name);
  if (path.extension() == ".json") return of_config(path, name);
  if (!name.empty()) no_such_name(path, name, {});
  TemplateSource source{.text = read_file(path, kMostTemplateBytes), .special_tokens = {}, .names = {}};
  if (source.text.empty()) throw_error(ErrorCode::kInvalidFile, "{}: is empty", path.native());
  return source;
}

}  // namespace ingle
