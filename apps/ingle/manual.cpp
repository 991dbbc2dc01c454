#include "apps/ingle/manual.h"

#include <fmt/format.h>

#include "apps/ingle/commands.h"
#include "apps/ingle/exit_code.h"
#include "apps/ingle/help.h"
#include "ingle/engine.h"

namespace ingle::app {
namespace {

// Text for roff: a backslash, a hyphen that must stay one, and a dot or quote that would begin a request.
std::string roff(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool line_start = i == 0 || text[i - 1] == '\n';
    if (line_start && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  return out;
}

std::string roff_option(const Option& option) {
  std::string names;
  for (const std::string& name : option_names(option))
    names += fmt::format("{}\\fB{}\\fR", names.empty() ? "" : ", ", roff(name));
  if (!option.value_name.empty()) names += fmt::format(" \\fI{}\\fR", roff(option.value_name));
  return fmt::format(".TP\n{}\n{}.\n", names, roff(option_help(option)));
}

std::string header(std::string_view name) {
  return fmt::format(".TH {} 1 \"\" \"ingle {}\" \"User Commands\"\n", name, version());
}

std::string exit_status_section() {
  std::string text = ".SH EXIT STATUS\n";
  for (const ExitCode& code : exit_codes()) text += fmt::format(".TP\n.B {}\n{}\n", code.status, roff(code.meaning));
  return text;
}

// Markdown takes <this> for a tag and |that| for a table.
std::string markdown(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '<' || c == '>' || c == '|' || c == '*' || c == '_') out += '\\';
    out += c;
  }
  return out;
}

}  // namespace

std::string manual_overview() {
  std::string text = header("INGLE");
  text += ".SH NAME\ningle \\- run language models on the machine you own\n";
  text += ".SH SYNOPSIS\n.B ingle\n\\fICOMMAND\\fR [\\fIOPTIONS\\fR] [\\fIARGUMENTS\\fR]\n";
  text += ".SH DESCRIPTION\ningle opens a GGUF file, reads prompts, generates text, and measures what it does.\n";
  text += ".SH COMMANDS\n";
  for (const Command& command : commands())
    text += fmt::format(".TP\n\\fBingle\\-{}\\fR(1)\n{}\n", command.syntax.name, roff(command.syntax.summary));
  return text + exit_status_section();
}

std::string manual_page(const Syntax& syntax) {
  std::string upper;
  for (const char c : syntax.name) upper += static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  std::string text = header("INGLE-" + upper);
  text += fmt::format(".SH NAME\ningle\\-{} \\- {}\n.SH SYNOPSIS\n.B {}\n.SH DESCRIPTION\n", syntax.name,
                      roff(syntax.summary), roff(usage_line(syntax)));
  for (const std::string_view paragraph : paragraphs(syntax.description))
    text += fmt::format(".PP\n{}\n", roff(paragraph));
  if (!syntax.positionals.empty()) text += ".SH ARGUMENTS\n";
  for (const Positional& p : syntax.positionals) text += fmt::format(".TP\n.I {}\n{}.\n", roff(p.name), roff(p.help));
  text += ".SH OPTIONS\n";
  for (const OptionGroup* group : syntax.groups) {
    text += fmt::format(".SS {}\n", roff(group->title));
    for (const Option& option : group->options) text += roff_option(option);
  }
  if (!syntax.examples.empty()) text += ".SH EXAMPLES\n";
  for (const Example& example : syntax.examples)
    text += fmt::format(".TP\n.B {}\n{}\n", roff(example.line), roff(example.explanation));
  text += exit_status_section();
  return text + ".SH SEE ALSO\n.BR ingle (1)\n";
}

std::string commands_page() {
  std::string text =
      "# Commands\n\nGenerated from the option table by `scripts/generate_docs`; what `ingle help COMMAND` says.\n"
      "Exit statuses: [exit-codes.md](exit-codes.md).\n";
  for (const Command& command : commands()) {
    const Syntax& syntax = command.syntax;
    text += fmt::format("\n## ingle {}\n\n`{}`\n\n{}.\n", syntax.name, usage_line(syntax), markdown(syntax.summary));
    for (const std::string_view paragraph : paragraphs(syntax.description))
      text += fmt::format("\n{}\n", markdown(paragraph));
    for (size_t i = 0; i < syntax.positionals.size(); ++i)
      text += fmt::format("{}- `{}`: {}\n", i == 0 ? "\n" : "", syntax.positionals[i].name,
                          markdown(syntax.positionals[i].help));
    for (const OptionGroup* group : syntax.groups) {
      text += fmt::format("\n### {}\n\n| option | |\n| --- | --- |\n", group->title);
      for (const Option& option : group->options) {
        std::string names;
        for (const std::string& name : option_names(option))
          names += fmt::format("{}`{}`", names.empty() ? "" : ", ", name);
        if (!option.value_name.empty()) names += fmt::format(" {}", markdown(option.value_name));
        text += fmt::format("| {} | {} |\n", names, markdown(option_help(option)));
      }
    }
    if (!syntax.examples.empty()) text += "\n### Examples\n\n";
    for (const Example& example : syntax.examples)
      text += fmt::format("- `{}`: {}\n", example.line, markdown(example.explanation));
  }
  return text;
}

}  // namespace ingle::app
