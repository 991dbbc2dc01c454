// Options as data: one table feeds parsing, --help, man pages, shell completion and /set in the chat.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ingle/error.h"

namespace ingle::app {

enum class ValueKind {
  kFlag,       // no value
  kInteger,    // within [least, most]
  kReal,       // within [least, most]
  kIntegers,   // "128,512": each within [least, most]
  kText,       // UTF-8
  kFile,       // a path, of any bytes; completed as one
  kDirectory,  // a path; completed as one
  kChoice,     // one of `choices`
};

struct Option {
  std::string_view name = {};        // long: "ctx-size" is typed --ctx-size
  std::string_view short_name = {};  // "c" is typed -c; may have several letters: "ub"
  ValueKind kind = ValueKind::kFlag;
  std::string_view value_name = {};     // "N" in help; empty for a flag
  double least = 0, most = 0;           // kInteger, kReal, kIntegers
  std::string_view choices = {};        // "f32|f16|q8_0"
  std::string_view fallback = {};       // the default, as it would be typed; empty: none
  std::string_view fallback_note = {};  // what help says in its place: "one per physical core"
  std::string_view help = {};           // one sentence without its full stop
  bool repeatable = false;              // values collect; otherwise the last one counts
  std::string_view environment = {};    // a variable that gives the value where the command line does not
};

struct OptionGroup {
  std::string_view title;
  std::span<const Option> options;
};

struct Positional {
  std::string_view name = {};  // "MODEL"
  std::string_view help = {};
  ValueKind kind = ValueKind::kText;
  std::string_view choices = {};
  bool required = false;
};

struct Example {
  std::string_view line, explanation;
};

// What one command understands. Everything in it is static data.
struct Syntax {
  std::string_view name = {}, summary = {};  // summary: one line without full stop
  std::string_view description = {};         // paragraphs, separated by an empty line
  std::vector<Positional> positionals = {};
  std::vector<const OptionGroup*> groups = {};
  std::vector<Example> examples = {};

  const Option* find(std::string_view long_name) const noexcept;
};

// A checked command line. Asking for an option that the syntax lacks, or in another type, is our own mistake
// (kInternal).
class Arguments {
 public:
  bool flag(std::string_view name) const;
  bool given(std::string_view name) const;  // on the command line or in the environment
  bool typed(std::string_view name) const;  // on the command line
  bool has(std::string_view name) const;    // given, or there is a default
  int64_t integer(std::string_view name) const;
  double real(std::string_view name) const;
  std::string text(std::string_view name) const;                // "" when there is none
  std::vector<std::string> texts(std::string_view name) const;  // repeatable options
  std::vector<int64_t> integers(std::string_view name) const;   // kIntegers: all occurrences in one list
  std::optional<std::string> positional(size_t index) const;
  const Syntax& syntax() const noexcept { return *syntax_; }

  // Checks `value` like the parser does and stores it as if given.
  void set(std::string_view name, std::string_view value);
  void clear(std::string_view name);  // as if never given

 private:
  friend Arguments parse(const Syntax&, std::span<const std::string>, const std::function<const char*(const char*)>&);
  const Option& option(std::string_view name) const;
  std::string value(std::string_view name) const;

  const Syntax* syntax_ = nullptr;
  std::map<std::string, std::vector<std::string>, std::less<>> values_;
  std::set<std::string_view> from_environment_;
  std::vector<std::string> positionals_;
};

// `syntax` must outlive the result. `environment` is getenv, or a test's. With --help among the arguments nothing else
// is checked. Throws Error{kInvalidArgument}, in one line: an unknown option (names the nearest), a missing, ill-typed
// or out-of-range value (names option, value and range), a missing or surplus argument.
Arguments parse(const Syntax& syntax, std::span<const std::string> arguments,
                const std::function<const char*(const char*)>& environment);

// Throws Error{kInvalidArgument} unless `value` is one for `option`; `shown` is the name the user wrote.
void check_value(const Option& option, std::string_view shown, std::string_view value);

// "an integer from 1 to 512", "one of f32, f16, q8_0"
std::string describe_values(const Option& option);

// The nearest of `names` to what was typed (edit distance, or a common beginning); empty if nothing is near.
std::string_view nearest(std::string_view typed, std::span<const std::string_view> names);

}  // namespace ingle::app
