// What a call says, once all of it is there.
#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>

#include "base/error.h"
#include "text/call_reader.h"
#include "text/template_unicode.h"

namespace ingle {
namespace {

namespace json = boost::json;

// {"name": ..., "arguments": {...}} in the spellings that templates have.
bool names_tool(std::string_view key) { return key == "name" || key == "tool_name"; }
bool names_arguments(std::string_view key) { return key == "arguments" || key == "parameters" || key == "args"; }
bool names_id(std::string_view key) { return key == "id" || key == "tool_call_id" || key == "call_id"; }

}  // namespace

ArgumentTypes argument_types(std::string_view tools) {
  ArgumentTypes types;
  if (tools.empty()) return types;
  json::parse_options options;
  options.max_depth = 100;
  json::error_code error;
  const json::value all = json::parse(json::string_view(tools.data(), tools.size()), error, {}, options);
  if (error) throw_error(ErrorCode::kInvalidArgument, "tools: not JSON ({})", error.message());
  if (all.is_null()) return types;
  if (!all.is_array()) throw_error(ErrorCode::kInvalidArgument, "tools: not an array");
  const auto member = [](const json::value* value, const char* key) -> const json::value* {
    return value != nullptr && value->is_object() ? value->get_object().if_contains(key) : nullptr;
  };
  for (const json::value& tool : all.get_array()) {
    const json::value* function = member(&tool, "function");
    if (function == nullptr) function = &tool;
    const json::value* name = member(function, "name");
    const json::value* properties = member(member(function, "parameters"), "properties");
    if (name == nullptr || !name->is_string()) continue;
    auto& of = types[std::string(name->get_string())];
    if (properties == nullptr || !properties->is_object()) continue;
    for (const auto& [key, schema] : properties->get_object()) {
      const json::value* type = member(&schema, "type");
      if (type == nullptr) continue;
      if (type->is_string()) of[std::string(key)] = std::string(type->get_string());
      if (type->is_array() && std::ranges::count(type->get_array(), json::value("string")) > 0)
        of[std::string(key)] = "string";
    }
  }
  return types;
}

// <key>...</key> one after the other: an object, or a list where all are called item; "" where there is none.
std::string CallReader::read_elements(std::string_view text, size_t& at, std::string_view path, int depth) const {
  if (depth >= kMostValueDepth)
    throw ValueFailure{fmt::format("arguments are nested more than {} deep", kMostValueDepth)};
  const std::string& prefix = format_.tag_prefix;
  std::string members, items;
  bool list = true;
  for (;;) {
    size_t tag = at;
    while (tag < text.size() && is_answer_space(text[tag])) ++tag;
    const std::string_view rest = text.substr(tag);
    if (!rest.starts_with(prefix + '<') || rest.starts_with(prefix + "</")) break;
    const size_t name_at = tag + prefix.size() + 1, name_end = text.find('>', name_at);
    if (name_end == text.npos) throw ValueFailure{"an element has no name"};
    const std::string name(text.substr(name_at, name_end - name_at));
    if (!is_name(name)) throw ValueFailure{"an element has no name"};
    at = name_end + 1;
    const std::string close = fmt::format("{}</{}>", prefix, name);
    const std::string key = path.empty() ? name : std::string(path);
    std::string json = read_elements(text, at, key, depth + 1);
    if (json.empty()) {
      const size_t end = prefix.empty() ? text.find(close, at) : text.find(prefix, at);
      if (end == text.npos) throw ValueFailure{fmt::format("element {} has no end", name)};
      json = typed(key, text.substr(at, end - at), false, false);
      at = end;
    } else {
      while (at < text.size() && is_answer_space(text[at])) ++at;
    }
    if (!text.substr(at).starts_with(close)) throw ValueFailure{fmt::format("element {} has no end", name)};
    at += close.size();
    list = list && name == "item" && depth > 0;
    members += (members.empty() ? "" : ", ") + json_quote(name) + ": " + json;
    items += (items.empty() ? "" : ", ") + json;
  }
  if (members.empty()) return "";
  return list ? "[" + items + "]" : "{" + members + "}";
}

std::string CallReader::typed(std::string_view key, std::string_view text, bool marked, bool is_string) const {
  bool string = is_string;
  if (!marked) {
    const auto function = types_.find(name_);
    if (function != types_.end()) {
      const auto type = function->second.find(std::string(key));
      string = type != function->second.end() && type->second == "string";
    }
  }
  if (string) return json_quote(text);
  if (std::optional<std::string> value = whole_value(text, ValueSyntax::kJson)) {
    // A quoted text was meant with its quotes unless the format says that it is JSON.
    if (marked || value->front() != '"') return *value;
  } else if (!marked) {
    value = whole_value(text, ValueSyntax::kPython);
    if (value && value->front() != '"') return *value;
  }
  return json_quote(text);
}

void CallReader::add_argument(const std::string& key, const std::string& json) {
  arguments_ += fmt::format("{}{}: {}", arguments_.empty() ? "{" : ", ", json_quote(key), json);
}

bool CallReader::read_calls(std::string_view region) {
  using Calls = AnswerFormat::Calls;
  const std::string_view all = region.substr(0, at_);
  if (!jinja::is_utf8(all)) {
    broken("bytes that are no UTF-8");
    return false;
  }
  const std::string_view body = body_begun_ ? region.substr(body_, body_end_ - body_) : std::string_view();
  try {
    if (start_ == Start::kHeader || format_.calls == Calls::kNamed || format_.calls == Calls::kBraced) {
      ValueReader reader(body, format_.calls == Calls::kBraced ? ValueSyntax::kBraced : ValueSyntax::kJson,
                         format_.quote);
      arguments_ = reader.value();
    } else if (format_.calls == Calls::kJson) {
      ValueReader reader(body, ValueSyntax::kJson);
      for (reader.skip_space(); !reader.at_end(); reader.skip_space())
        if (!reader.take(',')) read_json(reader, 0);
    } else if (format_.calls == Calls::kPython) {
      ValueReader reader(body, ValueSyntax::kPython);
      const bool list = reader.take('[');
      do {
        if (list && reader.take(']')) break;
        ToolCall call{.id = {}, .name = reader.word(), .arguments = {}, .raw = {}};
        reader.expect('(');
        std::string arguments = "{";
        while (!reader.take(')')) {
          if (arguments.size() > 1) reader.expect(','), arguments += ", ";
          if (reader.take(')')) break;
          const std::string key = reader.word();
          reader.expect('=');
          arguments += json_quote(key) + ": " + reader.value();
        }
        if (arguments.ends_with(", ")) arguments.resize(arguments.size() - 2);
        call.arguments = arguments + "}";
        calls_.push_back(std::move(call));
      } while (list && reader.take(','));
      reader.skip_space();
      if (!reader.at_end() && list && calls_.empty()) reader.fail("no call");
    } else {
      arguments_ += arguments_.empty() ? "{}" : format_.calls == Calls::kTagged ? "}" : "";
    }
  } catch (const ValueFailure& failure) {
    calls_.clear();
    broken(failure.problem);
    return false;
  }
  if (!name_.empty()) {
    // A counter behind a colon belongs to the id that the mark began: functions.NAME:0.
    std::string id = id_;
    if (format_.name_end == ":" && !id_.empty()) {
      const size_t word = format_.call_begin.find_last_of(">]\x01") + 1;
      id = format_.call_begin.substr(word) + name_ + ":" + id_;
    }
    calls_ = {{.id = std::move(id), .name = name_, .arguments = arguments_, .raw = {}}};
  }
  if (calls_.empty()) {
    broken("no call");
    return false;
  }
  calls_.front().raw = std::string(all);
  return true;
}

void CallReader::read_json(ValueReader& reader, int depth) {
  if (!reader.take('[')) return read_json_object(reader, depth);
  for (bool first = true; !reader.take(']'); first = false) {
    if (!first) reader.expect(',');
    read_json_object(reader, depth);
  }
}

// {"name": "f", "arguments": {...}}, {"function": {...}} around that, or {"f": {...}}.
void CallReader::read_json_object(ValueReader& reader, int depth) {
  const std::vector<std::pair<std::string, std::string>> members = reader.object();
  ToolCall call;
  bool has_arguments = false;
  const std::string* function = nullptr;
  for (const auto& [key, json] : members) {
    const bool string = json.front() == '"';
    if (names_tool(key) && string) call.name = ValueReader(json, ValueSyntax::kJson).string();
    if (names_id(key)) call.id = string ? ValueReader(json, ValueSyntax::kJson).string() : json;
    if (key == "function") function = &json;
    if (!names_arguments(key)) continue;
    call.arguments = json;
    // Some models write the arguments as a text that is JSON.
    if (string)
      call.arguments = whole_value(ValueReader(json, ValueSyntax::kJson).string(), ValueSyntax::kJson).value_or("");
    has_arguments = true;
  }
  if (call.name.empty() && function != nullptr && depth == 0) {
    if (function->front() == '"') {
      call.name = ValueReader(*function, ValueSyntax::kJson).string();
    } else {
      ValueReader inner(*function, ValueSyntax::kJson);
      read_json_object(inner, 1);
      if (calls_.back().id.empty()) calls_.back().id = call.id;
      return;
    }
  }
  if (call.name.empty() && !has_arguments && members.size() == 1 && members[0].second.front() == '{') {
    call.name = members[0].first;
    call.arguments = members[0].second;
    has_arguments = true;
  }
  if (call.name.empty()) throw ValueFailure{"a call without a name"};
  if (start_ == Start::kBare && !has_arguments) throw ValueFailure{"no arguments"};
  if (!has_arguments || call.arguments == "null") call.arguments = "{}";
  if (call.arguments.empty() || call.arguments.front() != '{')
    throw ValueFailure{fmt::format("call of {}: the arguments are no object", call.name)};
  calls_.push_back(std::move(call));
}

}  // namespace ingle
