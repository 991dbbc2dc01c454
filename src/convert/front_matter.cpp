#include "convert/front_matter.h"

namespace ingle {
namespace {

constexpr std::string_view kSpaces = " \t\r";

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(kSpaces);
  return begin == text.npos ? "" : text.substr(begin, text.find_last_not_of(kSpaces) - begin + 1);
}

std::string_view unquoted(std::string_view text) {
  text = trimmed(text);
  const bool quoted = text.size() >= 2 && (text.front() == '"' || text.front() == '\'') && text.back() == text.front();
  return quoted ? text.substr(1, text.size() - 2) : text;
}

std::string_view next_line(std::string_view& text) {
  const size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == text.npos ? text.size() : end + 1);
  return line;
}

// "en", or "[en, fr]".
void add_value(std::vector<std::string>& values, std::string_view text) {
  const bool list = text.size() >= 2 && text.front() == '[' && text.back() == ']';
  if (!list) {
    values.emplace_back(unquoted(text));
    return;
  }
  text = text.substr(1, text.size() - 2);
  while (!text.empty()) {
    const size_t end = text.find(',');
    if (const std::string_view item = unquoted(text.substr(0, end)); !item.empty()) values.emplace_back(item);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
}

}  // namespace

FrontMatter read_front_matter(std::string_view text) {
  FrontMatter matter;
  if (trimmed(next_line(text)) != "---") return matter;
  std::vector<std::string>* list = nullptr;  // that of the last name, while only items follow
  while (!text.empty()) {
    const std::string_view line = next_line(text), content = trimmed(line);
    if (content == "---") return matter;
    if (content.empty() || content.front() == '#') continue;
    if (content.starts_with("- ")) {
      if (list != nullptr && content.find(": ") == content.npos) list->emplace_back(unquoted(content.substr(2)));
      continue;
    }
    const size_t colon = line.find(':');
    list = nullptr;
    if (kSpaces.find(line.front()) != kSpaces.npos || colon == line.npos) continue;  // inside something deeper
    const std::string_view value = trimmed(line.substr(colon + 1));
    std::vector<std::string>& values = matter[std::string(trimmed(line.substr(0, colon)))];
    values.clear();
    if (value.empty()) {
      list = &values;
    } else {
      add_value(values, value);
    }
  }
  return {};  // no second ---
}

}  // namespace ingle
