// ingle tokenize: a text as the model sees it. Output is written as it is made: a text may be large.
#include <boost/json.hpp>

#include "apps/ingle/commands.h"
#include "apps/ingle/exit_code.h"
#include "apps/ingle/fail.h"
#include "apps/ingle/json_text.h"
#include "apps/ingle/option_table.h"
#include "apps/ingle/setup.h"
#include "apps/ingle/terminal.h"
#include "apps/ingle/token_json.h"
#include "ingle/tokenizer_file.h"

namespace ingle::app {
namespace {

constexpr Option kOptions[] = {
    {.name = "prompt",
     .short_name = "p",
     .kind = ValueKind::kText,
     .value_name = "TEXT",
     .help = "Text to cut into tokens"},
    {.name = "file",
     .short_name = "f",
     .kind = ValueKind::kFile,
     .value_name = "FILE",
     .help = "Its text; '-' reads stdin"},
    {.name = "ids", .help = "Print the ids only, on one line"},
    {.name = "count", .help = "Print only how many there are"},
    {.name = "json", .help = "Print one JSON object"},
    {.name = "special", .help = "Read control tokens written out in the text as such: <|im_start|>"},
    {.name = "no-bos", .help = "Leave out the tokens that the model wants at the beginning and end"},
};
constexpr OptionGroup kTokenizeOptions{"Text and output", kOptions};

// Collects what is written, and writes it in large parts.
class Output {
 public:
  template <class... Args>
  void put(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
    if (text_.size() >= kPart) flush();
  }
  void flush() {
    write_stdout(text_);
    text_.clear();
  }

 private:
  static constexpr size_t kPart = 1 << 16;
  std::string text_;
};

// What every JSON object begins with.
std::string json_beginning(std::string_view text, size_t count) {
  return fmt::format(R"({{"count":{},"bytes":{})", count, text.size());
}

void print_ids(std::string_view text, const std::vector<TokenId>& ids, bool as_json) {
  Output out;
  if (as_json) out.put(R"({},"ids":[)", json_beginning(text, ids.size()));
  for (size_t i = 0; i < ids.size(); ++i) {
    if (i > 0) out.put("{}", as_json ? ',' : ' ');
    out.put("{}", ids[i]);
  }
  out.put("{}\n", as_json ? "]}" : "");
  out.flush();
}

void print_json(const TokenizerFile& tokenizer, std::string_view text, const std::vector<TextToken>& tokens) {
  Output out;
  out.put(R"({},"tokens":[)", json_beginning(text, tokens.size()));
  for (size_t i = 0; i < tokens.size(); ++i) {
    boost::json::object token = token_json(tokenizer, tokens[i].id);
    token["begin"] = tokens[i].begin;
    token["end"] = tokens[i].end;
    out.put("{}{}", i > 0 ? "," : "", json_text(token));
  }
  out.put("]}}\n");
  out.flush();
}

void print_table(const TokenizerFile& tokenizer, std::string_view text, const std::vector<TextToken>& tokens) {
  const auto width = [](std::string_view title, auto most) {
    return std::max(title.size(), fmt::formatted_size("{}", most));
  };
  const size_t position = width("position", tokens.size()), id = width("id", tokenizer.size()),
               byte = width("begin", text.size());
  constexpr size_t kKind = std::string_view("user-defined").size();
  Output out;
  out.put("{:{}}  {:{}}  {:{}}  {:{}}  {:{}}  piece\n", "position", position, "id", id, "kind", kKind, "begin", byte,
          "end", byte);
  for (size_t i = 0; i < tokens.size(); ++i) {
    const TextToken& token = tokens[i];
    out.put("{:<{}}  {:<{}}  {:<{}}  {:<{}}  {:<{}}  '{}'\n", i, position, token.id, id, tokenizer.token_kind(token.id),
            kKind, token.begin, byte, token.end, byte, printable(tokenizer.piece(token.id, true)));
  }
  out.put("\n{} tokens, {} bytes\n", tokens.size(), text.size());
  out.flush();
}

int tokenize_text(const Arguments& arguments) {
  const bool json = arguments.flag("json");
  if (arguments.flag("ids") && arguments.flag("count"))
    fail(ErrorCode::kInvalidArgument, "--ids and --count: give one of them");
  const std::filesystem::path path = model_path(arguments);
  const std::string text = given_text(arguments);
  const TokenizerFile tokenizer =
      TokenizerFile::open(path, {.log = log_to_stderr(arguments), .pre_tokenizer = arguments.text("pre-tokenizer")});
  const TokenizeOptions options{.add_special = !arguments.flag("no-bos"), .parse_special = arguments.flag("special")};
  const std::vector<TokenId> ids = tokenizer.tokenize(text, options);
  if (arguments.flag("count")) {
    put("{}\n", json ? json_beginning(text, ids.size()) + "}" : std::to_string(ids.size()));
  } else if (arguments.flag("ids")) {
    print_ids(text, ids, json);
  } else {
    const std::vector<TextToken> tokens = tokenizer.locate(text, options, ids);
    (json ? print_json : print_table)(tokenizer, text, tokens);
  }
  return kSuccess;
}

}  // namespace

Command tokenize_command() {
  return {
      {.name = "tokenize",
       .summary = "cut a text into the model's tokens",
       .description =
           "Shows ids, kinds and pieces of the tokens of a text from -p, -f or standard input, and the bytes of the "
           "text (from begin up to end) that each stands for. Bytes that are no whole character are shown as \\x "
           "and two digits. Only the vocabulary is read: files without tensors will do.",
       .positionals = {{.name = "MODEL",
                        .help = "A GGUF file, a tokenizer.json or its folder, or a catalogue name: smollm2",
                        .kind = ValueKind::kFile}},
       .groups = {&kModelOptions, &kTokenizeOptions, &kGeneralOptions},
       .examples = {{"ingle tokenize smollm2 -p \"Hello there\"", "a table"},
                    {"ingle tokenize smollm2 --count < text.txt", "how many tokens a text has"},
                    {"ingle tokenize smollm2 --special -p \"<|im_start|>user\"", "control tokens read as such"}}},
      tokenize_text};
}

}  // namespace ingle::app
