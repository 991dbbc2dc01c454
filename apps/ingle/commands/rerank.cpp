// ingle rerank: which of some texts answer a question, best first, by a model that was trained to tell.
#include <boost/json.hpp>

#include <algorithm>

#include "apps/ingle/commands.h"
#include "apps/ingle/embed/embed_texts.h"
#include "apps/ingle/embed/texts.h"
#include "apps/ingle/exit_code.h"
#include "apps/ingle/fail.h"
#include "apps/ingle/json_text.h"
#include "apps/ingle/option_table.h"
#include "apps/ingle/progress.h"
#include "apps/ingle/rerank/relevance.h"
#include "apps/ingle/setup.h"
#include "apps/ingle/table.h"
#include "apps/ingle/terminal.h"

namespace ingle::app {
namespace {

constexpr Option kOptions[] = {
    {.name = "query", .short_name = "q", .kind = ValueKind::kText, .value_name = "TEXT", .help = "The question"},
    {.name = "prompt",
     .short_name = "p",
     .kind = ValueKind::kText,
     .value_name = "TEXT",
     .help = "A text that may answer it; may be given several times",
     .repeatable = true},
    kLinesFile,
    {.name = "top",
     .kind = ValueKind::kInteger,
     .value_name = "N",
     .least = 0,
     .most = kMostTokens * 16,
     .fallback = "0",
     .help = "Print the best N only; 0 prints all"},
    kTruncate,
    {.name = "json", .help = "Print JSON lines: one object for each text, best first, then one about the run"},
};
constexpr OptionGroup kRerankOptions{"Texts and output", kOptions};

constexpr int kLabelColumns = 72;  // of a text, in the table

struct Pairs {
  std::vector<Tokens> tokens;
  std::vector<int64_t> second;  // where the second text begins
};

Pairs tokenize_pairs(const Model& model, const std::string& query, const std::vector<PlacedText>& texts,
                     int64_t context, bool truncate) {
  Pairs pairs;
  for (const PlacedText& text : texts) {
    TokenPair pair = model.tokenize_pair(query, text.text);
    const auto tokens = static_cast<int64_t>(pair.tokens.size());
    if (tokens > context) {
      if (!truncate)
        fail(ErrorCode::kInvalidArgument,
             "{}: question and text have {} tokens, the context holds {}; {}--truncate cuts the text", text.place,
             tokens, context,
             tokens <= model.info().context_length ? fmt::format("--ctx-size {} holds it, ", tokens) : "");
      note("ingle: warning: {}: the text is cut, with its question from {} tokens to {}", text.place, tokens, context);
      pair = model.tokenize_pair(query, text.text, context);
    }
    pairs.tokens.push_back(std::move(pair.tokens));
    pairs.second.push_back(pair.second_text);
  }
  return pairs;
}

struct Ranked {
  size_t index;
  double score;
  std::vector<float> raw;  // what the classifier gave
};

// In the order of the texts.
std::vector<Ranked> score(const Model& model, const Pairs& pairs, const Relevance& relevance,
                          const SessionOptions& options, Progress& progress, RowCounts& rows) {
  const std::span<const Tokens> all = pairs.tokens;
  std::vector<Ranked> ranked(all.size());
  for (size_t done = 0; done < all.size();) {
    const std::span<const Tokens> left = all.subspan(done);
    const std::span<const Tokens> together =
        left.first(texts_together(left, options.batch, model.info().short_context));
    Session session = session_for(model, together, options);
    std::vector<RunRequest> runs;
    for (size_t i = 0; i < together.size(); ++i) {
      runs.push_back({.sequence = session.create(),
                      .tokens = together[i],
                      .want = Want::kNothing,
                      .scores = model.info().causal ? Want::kLast : Want::kFirst,
                      .second_text = pairs.second[done + i]});
    }
    session.evaluate(runs, [&](const ResultRow& row) {
      const size_t index = done + row.run;
      ranked[index] = {index, relevance(row.scores), {row.scores.begin(), row.scores.end()}};
    });
    add(rows, session.rows());
    done += together.size();
    progress.update(static_cast<double>(done) / static_cast<double>(all.size()),
                    fmt::format("{}/{} texts", done, all.size()));
  }
  return ranked;
}

int rerank(const Arguments& arguments) {
  const std::filesystem::path path = model_path(arguments);
  const std::string query = arguments.text("query");
  if (query.empty()) fail(ErrorCode::kInvalidArgument, "no question; give -q TEXT");
  const std::vector<PlacedText> texts = given_texts(arguments);

  Engine engine(engine_options(arguments));
  const Model model = open_model(engine, path, arguments);
  const Relevance relevance(model.info());
  const SessionOptions session = Session(model, session_options(arguments)).options();
  const Pairs pairs = tokenize_pairs(model, query, texts, session.context, arguments.flag("truncate"));

  Progress progress("ranking");
  RowCounts rows;
  std::vector<Ranked> ranked = score(model, pairs, relevance, session, progress, rows);
  const double seconds = progress.seconds();
  progress.finish(fmt::format("ranked {} texts in {}", texts.size(), format_seconds(seconds)));
  std::ranges::stable_sort(ranked, std::ranges::greater{}, &Ranked::score);
  if (const auto top = static_cast<size_t>(arguments.integer("top")); top > 0 && top < ranked.size())
    ranked.resize(top);

  if (arguments.flag("json")) {
    for (const Ranked& r : ranked)
      put("{}\n", json_text({{"index", r.index},
                             {"score", r.score},
                             {"raw", boost::json::value_from(r.raw)},
                             {"tokens", pairs.tokens[r.index].size()},
                             {"text", texts[r.index].text}}));
    put("{}\n", json_text({{"query", query},
                           {"texts", texts.size()},
                           {"tokens", rows.tokens},
                           {"rows", to_json(rows)},
                           {"seconds", seconds},
                           {"model", to_json(model.info())},
                           {"engine", engine_json(engine)},
                           {"settings", to_json(session)},
                           {"version", version()}}));
    return kSuccess;
  }
  Table table({"text", "score", "number"});
  for (const Ranked& r : ranked)
    table.add({label(texts[r.index].text, kLabelColumns), fmt::format("{:.4f}", r.score), std::to_string(r.index + 1)});
  write_stdout(table.text());
  return kSuccess;
}

}  // namespace

Command rerank_command() {
  return {
      {.name = "rerank",
       .summary = "sort texts by how well they answer a question",
       .description =
           "Reads the question with each of the texts and prints the texts, best first, with a score between 0 and 1. "
           "It takes a model with a classifier: a cross-encoder (bert and its relatives), or a decoder whose file "
           "scores yes and no. Texts come from -p, or are the lines of -f or standard input; their numbers count "
           "from 1.\n\n"
           "A question and text that are longer than the context together are an error unless --truncate is given. "
           "--json gives what the classifier said (raw) too: scores are its logistic function, or the share of yes.",
       .positionals = {{.name = "MODEL",
                        .help = "A GGUF file, or a catalogue name: smollm2",
                        .kind = ValueKind::kFile}},
       .groups = {&kModelOptions, &kRerankOptions, &kContextOptions, &kMachineOptions, &kGeneralOptions},
       .examples = {{"ingle rerank model.gguf -q \"Who wrote Faust?\" -p \"Goethe did.\" -p \"A fist is a hand.\"",
                     "which text answers the question"},
                    {"ingle rerank model.gguf -q \"Who wrote Faust?\" -f texts.txt --top 5", "the best five lines"}}},
      rerank};
}

}  // namespace ingle::app
