// An answer format in one line.
#include <fmt/format.h>

#include <array>

#include "ingle/answer.h"

namespace ingle {

std::vector<std::string> AnswerFormat::marks() const {
  std::vector<std::string> all = text_marks;
  all.insert(all.end(), frame_begins.begin(), frame_begins.end());
  all.insert(all.end(), frame_ends.begin(), frame_ends.end());
  for (const std::string* mark : {&thinking_begin, &thinking_end, &call_begin, &call_end, &name_end, &id_end,
                                  &key_begin, &key_end, &attribute_end, &value_end, &quote, &tag_prefix})
    all.push_back(*mark);
  if (channels) {
    for (const char* mark : {"<|start|>", "<|channel|>", "<|constrain|>", "<|message|>", "<|end|>", "<|return|>",
                             "<|call|>", "<|eom|>", "<|eot|>"})
      all.emplace_back(mark);
  }
  std::erase(all, "");
  return all;
}

std::string describe(const AnswerFormat& format) {
  const auto shown = [](std::string_view mark) {
    std::string text;
    for (const char c : mark) {
      if (c == AnswerFormat::kAnySpace) {
        text += '~';
      } else if (c == '\n') {
        text += "\\n";
      } else {
        text += c;
      }
    }
    return text;
  };
  std::string text;
  const auto add = [&](const std::string& part) { text += fmt::format("{}{}", text.empty() ? "" : "; ", part); };
  const auto list = [&](const std::vector<std::string>& marks) {
    std::string all;
    for (const std::string& mark : marks) all += fmt::format("{}{}", all.empty() ? "" : " ", shown(mark));
    return all;
  };
  if (format.channels) add("channels");
  if (!format.thinking_end.empty())
    add(fmt::format("thinking {} {}", shown(format.thinking_begin), shown(format.thinking_end)));
  if (!format.text_marks.empty()) add("text " + list(format.text_marks));
  if (format.calls == AnswerFormat::Calls::kNone) return text.empty() ? "text only" : text;
  constexpr std::array<const char*, 7> kNames{"none", "json", "named", "python", "braced", "tagged", "elements"};
  std::string calls = fmt::format("calls {}", kNames[static_cast<size_t>(format.calls)]);
  const auto part = [&](const char* name, const std::string& value) {
    if (!value.empty()) calls += fmt::format(" {}={}", name, shown(value));
  };
  if (format.bare) calls += " bare";
  part("begin", format.call_begin);
  part("name", format.name_end);
  part("id", format.id_end);
  part("key", format.key_begin);
  part("is", format.key_end);
  part("string", format.string_attribute);
  part("attribute", format.attribute_end);
  part("value", format.value_end);
  if (format.padded_values) calls += " padded";
  part("quote", format.quote);
  part("prefix", format.tag_prefix);
  part("end", format.call_end);
  if (!format.frame_begins.empty()) calls += " in " + list(format.frame_begins) + " .. " + list(format.frame_ends);
  add(calls);
  return text;
}

}  // namespace ingle
