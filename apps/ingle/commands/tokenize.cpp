// ingle tokenize: a text as the model sees it.
#include <boost/json.hpp>

#include "apps/ingle/commands.h"
#include "apps/ingle/exit_code.h"
#include "apps/ingle/json_text.h"
#include "apps/ingle/option_table.h"
#include "apps/ingle/setup.h"
#include "apps/ingle/table.h"
#include "apps/ingle/terminal.h"
#include "apps/ingle/token_json.h"

namespace ingle::app {
namespace {

std::string as_json(const Model& model, const std::vector<TokenId>& ids) {
  boost::json::array tokens;
  for (const TokenId id : ids) tokens.push_back(token_json(model, id));
  return json_text({{"count", ids.size()}, {"tokens", std::move(tokens)}}) + "\n";
}

int tokenize_text(const Arguments& arguments) {
  const std::filesystem::path path = model_path(arguments);
  const std::string text = given_text(arguments);
  Engine engine(engine_options(arguments));
  const Model model = open_model(engine, path, arguments, true);
  const std::vector<TokenId> ids =
      model.tokenize(text, {.add_special = !arguments.flag("no-bos"), .parse_special = arguments.flag("special")});
  if (arguments.flag("json")) {
    write_stdout(as_json(model, ids));
  } else if (arguments.flag("ids")) {
    put("{}\n", fmt::join(ids, " "));
  } else {
    Table table({"position", "id", "kind", "piece"}, 4);
    for (size_t i = 0; i < ids.size(); ++i)
      table.add({std::to_string(i), std::to_string(ids[i]), std::string(model.token_kind(ids[i])),
                 fmt::format("'{}'", printable(model.piece(ids[i], true)))});
    put("{}\n{} tokens, {} bytes\n", table.text(), ids.size(), text.size());
  }
  return kSuccess;
}

}  // namespace

Command tokenize_command() {
  return {{.name = "tokenize",
           .summary = "cut a text into the model's tokens",
           .description =
               "Shows ids, kinds and pieces of the tokens of a text from -p, -f or standard input. Bytes that are no "
               "whole character are shown as \\x and two digits.",
           .positionals = {{.name = "MODEL",
                            .help = "A GGUF file, or a catalogue name: smollm2",
                            .kind = ValueKind::kFile}},
           .groups = {&kModelOptions, &kTokenizeOptions, &kMachineOptions, &kGeneralOptions},
           .examples = {{"ingle tokenize smollm2 -p \"Hello there\"", "a table"},
                        {"ingle tokenize smollm2 --ids < text.txt | wc -w", "how many tokens a text has"}}},
          tokenize_text};
}

}  // namespace ingle::app
