// ingle embed: texts as vectors, from the last hidden rows of any model; or how alike the texts are.
#include <boost/json.hpp>

#include "apps/ingle/commands.h"
#include "apps/ingle/embed/embed_texts.h"
#include "apps/ingle/embed/texts.h"
#include "apps/ingle/exit_code.h"
#include "apps/ingle/fail.h"
#include "apps/ingle/json_text.h"
#include "apps/ingle/option_table.h"
#include "apps/ingle/progress.h"
#include "apps/ingle/setup.h"
#include "apps/ingle/table.h"
#include "apps/ingle/terminal.h"

namespace ingle::app {
namespace {

constexpr Option kOptions[] = {
    {.name = "prompt",
     .short_name = "p",
     .kind = ValueKind::kText,
     .value_name = "TEXT",
     .help = "A text to embed; may be given several times",
     .repeatable = true},
    kLinesFile,
    {.name = "pooling",
     .kind = ValueKind::kChoice,
     .value_name = "WHICH",
     .choices = "last|mean|cls",
     .fallback_note = "what the model file says",
     .help = "Which rows make the embedding: that of the last token, the mean of all, that of the first token"},
    kTruncate,
    {.name = "normalize", .help = "Scale embeddings to length 1 (the default)"},
    {.name = "no-normalize", .help = "Leave their length as it is"},
    {.name = "similarity", .help = "Show how alike the texts are, a table of cosines, in place of the embeddings"},
    {.name = "json", .help = "Print JSON lines: one object for each text, then one about the run"},
};
constexpr OptionGroup kEmbedOptions{"Texts and output", kOptions};

constexpr int kLabelColumns = 32;  // of a text, in the table of cosines

struct ChosenPooling {
  Pooling pooling;
  std::string_view reason;
};

ChosenPooling choose_pooling(const Arguments& arguments, const Model& model) {
  if (arguments.given("pooling")) return {*find_pooling(arguments.text("pooling")), "as given"};
  const ModelInfo& info = model.info();
  if (const std::optional<Pooling> pooling = find_pooling(info.pooling)) return {*pooling, "as the file says"};
  if (info.pooling == "rank")
    fail(ErrorCode::kInvalidArgument,
         "{}: is a reranker: ingle rerank takes it; --pooling WHICH embeds with it all the same", printable(info.path));
  if (!info.causal) return {Pooling::kMean, "since the file asks for no other"};
  return {Pooling::kLast, "since the file asks for no other"};
}

std::vector<Tokens> tokenize_texts(const Model& model, const std::vector<PlacedText>& texts, int64_t context,
                                   bool truncate) {
  std::vector<Tokens> all;
  for (const PlacedText& text : texts) {
    all.push_back(model.tokenize(text.text));
    const auto tokens = static_cast<int64_t>(all.back().size());
    if (tokens == 0) fail(ErrorCode::kInvalidArgument, "{}: the text has no tokens", text.place);
    if (tokens <= context) continue;
    if (!truncate)
      fail(ErrorCode::kInvalidArgument, "{}: the text has {} tokens, the context holds {}; {}--truncate cuts it",
           text.place, tokens, context,
           tokens <= model.info().context_length ? fmt::format("--ctx-size {} holds it, ", tokens) : "");
    note("ingle: warning: {}: the text is cut from {} tokens to {}", text.place, tokens, context);
    all.back() = model.tokenize(text.text, {.most = context});
  }
  return all;
}

boost::json::array as_json(std::span<const float> embedding) {
  boost::json::array numbers;
  numbers.reserve(embedding.size());
  // With the digits of a float: 0.1, not 0.10000000149011612.
  for (const float x : embedding) numbers.push_back(std::stod(fmt::format("{}", x)));
  return numbers;
}

using Embeddings = std::vector<std::vector<float>>;

std::string similarity_table(const std::vector<PlacedText>& texts, const Embeddings& embeddings) {
  std::vector<std::string> header = {"", "text"};
  for (size_t i = 0; i < texts.size(); ++i) header.push_back(std::to_string(i + 1));
  Table table(std::move(header), 2);
  for (size_t i = 0; i < texts.size(); ++i) {
    std::vector<std::string> row = {std::to_string(i + 1), label(texts[i].text, kLabelColumns)};
    for (const std::vector<float>& other : embeddings)
      row.push_back(fmt::format("{:.4f}", cosine(embeddings[i], other)));
    table.add(std::move(row));
  }
  return table.text();
}

boost::json::array similarity_json(const Embeddings& embeddings) {
  boost::json::array rows;
  for (const std::vector<float>& a : embeddings) {
    boost::json::array row;
    for (const std::vector<float>& b : embeddings) row.push_back(cosine(a, b));
    rows.push_back(std::move(row));
  }
  return rows;
}

int embed(const Arguments& arguments) {
  if (arguments.flag("normalize") && arguments.flag("no-normalize"))
    fail(ErrorCode::kInvalidArgument, "--normalize and --no-normalize: give one of them");
  const bool json = arguments.flag("json"), similarity = arguments.flag("similarity");
  const std::filesystem::path path = model_path(arguments);
  const std::vector<PlacedText> texts = given_texts(arguments);

  Engine engine(engine_options(arguments));
  const Model model = open_model(engine, path, arguments);
  const ChosenPooling chosen = choose_pooling(arguments, model);
  // What the context is where none was given, and whether it can be had, is the library's to say.
  const Adapters adapters = open_adapters(model, arguments);
  const SessionOptions session = Session(model, session_options(arguments, adapters)).options();
  const std::vector<Tokens> tokens = tokenize_texts(model, texts, session.context, arguments.flag("truncate"));
  const EmbedOptions options{
      .pooling = chosen.pooling, .normalize = !arguments.flag("no-normalize"), .session = session};

  Embeddings embeddings;
  Progress progress("embedding");
  const bool lines_show = stdout_is_terminal() && !similarity;  // then they are progress enough, and a bar in their way
  const RowCounts rows = embed_texts(model, tokens, options, [&](size_t i, std::vector<float> embedding) {
    if (json) {
      put("{}\n", json_text({{"index", i}, {"tokens", tokens[i].size()}, {"embedding", as_json(embedding)}}));
    } else if (!similarity) {
      put("{}\n", fmt::join(embedding, " "));
    }
    if (similarity) embeddings.push_back(std::move(embedding));
    if (!lines_show)
      progress.update(static_cast<double>(i + 1) / static_cast<double>(texts.size()),
                      fmt::format("{}/{} texts", i + 1, texts.size()));
  });
  const double seconds = progress.seconds();
  progress.finish(fmt::format("embedded {} texts in {}, pooling {} {}", texts.size(), format_seconds(seconds),
                              to_string(chosen.pooling), chosen.reason));

  if (json) {
    boost::json::object about{
        {"texts", texts.size()},
        {"tokens", rows.tokens},
        {"dimensions", model.info().d_model},
        {"pooling", to_string(chosen.pooling)},
        {"normalized", options.normalize},
        {"rows", to_json(rows)},
        {"seconds", seconds},
        {"tokens_per_second", static_cast<double>(rows.tokens) / std::max(seconds, 1e-9)},
        {"model", to_json(model.info())},
        {"engine", engine_json(engine)},
        {"settings", to_json(session)},
        {"version", version()},
    };
    if (similarity) about["similarity"] = similarity_json(embeddings);
    put("{}\n", json_text(about));
  } else if (similarity) {
    write_stdout(similarity_table(texts, embeddings));
  }
  if (arguments.flag("verbose")) {
    note("pooling: {}, {}{}", to_string(chosen.pooling), chosen.reason, options.normalize ? "; length 1" : "");
    note("embedded: {} texts, {} tokens in {}", texts.size(), rows.tokens, format_seconds(seconds));
    note("rows: {} layer rows computed, {} skipped that nobody reads", rows.computed, rows.skipped);
  }
  return kSuccess;
}

}  // namespace

Command embed_command() {
  return {
      {.name = "embed",
       .summary = "turn texts into vectors, or compare them",
       .description =
           "Reads every text and prints its embedding, a line of numbers for each: the model's last hidden row, "
           "normed as its output layer reads it, of the last token, of the first, or the mean over all. Texts come "
           "from -p, or are the lines of -f or standard input; they are read together, each as a sequence of its own. "
           "Encoders (bert, nomic-bert) are made for this; any other model will do, and one made for embeddings does "
           "it well. Which rows to take is what the file says; where it says nothing, the mean in an encoder and the "
           "last token in a model that reads from left to right.\n\n"
           "Where one row is all that is wanted, the last layer computes no other; -v and --json say how many. A text "
           "that is longer than the context is an error unless --truncate is given: nothing is cut off in silence. In "
           "a model that reads from left to right the first token has seen no other, so --pooling cls is for files "
           "that ask for it.",
       .positionals = {{.name = "MODEL",
                        .help = "A GGUF file, or a catalogue name: smollm2",
                        .kind = ValueKind::kFile}},
       .groups = {&kModelOptions, &kAdapterOptions, &kEmbedOptions, &kContextOptions, &kMachineOptions,
                  &kGeneralOptions},
       .examples = {{"ingle embed smollm2 -f texts.txt --pooling mean > vectors.txt",
                     "a line of numbers for each line"},
                    {"ingle embed smollm2 -p \"A cat sleeps\" -p \"The kitten naps\" -p \"Taxes rise\" --similarity",
                     "which texts are alike"},
                    {"ingle embed model.gguf --json < texts.txt | jq -c .embedding", "for programs"}}},
      embed};
}

}  // namespace ingle::app
