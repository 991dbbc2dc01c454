// ingle score: how likely a model held each token of a text.
#include <boost/json.hpp>
#include <cmath>

#include "apps/ingle/commands.h"
#include "apps/ingle/exit_code.h"
#include "apps/ingle/fail.h"
#include "apps/ingle/json_text.h"
#include "apps/ingle/option_table.h"
#include "apps/ingle/progress.h"
#include "apps/ingle/score/token_scores.h"
#include "apps/ingle/setup.h"
#include "apps/ingle/table.h"
#include "apps/ingle/terminal.h"
#include "apps/ingle/token_json.h"

namespace ingle::app {
namespace {

constexpr Option kOptions[] = {
    {.name = "prompt", .short_name = "p", .kind = ValueKind::kText, .value_name = "TEXT", .help = "Text to score"},
    {.name = "file",
     .short_name = "f",
     .kind = ValueKind::kFile,
     .value_name = "FILE",
     .help = "Its text; '-' reads stdin"},
    {.name = "top",
     .kind = ValueKind::kInteger,
     .value_name = "N",
     .least = 0,
     .most = kMostTokens * 16,
     .fallback = "0",
     .help = "Show the N likeliest tokens at each position too"},
    {.name = "json", .help = "Print JSON lines: one object for each token, then one about the run"},
};
constexpr OptionGroup kScoreOptions{"Text and output", kOptions};

struct Scored {
  std::vector<TokenId> tokens;
  std::vector<TokenScore> scores;  // of tokens[1] and on
  RowCounts rows;
  double seconds = 0;

