// Any words are a command line or an Error{kInvalidArgument}; what was accepted can be read back in its type.
#include <cstdlib>
#include <string>
#include <vector>

#include "apps/ingle/commands.h"
#include "apps/ingle/terminal.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ingle::app;
  if (size == 0) return 0;
  const Syntax& syntax = find_command(data[0] % 2 == 0 ? "run" : "bench")->syntax;
  std::vector<std::string> words(1);
  for (size_t i = 1; i < size; ++i) {
    if (data[i] == '\n') {
      words.emplace_back();
    } else {
      words.back() += static_cast<char>(data[i]);
    }
  }
  try {
    const Arguments arguments = parse(syntax, words, [](const char*) { return nullptr; });
    if (arguments.flag("help")) return 0;
    for (const OptionGroup* group : syntax.groups)
      for (const Option& option : group->options) {
        if (!arguments.has(option.name)) continue;
        if (option.kind == ValueKind::kInteger) arguments.integer(option.name);
        if (option.kind == ValueKind::kReal) arguments.real(option.name);
        if (option.kind == ValueKind::kIntegers) arguments.integers(option.name);
      }
  } catch (const ingle::Error& error) {
    if (error.code() != ingle::ErrorCode::kInvalidArgument) std::abort();
    if (printable(error.what()).find('\n') != std::string::npos) std::abort();
  }
  return 0;
}
