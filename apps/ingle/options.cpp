#include "apps/ingle/options.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "apps/ingle/fail.h"
#include "apps/ingle/utf8.h"

namespace ingle::app {
namespace {

std::optional<int64_t> to_integer(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> to_real(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || std::isnan(value)) return std::nullopt;
  return value;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (size_t begin = 0;;) {
    const size_t end = text.find(separator, begin);
    parts.push_back(text.substr(begin, end == text.npos ? text.npos : end - begin));
    if (end == text.npos) return parts;
    begin = end + 1;
  }
}

bool within(const Option& option, double value) { return value >= option.least && value <= option.most; }

// "--ctx-size" and "-ub", also "--ub" and "-ctx-size": fingers differ.
const Option* find_typed(const Syntax& syntax, std::string_view typed) {
  const std::string_view bare = typed.substr(typed.starts_with("--") ? 2 : 1);
  if (bare.empty()) return nullptr;
  for (const OptionGroup* group : syntax.groups)
    for (const Option& option : group->options)
      if (bare == option.name || bare == option.short_name) return &option;
  return nullptr;
}

[[noreturn]] void unknown_option(const Syntax& syntax, std::string_view typed) {
  std::vector<std::string_view> names;
  for (const OptionGroup* group : syntax.groups)
    for (const Option& option : group->options) {
      names.push_back(option.name);
      if (option.short_name.size() > 1) names.push_back(option.short_name);
    }
  const std::string_view near = nearest(typed.substr(std::min(typed.find_first_not_of('-'), typed.size())), names);
  if (near.empty()) fail(ErrorCode::kInvalidArgument, "{}: no such option (see: ingle {} --help)", typed, syntax.name);
  fail(ErrorCode::kInvalidArgument, "{}: no such option; did you mean {}{}? (see: ingle {} --help)", typed,
       syntax.find(near) ? "--" : "-", near, syntax.name);
}

// "-n5": a one-letter option that takes a number, with the number attached.
const Option* find_attached(const Syntax& syntax, std::string_view typed) {
  if (typed.size() < 3 || typed[0] != '-' || typed[1] == '-') return nullptr;
  const Option* option = find_typed(syntax, typed.substr(0, 2));
  const bool number = option && (option->kind == ValueKind::kInteger || option->kind == ValueKind::kReal);
  return number && to_real(typed.substr(2)) ? option : nullptr;
}

bool looks_like_option(std::string_view word) {
  return word.size() > 1 && word[0] == '-' && !(word[1] >= '0' && word[1] <= '9') && word[1] != '.';
}

}  // namespace

const Option* Syntax::find(std::string_view long_name) const noexcept {
  for (const OptionGroup* group : groups)
    for (const Option& option : group->options)
      if (option.name == long_name) return &option;
  return nullptr;
}

std::string describe_values(const Option& option) {
  switch (option.kind) {
    case ValueKind::kFlag:
      return "no value";
    case ValueKind::kInteger:
      return fmt::format("an integer from {:.0f} to {:.0f}", option.least, option.most);
    case ValueKind::kReal:
      return fmt::format("a number from {} to {}", option.least, option.most);
    case ValueKind::kIntegers:
      return fmt::format("integers from {:.0f} to {:.0f}, separated by commas", option.least, option.most);
    case ValueKind::kText:
      return "text";
    case ValueKind::kFile:
      return "a file";
    case ValueKind::kDirectory:
      return "a directory";
    case ValueKind::kChoice:
      return fmt::format("one of {}", fmt::join(split(option.choices, '|'), ", "));
  }
  return {};
}

void check_value(const Option& option, std::string_view shown, std::string_view value) {
  const auto refuse = [&](std::string_view what) {
    fail(ErrorCode::kInvalidArgument, "{}: '{}' {}; it takes {}", shown, value, what, describe_values(option));
  };
  switch (option.kind) {
    case ValueKind::kFlag:
      break;
    case ValueKind::kInteger: {
      const auto number = to_integer(value);
      if (!number) refuse("is not an integer");
      if (!within(option, static_cast<double>(*number))) refuse("is out of range");
      break;
    }
    case ValueKind::kReal: {
      const auto number = to_real(value);
      if (!number) refuse("is not a number");
      if (!within(option, *number)) refuse("is out of range");
      break;
    }
    case ValueKind::kIntegers:
      for (const std::string_view part : split(value, ',')) {
        const auto number = to_integer(part);
        if (!number) refuse("is not a list of integers");
        if (!within(option, static_cast<double>(*number))) refuse("is out of range");
      }
      break;
    case ValueKind::kText:
      require_utf8(value, shown);
      break;
    case ValueKind::kFile:
    case ValueKind::kDirectory:
      if (value.empty()) refuse("names nothing");
      break;
    case ValueKind::kChoice:
      if (std::ranges::count(split(option.choices, '|'), value) == 0) refuse("is not known");
      break;
  }
}

std::string_view nearest(std::string_view typed, std::span<const std::string_view> names) {
  std::string_view best;
  size_t best_distance = std::max<size_t>(2, typed.size() / 2) + 1;
  std::vector<size_t> row;
  for (const std::string_view name : names) {
    // Levenshtein's distance, one row at a time.
    row.resize(name.size() + 1);
    for (size_t j = 0; j <= name.size(); ++j) row[j] = j;
    for (size_t i = 1; i <= typed.size(); ++i) {
      size_t diagonal = row[0];
      row[0] = i;
      for (size_t j = 1; j <= name.size(); ++j) {
        const size_t substituted = diagonal + (typed[i - 1] != name[j - 1]);
        diagonal = row[j];
        row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
      }
    }
    size_t distance = row[name.size()];
    // "--context" means --ctx-size to nobody, but "--predic" and "--repeat" are beginnings of something.
    if (typed.size() >= 3 && name.starts_with(typed)) distance = std::min<size_t>(distance, 1);
    if (distance < best_distance) best_distance = distance, best = name;
  }
  return best;
}

Arguments parse(const Syntax& syntax, std::span<const std::string> arguments,
                const std::function<const char*(const char*)>& environment) {
  Arguments parsed;
  parsed.syntax_ = &syntax;
  for (const std::string& word : arguments) {
    if (word == "--") break;
    if (word == "--help" || word == "-h") {
      parsed.values_["help"] = {""};
      return parsed;
    }
  }

  bool options_ended = false;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view word = arguments[i];
    if (options_ended || !looks_like_option(word)) {
      parsed.positionals_.emplace_back(word);
      continue;
    }
    if (word == "--") {
      options_ended = true;
      continue;
    }
    const size_t equals = word.find('=');
    std::string_view typed = word.substr(0, equals);
    std::optional<std::string> value;
    if (equals != word.npos) value = word.substr(equals + 1);
    const Option* option = find_typed(syntax, typed);
    if (!option && (option = find_attached(syntax, word))) {
      typed = word.substr(0, 2);
      value = word.substr(2);
    }
    if (!option) unknown_option(syntax, typed);
    if (option->kind == ValueKind::kFlag) {
      if (value) fail(ErrorCode::kInvalidArgument, "{}: takes no value, but was given '{}'", typed, *value);
      parsed.values_[std::string(option->name)] = {""};
      continue;
    }
    if (!value) {
      if (i + 1 == arguments.size() || (looks_like_option(arguments[i + 1]) && find_typed(syntax, arguments[i + 1])))
        fail(ErrorCode::kInvalidArgument, "{}: needs a value: {}{}", typed, describe_values(*option),
             i + 1 == arguments.size() ? std::string()
                                       : fmt::format(" (if '{0}' is meant, write {1}={0})", arguments[i + 1], typed));
      value = arguments[++i];
    }
    check_value(*option, typed, *value);
    std::vector<std::string>& values = parsed.values_[std::string(option->name)];
    if (!option->repeatable) values.clear();
    values.push_back(std::move(*value));
  }

