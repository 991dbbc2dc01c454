// ingle run: a conversation on the terminal, or one answer on stdout.
#include <boost/json.hpp>

#include "apps/ingle/answer.h"
#include "apps/ingle/answer_output.h"
#include "apps/ingle/chat/chat.h"
#include "apps/ingle/commands.h"
#include "apps/ingle/exit_code.h"
#include "apps/ingle/explain.h"
#include "apps/ingle/fail.h"
#include "apps/ingle/files.h"
#include "apps/ingle/json_text.h"
#include "apps/ingle/option_table.h"
#include "apps/ingle/setup.h"
#include "apps/ingle/terminal.h"

namespace ingle::app {
namespace {

// The prompt of -p, -f or a pipe; nullopt when there is none and somebody sits at the terminal to type one.
std::optional<std::string> one_prompt(const Arguments& arguments) {
  const bool prompt = arguments.given("prompt"), file = arguments.given("file");
  if (!prompt && !file && stdin_is_terminal()) return std::nullopt;
  std::string text = arguments.text("prompt");
  require_utf8(text, "-p");
  if (!prompt || file) {
    std::string read = read_text(file ? arguments.text("file") : "-");
    if (read.ends_with('\n')) read.pop_back();  // the end of the last line is no part of what is said
    text += (text.empty() ? "" : "\n\n") + read;
  }
  if (text.empty())
    fail(ErrorCode::kInvalidArgument, "the prompt is empty; give one with -p TEXT, -f FILE or on standard input");
  return text;
}

// What the model reads, and how its answer is to be read.
struct Question {
  std::vector<TokenId> tokens;
  AnswerFormat format = {};
  AnswerParser::Options options = {};
};

Question make_question(const Model& model, const Arguments& arguments, const std::string& prompt) {
  if (arguments.flag("raw")) {
    if (arguments.given("system"))
      fail(ErrorCode::kInvalidArgument, "--raw has no place for --system; put the text into the prompt");
    for (const char* option : {"thinking", "tools"})
      if (arguments.given(option))
        fail(ErrorCode::kInvalidArgument, "--raw has no place for --{}: it is the chat template's business", option);
    return {model.tokenize(prompt, {.add_special = true, .parse_special = true})};
  }
  ChatRequest request = Conversation{arguments.text("system"), {{"user", prompt}}}.request();
  add_template_arguments(arguments, model, request);
  Question question{model.tokenize_chat(request)};
  // With --special the marks are what somebody wants to see.
  if (arguments.flag("special")) return question;
  question.format = model.answer_format();
  if (!question.format.plain()) question.options = model.prompt_template().answer_options(request);
  return question;
}

int answer_once(Session& session, const Arguments& arguments, const std::string& prompt, uint64_t seed,
                double load_seconds) {
  const Model& model = session.model();
  Question question = make_question(model, arguments, prompt);
  GenerateOptions options = generate_options(arguments, model);
  options.sampling.seed = seed;
  options.shown_tokens = model.mark_tokens(question.format);
  const bool json = arguments.flag("json");
  boost::json::object sampling = to_json(options.sampling);
  const int64_t most = options.max_tokens;
  AnswerOutput output(std::move(question.format), std::move(question.options), AnswerOutput::thinking_place(arguments),
                      json);
  const Generation generation = answer(session, session.create(), question.tokens, std::move(options),
                                       [&](std::string_view text) { output.write(text); });
  const ParsedAnswer& parsed = output.finish();

  if (json) {
    boost::json::object object = to_json(generation);
    add_json(parsed, object);
    object["timings"].as_object()["load_seconds"] = load_seconds;
    object["seed"] = seed;
    object["model"] = to_json(model.info());
    object["engine"] = engine_json(model.engine());
    boost::json::object settings = to_json(session.options());
    settings["predict"] = most;
    settings["raw"] = arguments.flag("raw");
    settings["sampling"] = std::move(sampling);
    object["settings"] = std::move(settings);
    object["version"] = version();
    put("{}\n", json_text(object));
  } else if (output.line_open()) {
    write_stdout("\n");
  }
  if (generation.finish == FinishReason::kContextFull)
    note("ingle: note: the context of {} tokens is full, so the answer ends here; -c {} holds more",
         session.options().context, session.options().context * 2);
  if (arguments.flag("stats") || arguments.flag("verbose")) note("{}", statistics_line(generation));
  if (generation.finish != FinishReason::kCancelled) return kSuccess;
  note("ingle: interrupted");
  return kInterrupted;
}

int run_model(const Arguments& arguments) {
  const std::filesystem::path path = model_path(arguments);
  // Read before the model is loaded: a bad prompt should not have to wait for it.
  const std::optional<std::string> prompt = one_prompt(arguments);
  if (!prompt) {
    for (const std::string_view option : {"raw", "json"})
      if (arguments.flag(option))
        fail(ErrorCode::kInvalidArgument, "--{} needs a prompt: -p TEXT, -f FILE or standard input", option);
    if (arguments.given("tools"))
      fail(ErrorCode::kInvalidArgument, "--tools needs a prompt: -p TEXT, -f FILE or standard input");
    if (!stdout_is_terminal())
      fail(ErrorCode::kInvalidArgument,
           "no prompt, and standard output is no terminal to chat on; give -p TEXT or -f FILE");
  }
  Engine engine(engine_options(arguments));
  const auto start = std::chrono::steady_clock::now();
  const Model model = open_model(engine, path, arguments);
  SessionOptions options = session_options(arguments);
  if (arguments.flag("trace-ops")) options.trace = [](std::string_view line) { note("{}", line); };
  Session session(model, std::move(options));
  const double load_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  session.set_profile(arguments.flag("profile"));
  const bool chosen = arguments.given("seed") && arguments.integer("seed") >= 0;
  const uint64_t seed = chosen ? static_cast<uint64_t>(arguments.integer("seed")) : random_seed();
  if (arguments.flag("verbose")) {
    note("context: {} tokens, cache {} and {}", session.options().context, session.options().cache_type_k,
         session.options().cache_type_v);
    note("seed: {}", seed);
    note("sampling: {}", json_text(to_json(sampler_options(arguments, model))));
  }
  int status = kSuccess;
  if (prompt) {
    status = answer_once(session, arguments, *prompt, seed, load_seconds);
  } else {
    Chat(session, arguments, seed).run();
  }
  if (arguments.flag("profile")) write_stderr(profile_tables(session.profile(), "this run"));
  return status;
}

}  // namespace

Command run_command() {
  return {
      {.name = "run",
       .summary = "chat with a model, or get one answer",
       .description =
           "Without a prompt, and on a terminal, this is a conversation: /help shows its commands, Ctrl-C stops an "
           "answer, "
           "Ctrl-D leaves. With -p, -f or text on standard input it answers once, and nothing but the answer goes to "
           "standard output.\n\n"
           "The model's own chat template is used unless --raw is given. Sampling options that are not given take the "
           "values the model file recommends, or the defaults below.",
       .positionals = {{.name = "MODEL",
                        .help = "A GGUF file, or a catalogue name: smollm2",
                        .kind = ValueKind::kFile}},
       .groups = {&kModelOptions, &kRunOptions, &kGenerationOptions, &kSamplingOptions, &kContextOptions,
                  &kMachineOptions, &kInsightOptions, &kGeneralOptions},
       .examples = {{"ingle run smollm2", "chat"},
                    {"ingle run smollm2 -p \"Name three colours\" --temp 0", "one answer, always the same"},
                    {"git diff | ingle run model.gguf -p \"Summarise:\" -f -",
                     "a question about what comes through a pipe"},
                    {"ingle run model.gguf --raw -p \"Once upon a time\" -n 100", "continue a text"},
                    {"ingle run model.gguf -p Hi --json | jq .timings", "for programs"}}},
      run_model};
}

}  // namespace ingle::app