  double sum() const {
    double sum = 0;
    for (const TokenScore& score : scores) sum += score.log_probability;
    return sum;
  }
  double mean() const { return sum() / static_cast<double>(scores.size()); }
  double perplexity() const { return std::exp(-mean()); }
};

std::string quoted_piece(const Model& model, TokenId id) {
  return fmt::format("'{}'", printable(model.piece(id, true)));
}

std::string as_table(const Model& model, const Scored& scored) {
  std::vector<std::string> header = {"position", "id", "piece", "logprob", "probability", "rank"};
  for (size_t i = 1; i <= scored.scores[0].top.size(); ++i) header.push_back(fmt::format("#{}", i));
  Table table(std::move(header), 3);
  table.add({"0", std::to_string(scored.tokens[0]), quoted_piece(model, scored.tokens[0]), "-", "-", "-"});
  for (size_t i = 0; i < scored.scores.size(); ++i) {
    const TokenScore& score = scored.scores[i];
    std::vector<std::string> row = {std::to_string(i + 1),
                                    std::to_string(score.token),
                                    quoted_piece(model, score.token),
                                    fmt::format("{:.6f}", score.log_probability),
                                    fmt::format("{:.6f}", std::exp(score.log_probability)),
                                    std::to_string(score.rank)};
    for (const Alternative& other : score.top)
      row.push_back(fmt::format("{} {:.4f}", quoted_piece(model, other.token), other.log_probability));
    table.add(std::move(row));
  }
  return table.text() +
         fmt::format("\nsum         {:.6f} nats\nmean        {:.6f}\nperplexity  {:.4f}\n", scored.sum(), scored.mean(),
                     scored.perplexity()) +
         fmt::format("scored      {} of {} tokens; the first follows nothing\n", scored.scores.size(),
                     scored.tokens.size()) +
         fmt::format(
             "rows        {} layer rows computed, {} skipped: every row that is read gives the next token's figures\n",
             scored.rows.computed, scored.rows.skipped);
}

std::string as_json(const Session& session, const Scored& scored, bool alternatives) {
  const Model& model = session.model();
  std::string lines;
  for (size_t i = 0; i < scored.tokens.size(); ++i) {
    boost::json::object token{{"position", i}};
    for (const auto& [key, value] : token_json(model, scored.tokens[i])) token[key] = value;
    if (i == 0) {
      for (const std::string_view key : {"logprob", "probability", "rank"}) token[key] = nullptr;
    } else {
      const TokenScore& score = scored.scores[i - 1];
      token["logprob"] = score.log_probability;
      token["probability"] = std::exp(score.log_probability);
      token["rank"] = score.rank;
      boost::json::array top;
      for (const Alternative& other : score.top) {
        boost::json::object alternative = token_json(model, other.token);
        alternative["logprob"] = other.log_probability;
        top.push_back(std::move(alternative));
      }
      if (alternatives) token["top"] = std::move(top);
    }
    lines += json_text(token) + "\n";
  }
  const boost::json::object about{
      {"tokens", scored.tokens.size()},
      {"scored", scored.scores.size()},
      {"sum", scored.sum()},
      {"mean", scored.mean()},
      {"perplexity", scored.perplexity()},
      {"rows", to_json(scored.rows)},
      {"seconds", scored.seconds},
      {"model", to_json(model.info())},
      {"engine", engine_json(model.engine())},
      {"settings", to_json(session.options())},
      {"version", version()},
  };
  return lines + json_text(about) + "\n";
}

int score(const Arguments& arguments) {
  const std::filesystem::path path = model_path(arguments);
  if (!arguments.given("prompt") && !arguments.given("file") && stdin_is_terminal())
    fail(ErrorCode::kInvalidArgument, "no text to score; give -p TEXT, -f FILE or standard input");
  const std::string text = given_text(arguments);
  if (text.empty())
    fail(ErrorCode::kInvalidArgument, "the text is empty; give one with -p TEXT, -f FILE or on standard input");

  Engine engine(engine_options(arguments));
  const Model model = open_model(engine, path, arguments);
  const Adapters adapters = open_adapters(model, arguments);
  Session session(model, session_options(arguments, adapters));
  Scored scored;
  scored.tokens = model.tokenize(text, {.add_special = true});
  const auto count = static_cast<int64_t>(scored.tokens.size());
  if (count < 2)
    fail(ErrorCode::kInvalidArgument, "the text has {} token and nothing comes before it; at least 2 are needed",
         count);
  if (count > session.options().context)
    fail(ErrorCode::kInvalidArgument, "the text has {} tokens, the context holds {}; --ctx-size {} holds it", count,
         session.options().context, count);

  Progress progress("scoring");
  const size_t top = static_cast<size_t>(arguments.integer("top"));
  scored.scores = score_tokens(session, scored.tokens, top, [&](size_t done) {
    progress.update(static_cast<double>(done) / static_cast<double>(count - 1));
  });
  scored.seconds = progress.seconds();
  progress.finish(fmt::format("scored {} tokens in {}", count - 1, format_seconds(scored.seconds)));
  scored.rows = session.rows();
  write_stdout(arguments.flag("json") ? as_json(session, scored, top > 0) : as_table(model, scored));
  return kSuccess;
}

}  // namespace

Command score_command() {
  return {
      {.name = "score",
       .summary = "show how likely a model holds each token of a text",
       .description =
           "Prints each token's log-probability (natural, in nats) given those before it, its probability, and its "
           "rank among all tokens, 1 being the likeliest; then their sum, their mean, and the perplexity. The first "
           "token follows nothing and has none; where the model wants a token at the beginning, that is the first. "
           "Control tokens written out in the text are plain text.\n\n"
           "The text must fit the context. For long texts there is 'ingle perplexity', which cuts them into windows.",
       .positionals = {{.name = "MODEL",
                        .help = "A GGUF file, or a catalogue name: smollm2",
                        .kind = ValueKind::kFile}},
       .groups = {&kModelOptions, &kAdapterOptions, &kScoreOptions, &kContextOptions, &kMachineOptions,
                  &kGeneralOptions},
       .examples = {{"ingle score smollm2 -p \"The capital of France is Paris.\"", "a table"},
                    {"ingle score smollm2 -p \"The capital of France is Paris.\" --top 3", "and what else there was"},
                    {"ingle score model.gguf -f text.txt --json | jq .logprob", "for programs"}}},
      score};
}

}  // namespace ingle::app
