// ingle tokenize: a text as the model sees it.
#include <boost/json.hpp>

#include "apps/ingle/commands.h"
#include "apps/ingle/exit_code.h"
#include "apps/ingle/fail.h"
#include "apps/ingle/files.h"
#include "apps/ingle/json_text.h"
#include "apps/ingle/option_table.h"
#include "apps/ingle/setup.h"
#include "apps/ingle/table.h"
#include "apps/ingle/terminal.h"
#include "apps/ingle/utf8.h"

namespace ingle::app {
namespace {

std::string text_of(const Arguments& arguments) {
  if (arguments.given("prompt") && arguments.given("file"))
    fail(ErrorCode::kInvalidArgument, "-p and -f: give one of them");
  if (!arguments.given("prompt")) return read_text(arguments.given("file") ? arguments.text("file") : "-");
  std::string text = arguments.text("prompt");
  if (const std::optional<size_t> bad = find_invalid_utf8(text))
    fail(ErrorCode::kInvalidArgument, "-p: not UTF-8: byte {:#04x} at offset {}",
         static_cast<unsigned char>(text[*bad]), *bad);
  return text;
}

std::string as_json(const Model& model, const std::vector<TokenId>& ids) {
  boost::json::array tokens;
  for (const TokenId id : ids) {
    const std::string piece = model.piece(id, true);
    boost::json::object token{{"id", id}, {"piece", to_valid_utf8(piece)}, {"kind", model.token_kind(id)}};
    if (find_invalid_utf8(piece)) {  // part of a character: the text cannot say which
      boost::json::array bytes;
      for (const char c : piece) bytes.push_back(static_cast<unsigned char>(c));
      token["bytes"] = std::move(bytes);
    }
    tokens.push_back(std::move(token));
  }
  return json_text({{"count", ids.size()}, {"tokens", std::move(tokens)}}) + "\n";
}

int tokenize_text(const Arguments& arguments) {
  const std::filesystem::path path = model_path(arguments);
  const std::string text = text_of(arguments);
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
