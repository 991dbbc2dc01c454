#include "apps/ingle/shell_completion.h"

#include <fmt/format.h>

#include "apps/ingle/catalogue.h"
#include "apps/ingle/commands.h"
#include "apps/ingle/help.h"

namespace ingle::app {
namespace {

// For single quotes in sh, zsh and fish alike.
std::string shell_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string words_of(std::string_view choices) {
  std::string words(choices);
  for (char& c : words)
    if (c == '|') c = ' ';
  return words;
}

std::string command_names() {
  std::string names;
  for (const Command& command : commands()) names += fmt::format("{}{}", names.empty() ? "" : " ", command.syntax.name);
  return names;
}

std::string model_names() {
  std::string names;
  for (const CatalogueEntry& entry : catalogue())
    names += fmt::format("{}{} {}", names.empty() ? "" : " ", entry.alias, entry.name);
  return names;
}

bool is_model(const Option& option) { return option.name == "model"; }
bool is_model(const Positional& positional) { return positional.name == "MODEL"; }

// What to offer for a value, as a bash statement. The same test serves options and arguments.
template <class Taker>
std::string bash_offer(const Taker& taker) {
  if (is_model(taker))
    return fmt::format("COMPREPLY=($(compgen -W {} -- \"$current\") $(compgen -f -- \"$current\"))",
                       shell_quoted(model_names()));
  switch (taker.kind) {
    case ValueKind::kChoice:
      return fmt::format("COMPREPLY=($(compgen -W {} -- \"$current\"))", shell_quoted(words_of(taker.choices)));
    case ValueKind::kFile:
      return "COMPREPLY=($(compgen -f -- \"$current\"))";
    case ValueKind::kDirectory:
      return "COMPREPLY=($(compgen -d -- \"$current\"))";
    default:
      return "COMPREPLY=()";
  }
}

std::string bash_command(const Syntax& syntax) {
  std::string cases, words;
  for (const OptionGroup* group : syntax.groups)
    for (const Option& option : group->options) {
      std::string pattern;
      for (const std::string& name : option_names(option)) {
        words += fmt::format("{}{}", words.empty() ? "" : " ", name);
        pattern += fmt::format("{}{}", pattern.empty() ? "" : "|", name);
      }
      if (option.kind != ValueKind::kFlag)
        cases += fmt::format("        {}) {}; return ;;\n", pattern, bash_offer(option));
    }
  std::string text = fmt::format("    {})\n", syntax.name);
  if (!cases.empty()) text += fmt::format("      case \"$previous\" in\n{}      esac\n", cases);
  text += fmt::format("      if [[ $current == -* ]]; then COMPREPLY=($(compgen -W {} -- \"$current\")); return; fi\n",
                      shell_quoted(words));
  if (!syntax.positionals.empty()) text += fmt::format("      {}\n", bash_offer(syntax.positionals.front()));
  return text + "      ;;\n";
}

std::string zsh_action(ValueKind kind, std::string_view choices, bool model) {
  if (model) return "_ingle_model";
  switch (kind) {
    case ValueKind::kChoice:
      return fmt::format("({})", words_of(choices));
    case ValueKind::kFile:
      return "_files";
    case ValueKind::kDirectory:
      return "_files -/";
    default:
      return " ";
  }
}

// Inside a specification of _arguments, brackets and colons mean something.
std::string zsh_escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_command(const Syntax& syntax) {
  std::string text = fmt::format("    {})\n      _arguments", syntax.name);
  for (const OptionGroup* group : syntax.groups)
    for (const Option& option : group->options)
      for (const std::string& name : option_names(option)) {
        std::string specification =
            fmt::format("{}{}[{}]", option.repeatable ? "*" : "", name, zsh_escaped(option.help));
        if (option.kind != ValueKind::kFlag)
          specification += fmt::format(":{}:{}", zsh_escaped(option.value_name),
                                       zsh_action(option.kind, option.choices, is_model(option)));
        text += " \\\n        " + shell_quoted(specification);
      }
  for (size_t i = 0; i < syntax.positionals.size(); ++i) {
    const Positional& p = syntax.positionals[i];
    text += " \\\n        " + shell_quoted(fmt::format("{}:{}:{}", i + 1, zsh_escaped(p.name),
                                                       zsh_action(p.kind, p.choices, is_model(p))));
  }
  return text + "\n      ;;\n";
}

// fish knows long, short and old-style ("-ub") options.
std::string fish_option(const Option& option, const Syntax& syntax) {
  std::string line =
      fmt::format("complete -c ingle -n '__fish_seen_subcommand_from {}' -l {}", syntax.name, option.name);
  if (option.short_name.size() == 1) line += fmt::format(" -s {}", option.short_name);
  if (option.short_name.size() > 1) line += fmt::format(" -o {}", option.short_name);
  if (option.kind == ValueKind::kChoice)
    line += fmt::format(" -x -a {}", shell_quoted(words_of(option.choices)));
  else if (option.kind == ValueKind::kFile || option.kind == ValueKind::kDirectory)
    line += " -r -F";
  else if (option.kind != ValueKind::kFlag)
    line += " -x";
  return line + fmt::format(" -d {}\n", shell_quoted(option.help));
}

}  // namespace

std::string bash_completion() {
  std::string text = "# bash completion for ingle, from: ingle completion bash\n_ingle() {\n";
  text += "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}\n  COMPREPLY=()\n";
  text += fmt::format(
      "  if (( COMP_CWORD == 1 )); then\n    COMPREPLY=($(compgen -W {} -- \"$current\"))\n    return\n  fi\n",
      shell_quoted(command_names() + " --help --version"));
  text += "  case \"${COMP_WORDS[1]}\" in\n";
  for (const Command& command : commands()) text += bash_command(command.syntax);
  return text + "  esac\n}\ncomplete -o filenames -F _ingle ingle\n";
}

std::string zsh_completion() {
  std::string text = "#compdef ingle\n# zsh completion for ingle, from: ingle completion zsh\n";
  text += fmt::format("_ingle_model() {{\n  compadd -- {}\n  _files\n}}\n", model_names());
  text += "_ingle() {\n  if (( CURRENT == 2 )); then\n    local -a commands=(\n";
  for (const Command& command : commands())
    text +=
        "      " + shell_quoted(fmt::format("{}:{}", command.syntax.name, zsh_escaped(command.syntax.summary))) + "\n";
  text += "    )\n    _describe command commands\n    return\n  fi\n  local command=$words[2]\n";
  text += "  shift words\n  (( CURRENT-- ))\n  case $command in\n";
  for (const Command& command : commands()) text += zsh_command(command.syntax);
  return text + "  esac\n}\nif [[ $funcstack[1] = _ingle ]]; then _ingle \"$@\"; else compdef _ingle ingle; fi\n";
}

std::string fish_completion() {
  std::string text = "# fish completion for ingle, from: ingle completion fish\ncomplete -c ingle -f\n";
  for (const Command& command : commands()) {
    const Syntax& syntax = command.syntax;
    text += fmt::format("complete -c ingle -n __fish_use_subcommand -a {} -d {}\n", syntax.name,
                        shell_quoted(syntax.summary));
    for (const OptionGroup* group : syntax.groups)
      for (const Option& option : group->options) text += fish_option(option, syntax);
    for (const Positional& p : syntax.positionals) {
      const std::string condition = fmt::format("complete -c ingle -n '__fish_seen_subcommand_from {}'", syntax.name);
      if (is_model(p))
        text += fmt::format("{} -F -a {}\n", condition, shell_quoted(model_names()));
      else if (p.kind == ValueKind::kChoice)
        text += fmt::format("{} -a {}\n", condition, shell_quoted(words_of(p.choices)));
      else if (p.kind == ValueKind::kFile || p.kind == ValueKind::kDirectory)
        text += fmt::format("{} -F\n", condition);
    }
  }
  return text;
}

}  // namespace ingle::app
