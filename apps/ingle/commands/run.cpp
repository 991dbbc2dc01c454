// ingle run: a conversation on the terminal, or one answer on stdout.
#include <boost/json.hpp>

#include "apps/ingle/answer.h"
#include "apps/ingle/answer_output.h"
#include "apps/ingle/chat/chat.h"
#include "apps/ingle/chat/kept_text.h"
#include "apps/ingle/commands.h"
#include "apps/ingle/exit_code.h"
#include "apps/ingle/explain.h"
#include "apps/ingle/fail.h"
#include "apps/ingle/files.h"
#include "apps/ingle/input_files.h"
#include "apps/ingle/json_text.h"
#include "apps/ingle/option_table.h"
#include "apps/ingle/setup.h"
#include "apps/ingle/signals.h"
#include "apps/ingle/terminal.h"

namespace ingle::app {
namespace {

constexpr Option kOptions[] = {
    {.name = "prompt",
     .short_name = "p",
     .kind = ValueKind::kText,
     .value_name = "TEXT",
     .help = "Answer this and exit; with -f it goes before the file's text"},
    {.name = "file",
     .short_name = "f",
     .kind = ValueKind::kFile,
     .value_name = "FILE",
     .help = "Answer the text of a file and exit; '-' reads stdin"},
    {.name = "system",
     .kind = ValueKind::kText,
     .value_name = "TEXT",
     .help = "Instructions that come before the conversation"},
    {.name = "tools",
     .kind = ValueKind::kFile,
     .value_name = "FILE",
     .help = "JSON array of tools the model may call; calls are printed as JSON, one a line, not made"},
    {.name = "save-state",
     .kind = ValueKind::kFile,
     .value_name = "FILE",
     .help = "Keep the conversation at the end of the run, with all that was read of it"},
    {.name = "load-state",
     .kind = ValueKind::kFile,
     .value_name = "FILE",
     .help = "Go on from a file of --save-state, of the same model and cache types; nothing is read again"},
    {.name = "raw", .help = "Continue the prompt as it is, without the chat template"},
    {.name = "json",
     .help = "Print one JSON object: text, thinking, tool calls, token counts, timings, finish, seed, model, settings"},
    {.name = "stats", .help = "Show tokens per second after each answer, on stderr when answering once"},
};
constexpr OptionGroup kRunOptions{"Prompt and output", kOptions};

// The prompt of -p, -f or a pipe; nullopt when there is none and somebody sits at the terminal to type one. A loaded
// raw text can go on without any.
std::optional<std::string> one_prompt(const Arguments& arguments) {
  const bool prompt = arguments.given("prompt"), file = arguments.given("file");
  const bool goes_on = arguments.flag("raw") && arguments.given("load-state");
  if (!prompt && !file && stdin_is_terminal()) return goes_on ? std::optional<std::string>("") : std::nullopt;
  std::string text = arguments.text("prompt");
  if (!prompt || file) {
    std::string read = read_text(file ? arguments.text("file") : "-");
    if (read.ends_with('\n')) read.pop_back();  // the end of the last line is no part of what is said
    text += (text.empty() ? "" : "\n\n") + read;
  }
  if (text.empty() && !goes_on)
    fail(ErrorCode::kInvalidArgument, "the prompt is empty; give one with -p TEXT, -f FILE or on standard input");
  return text;
}

// Where the answer goes on: a new sequence, or that of --load-state.
struct Start {
  SequenceId sequence;
  KeptText kept;
};

Start start_of(Session& session, const Arguments& arguments) {
  const bool raw = arguments.flag("raw");
  if (!arguments.given("load-state")) {
    Start start{session.create(), {.conversation = std::nullopt}};
    if (!raw) start.kept.conversation = Conversation{arguments.text("system"), {}};
    return start;
  }
  const std::string file = arguments.text("load-state");
  const LoadedState loaded = session.load_state(file);
  Start start{loaded.sequence, parse_kept_text(loaded.attachment, file)};
  if (raw == start.kept.conversation.has_value())
    fail(ErrorCode::kInvalidArgument, "{}: is the state of a {}", file,
         raw ? "conversation; leave --raw out" : "raw text; add --raw");
  return start;
}

// What the model reads, and how its answer is to be read.
struct Question {
  std::vector<TokenId> tokens;
  AnswerFormat format = {};
  AnswerParser::Options options = {};
};

Question make_question(const Session& session, const Arguments& arguments, const std::string& prompt, Start& start) {
  const Model& model = session.model();
  if (!start.kept.conversation) {
    const std::span<const TokenId> held = session.tokens(start.sequence);
    Question question{.tokens = {held.begin(), held.end()}};
    const auto append = [&](const std::vector<TokenId>& more) {
      question.tokens.insert(question.tokens.end(), more.begin(), more.end());
    };
    append(start.kept.unread);
    append(model.tokenize(prompt, {.add_special = question.tokens.empty(), .parse_special = true}));
    return question;
  }
  start.kept.conversation->messages.push_back({"user", prompt});
  ChatRequest request = start.kept.conversation->request();
  add_template_arguments(arguments, model, request);
  Question question{model.tokenize_chat(request)};
  // With --special the marks are what somebody wants to see.
  if (arguments.flag("special")) return question;
  question.format = model.answer_format();
  if (!question.format.plain()) question.options = model.prompt_template().answer_options(request);
  return question;
}

// --save-state, after the answer.
void save_state(const Session& session, const Arguments& arguments, Start& start, std::vector<TokenId> text,
                const Generation& generation, const ParsedAnswer& answer) {
  if (start.kept.conversation) {
    start.kept.conversation->messages.push_back({"assistant", answer.text, answer.thinking});
  } else {
    text.insert(text.end(), generation.tokens.begin(), generation.tokens.end());
    if (generation.finish == FinishReason::kEndOfGeneration) text.pop_back();
    const auto read = std::min(text.size(), static_cast<size_t>(session.length(start.sequence)));
    start.kept.unread.assign(text.begin() + static_cast<ptrdiff_t>(read), text.end());
  }
  session.save_state(start.sequence, arguments.text("save-state"), to_text(start.kept));
}

int answer_once(Session& session, const Arguments& arguments, const std::string& prompt, uint64_t seed,
                double load_seconds) {
  const Model& model = session.model();
  Start start = start_of(session, arguments);
  Question question = make_question(session, arguments, prompt, start);
  GenerateOptions options = generate_options(arguments, model);
  options.sampling.seed = seed;
  options.shown_tokens = model.mark_tokens(question.format);
  const bool json = arguments.flag("json");
  boost::json::object sampling = to_json(options.sampling);
  const int64_t most = options.max_tokens;
  AnswerOutput output(std::move(question.format), std::move(question.options), AnswerOutput::thinking_place(arguments),
                      json);
  const Generation generation = answer(session, start.sequence, question.tokens, std::move(options),
                                       [&](std::string_view text) { output.write(text); });
  const ParsedAnswer& parsed = output.finish();
  if (arguments.given("save-state"))
    save_state(session, arguments, start, std::move(question.tokens), generation, parsed);

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
    if (arguments.flag("check-ops")) object["op_checks"] = to_json(session.op_checks());
    object["version"] = version();
    put("{}\n", json_text(object, "tool_calls", calls_json(parsed)));
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
  if (arguments.flag("raw")) {
    if (arguments.given("system"))
      fail(ErrorCode::kInvalidArgument, "--raw has no place for --system; put the text into the prompt");
    for (const char* option : {"thinking", "tools"})
      if (arguments.given(option))
        fail(ErrorCode::kInvalidArgument, "--raw has no place for --{}: it is the chat template's business", option);
  }
  if (arguments.given("load-state") && arguments.given("system"))
    fail(ErrorCode::kInvalidArgument, "--system: the state of --load-state brings its own");
  // Before the model is loaded: what is wrong with files and prompt should not have to wait for it.
  if (arguments.given("save-state")) {
    refuse_to_replace(arguments.text("save-state"), input_files(arguments, {"save-state", "load-state"}));
    require_writable(arguments.text("save-state"));
  }
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
  const Adapters adapters = open_adapters(model, arguments);
  SessionOptions options = session_options(arguments, adapters);
  if (arguments.flag("trace-ops")) options.trace = [](std::string_view line) { note("{}", line); };
  options.check_ops = arguments.flag("check-ops");
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
    Chat chat(session, arguments, seed);
    if (arguments.given("load-state")) chat.load_state(arguments.text("load-state"));
    try {
      chat.run();
    } catch (const Error& error) {
      // A terminal that hung up cannot be written to, but the conversation can be kept.
      if (ending_signal() == 0 || error.code() != ErrorCode::kIo) throw;
    }
    if (arguments.given("save-state")) chat.save_state(arguments.text("save-state"));
  }
  if (arguments.flag("profile")) write_stderr(profile_tables(session.profile(), "this run"));
  if (arguments.flag("check-ops")) write_stderr(check_tables(session.op_checks(), "this run"));
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
       .groups = {&kModelOptions, &kAdapterOptions, &kRunOptions, &kGenerationOptions, &kSamplingOptions,
                  &kContextOptions, &kMachineOptions, &kInsightOptions, &kGeneralOptions},
       .examples = {{"ingle run smollm2", "chat"},
                    {"ingle run smollm2 -p \"Name three colours\" --temp 0", "one answer, always the same"},
                    {"git diff | ingle run model.gguf -p \"Summarise:\" -f -",
                     "a question about what comes through a pipe"},
                    {"ingle run model.gguf --lora style.gguf --lora-scaled facts.gguf:0.5", "with two adapters"},
                    {"ingle run model.gguf --raw -p \"Once upon a time\" -n 100", "continue a text"},
                    {"ingle run model.gguf -f book.txt --save-state book.state",
                     "read a long text once, to ask about it later with --load-state"},
                    {"ingle run model.gguf -p Hi --json | jq .timings", "for programs"}}},
      run_model};
}

}  // namespace ingle::app
