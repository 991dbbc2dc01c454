#include "apps/ingle/help.h"

#include <algorithm>

#include "apps/ingle/commands.h"
#include "apps/ingle/terminal.h"

namespace ingle::app {
namespace {

constexpr int kNameColumn = 30;     // where explanations begin; longer names push theirs to the next line
constexpr int kCommandColumn = 14;  // the same for commands
constexpr int kWidest = 110;        // longer lines are hard to read

std::string choices_text(std::string_view choices) {
  std::string text;
  for (const char c : choices) text += c == '|' ? std::string(", ") : std::string(1, c);
  return text;
}

std::string entry(std::string_view name, std::string_view explanation, int width, int column = kNameColumn) {
  std::string text = fmt::format("  {}", name);
  if (display_width(text) + 2 > column) {
    text += '\n';
    text.append(column, ' ');
  } else {
    text = pad(text, column);
  }
  return text + wrap(explanation, width - column, column) + '\n';
}

int clamp_width(int width) { return std::clamp(width, 60, kWidest); }

std::string title(std::string_view text) {
  return stdout_is_terminal() ? fmt::format("\x1b[1m{}\x1b[m", text) : std::string(text);
}

}  // namespace

std::vector<std::string> option_names(const Option& option) {
  std::vector<std::string> names;
  if (!option.short_name.empty()) names.push_back(fmt::format("-{}", option.short_name));
  names.push_back(fmt::format("--{}", option.name));
  return names;
}

std::string option_help(const Option& option) {
  std::string text(option.help);
  if (option.kind == ValueKind::kChoice) text += fmt::format("; one of {}", choices_text(option.choices));
  const std::string_view fallback = option.fallback_note.empty() ? option.fallback : option.fallback_note;
  if (!fallback.empty()) text += fmt::format(" (default: {})", fallback);
  if (!option.environment.empty()) text += fmt::format(" (environment: {})", option.environment);
  return text;
}

std::vector<std::string_view> paragraphs(std::string_view text) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find("\n\n"), text.size());
    parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 2, text.size()));
  }
  return parts;
}

std::string usage_line(const Syntax& syntax) {
  std::string line = fmt::format("ingle {} [OPTIONS]", syntax.name);
  for (const Positional& p : syntax.positionals)
    line += p.required ? fmt::format(" {}", p.name) : fmt::format(" [{}]", p.name);
  return line;
}

std::string overview(int width) {
  width = clamp_width(width);
  std::string text = "ingle runs language models (GGUF files) on the machine you own.\n\n";
  text += fmt::format("{} ingle COMMAND [OPTIONS] [ARGUMENTS]\n\n{}\n", title("Usage:"), title("Commands:"));
  for (const Command& command : commands())
    text += entry(command.syntax.name, command.syntax.summary, width, kCommandColumn);
  text += fmt::format("\n{}\n", title("First steps:"));
  text += entry("ingle run smollm2", "chat with a small model", width);
  text += entry("ingle run m.gguf -p \"Hi\"", "one answer, on stdout", width);
  text += entry("ingle help run", "everything about a command; the same as ingle run --help", width);
  return text;
}

std::string help_text(const Syntax& syntax, int width) {
  width = clamp_width(width);
  std::string text =
      fmt::format("{}\n\n{} {}\n", wrap(fmt::format("ingle {}: {}", syntax.name, syntax.summary), width, 4),
                  title("Usage:"), usage_line(syntax));
  for (const std::string_view paragraph : paragraphs(syntax.description))
    text += '\n' + wrap(paragraph, width, 0) + '\n';
  if (!syntax.positionals.empty()) text += fmt::format("\n{}\n", title("Arguments:"));
  for (const Positional& p : syntax.positionals)
    text += entry(
        p.name, p.choices.empty() ? std::string(p.help) : fmt::format("{}; one of {}", p.help, choices_text(p.choices)),
        width);
  for (const OptionGroup* group : syntax.groups) {
    text += fmt::format("\n{}\n", title(fmt::format("{}:", group->title)));
    for (const Option& option : group->options) {
      // Long names line up: "-c, --ctx-size N" under "    --temp X".
      std::string name = option.short_name.empty() ? "    " : fmt::format("-{}, ", option.short_name);
      name += fmt::format("--{}{}{}", option.name, option.value_name.empty() ? "" : " ", option.value_name);
      text += entry(name, option_help(option), width);
    }
  }
  if (!syntax.examples.empty()) text += fmt::format("\n{}\n", title("Examples:"));
  for (const Example& example : syntax.examples)
    text += fmt::format("  {}\n      {}\n", example.line, example.explanation);
  return text;
}

}  // namespace ingle::app