  for (const OptionGroup* group : syntax.groups)
    for (const Option& option : group->options) {
      if (option.environment.empty() || parsed.given(option.name)) continue;
      const char* value = environment(std::string(option.environment).c_str());
      if (!value || !*value) continue;
      check_value(option, fmt::format("environment variable {}", option.environment), value);
      parsed.values_[std::string(option.name)] = {value};
      parsed.from_environment_.insert(option.name);
    }

  if (parsed.positionals_.size() > syntax.positionals.size())
    fail(ErrorCode::kInvalidArgument, "'{}': one argument too many (see: ingle {} --help)",
         parsed.positionals_[syntax.positionals.size()], syntax.name);
  for (size_t i = parsed.positionals_.size(); i < syntax.positionals.size(); ++i)
    if (syntax.positionals[i].required)
      fail(ErrorCode::kInvalidArgument, "{} is missing: {} (see: ingle {} --help)", syntax.positionals[i].name,
           syntax.positionals[i].help, syntax.name);
  for (size_t i = 0; i < parsed.positionals_.size(); ++i) {
    const Positional& p = syntax.positionals[i];
    check_value({.name = p.name, .kind = p.kind, .choices = p.choices}, p.name, parsed.positionals_[i]);
  }
  return parsed;
}

const Option& Arguments::option(std::string_view name) const {
  const Option* found = syntax_->find(name);
  if (!found) fail(ErrorCode::kInternal, "ingle {} has no option --{}", syntax_->name, name);
  return *found;
}

bool Arguments::flag(std::string_view name) const { return given(name); }

bool Arguments::given(std::string_view name) const { return values_.contains(option(name).name); }

bool Arguments::typed(std::string_view name) const { return given(name) && !from_environment_.contains(name); }

bool Arguments::has(std::string_view name) const { return given(name) || !option(name).fallback.empty(); }

std::string Arguments::value(std::string_view name) const {
  const auto found = values_.find(name);
  return found != values_.end() ? found->second.back() : std::string(option(name).fallback);
}

int64_t Arguments::integer(std::string_view name) const {
  const auto number = to_integer(value(name));
  if (!number) fail(ErrorCode::kInternal, "--{} has no integer", name);
  return *number;
}

double Arguments::real(std::string_view name) const {
  const auto number = to_real(value(name));
  if (!number) fail(ErrorCode::kInternal, "--{} has no number", name);
  return *number;
}

std::string Arguments::text(std::string_view name) const { return value(name); }

std::vector<std::string> Arguments::texts(std::string_view name) const {
  const auto found = values_.find(name);
  if (found != values_.end()) return found->second;
  const std::string_view fallback = option(name).fallback;
  return fallback.empty() ? std::vector<std::string>() : std::vector<std::string>{std::string(fallback)};
}

std::vector<int64_t> Arguments::integers(std::string_view name) const {
  std::vector<int64_t> numbers;
  for (const std::string& list : texts(name))
    for (const std::string_view part : split(list, ',')) numbers.push_back(to_integer(part).value());
  return numbers;
}

std::optional<std::string> Arguments::positional(size_t index) const {
  return index < positionals_.size() ? std::optional(positionals_[index]) : std::nullopt;
}

void Arguments::set(std::string_view name, std::string_view value) {
  const Option& found = option(name);
  check_value(found, found.name, value);
  std::vector<std::string>& values = values_[std::string(found.name)];
  if (!found.repeatable) values.clear();
  values.emplace_back(value);
}

void Arguments::clear(std::string_view name) { values_.erase(std::string(option(name).name)); }

}  // namespace ingle::app
