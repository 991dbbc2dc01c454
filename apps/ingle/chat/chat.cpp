#include "apps/ingle/chat/chat.h"

#include <algorithm>
#include <boost/json.hpp>
#include <utility>

#include "apps/ingle/answer.h"
#include "apps/ingle/answer_output.h"
#include "apps/ingle/chat/kept_text.h"
#include "apps/ingle/chat/line_joiner.h"
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

constexpr std::chrono::seconds kHammering{1};  // between two presses of Ctrl-C that mean the same

std::string_view trim(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\n");
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\n") + 1 - begin);
}

// The options that /set may change.
std::vector<const Option*> settable() {
  std::vector<const Option*> options;
  for (const OptionGroup* group : {&kGenerationOptions, &kSamplingOptions})
    for (const Option& option : group->options) options.push_back(&option);
  return options;
}

bool parse_switch(std::string_view name, std::string_view value) {
  if (value == "on" || value == "off") return value == "on";
  fail(ErrorCode::kInvalidArgument, "{}: '{}' is neither on nor off", name, value);
}

}  // namespace

Chat::Chat(Session& session, const Arguments& arguments, uint64_t seed)
    : model_(session.model()),
      session_(session),
      sequence_(session.create()),
      arguments_(arguments),
      seed_(seed),
      show_stats_(arguments.flag("stats")) {
  conversation_.system = arguments.text("system");
}

std::span<const Chat::Slash> Chat::slashes() {
  static constexpr Slash kSlashes[] = {
      {"/help", "", "show this", &Chat::help},
      {"/reset", "", "forget the conversation; the system text stays", &Chat::reset},
      {"/undo", "", "take back the last question and its answer", &Chat::undo},
      {"/save", "FILE", "keep the conversation in a file", &Chat::save},
      {"/load", "FILE", "go on with a kept conversation", &Chat::load},
      {"/save-state", "FILE", "keep it with all that was read of it", &Chat::save_state},
      {"/load-state", "FILE", "go on with it, and nothing is read again", &Chat::load_state},
      {"/system", "[TEXT]", "set the system text and start anew; without text, remove it", &Chat::system},
      {"/set", "[OPTION [VALUE]]", "change an option, e.g. /set temp 0.2; alone, list them", &Chat::set},
      {"/stats", "", "tokens, speed, memory", &Chat::stats},
      {"/exit", "", "leave; Ctrl-D does too", &Chat::exit},
  };
  return kSlashes;
}

std::vector<std::string> Chat::complete(const std::string& line) {
  std::vector<std::string> found;
  if (line.starts_with("/set ") && std::ranges::count(line, ' ') == 1) {
    for (const Option* option : settable())
      if (option->name.starts_with(std::string_view(line).substr(5))) found.emplace_back(option->name);
  } else if (line.starts_with('/') && line.find(' ') == line.npos) {
    for (const Slash& slash : slashes())
      if (slash.name.starts_with(line)) found.emplace_back(slash.name);
  }
  return found;
}

std::string Chat::prompt() const {
  return fmt::format("[{}/{}] > ", session_.length(sequence_), session_.options().context);
}

void Chat::run() {
  put("{} ({}, context {}). /help shows the commands, Ctrl-D leaves.\n", printable(model_.info().name),
      model_.engine().device(), session_.options().context);
  const HeedsInterrupts heeds;
  LineEditor editor(user_directory("XDG_STATE_HOME", ".local/state") / "history", complete);
  LineJoiner joiner;
  bool asked_twice = false;
  while (!exit_ && ending_signal() == 0) {
    const LineEditor::Input input = editor.read(joiner.pending() ? "... > " : prompt());
    if (input.outcome == LineEditor::Outcome::kEnd) {
      put("\n");
      return;
    }
    if (input.outcome == LineEditor::Outcome::kInterrupted) {
      const bool empty = input.text.empty() && !joiner.pending();
      joiner.reset();
      const auto now = std::chrono::steady_clock::now();
      if (empty && now - stopped_ < kHammering) {  // somebody who wanted the answer to stop, not to leave
        stopped_ = now;
        continue;
      }
      if (empty && asked_twice) return;
      asked_twice = empty;
      if (empty) put("(Ctrl-C again or Ctrl-D leaves)\n");
      continue;
    }
    asked_twice = false;
    const std::optional<std::string> message = joiner.add(input.text);
    if (!message || trim(*message).empty()) continue;
    editor.remember(*message);
    try {
      if (message->starts_with('/')) {
        slash(std::string(trim(*message)));
      } else {
        say(*message);
      }
    } catch (const Error& error) {
      // What goes wrong with one message does not end the conversation, a broken output does.
      if (error.code() == ErrorCode::kInternal) throw;
      put("! {}\n", printable(error.what()));
    }
  }
}

void Chat::say(const std::string& text) {
  clear_interrupt();  // from here on Ctrl-C is about this answer
  conversation_.messages.push_back({"user", text});
  ParsedAnswer parsed;
  try {
    const ChatRequest request = this->request();
    const std::vector<TokenId> tokens = model_.tokenize_chat(request);
    const int64_t size = static_cast<int64_t>(tokens.size());
    const int64_t context = session_.options().context;
    if (size >= context)
      fail(ErrorCode::kInvalidArgument,
           "with this message the conversation has {} tokens, and the context holds {}: the message was not sent. "
           "/undo takes back an exchange, /reset starts anew, and ingle run {} holds it",
           size, context, larger_context(model_, size));
    GenerateOptions options = generate_options(arguments_, model_);
    // Each answer draws other numbers, and the same conversation with the same seed draws the same ones.
    options.sampling.seed = seed_ + conversation_.messages.size() / 2;
    if (!format_) format_ = model_.answer_format();
    const AnswerFormat format = arguments_.flag("special") ? AnswerFormat() : *format_;
    options.shown_tokens = model_.mark_tokens(format);
    AnswerOutput output(format,
                        format.plain() ? AnswerParser::Options() : model_.prompt_template().answer_options(request),
                        AnswerOutput::thinking_place(arguments_));
    const QuietKeys quiet;
    last_ =
        answer(session_, sequence_, tokens, std::move(options), [&](std::string_view piece) { output.write(piece); });
    parsed = output.finish();
  } catch (...) {
    conversation_.messages.pop_back();
    throw;
  }
  put("{}", parsed.text.ends_with('\n') ? "\n" : "\n\n");
  if (parsed.text.empty() && last_.finish == FinishReason::kCancelled) {
    conversation_.messages.pop_back();  // stopped before it began: as if not asked
  } else {
    conversation_.messages.push_back({"assistant", parsed.text, parsed.thinking});
  }
  explain_finish(last_);
  if (last_.finish == FinishReason::kCancelled) stopped_ = std::chrono::steady_clock::now();
  if (show_stats_) put("({})\n", statistics_line(last_));
  clear_interrupt();
}

ChatRequest Chat::request() const {
  ChatRequest request = conversation_.request();
  add_template_arguments(arguments_, model_, request);
  return request;
}

void Chat::explain_finish(const Generation& generation) const {
  const int64_t context = session_.options().context;
  switch (generation.finish) {
    case FinishReason::kContextFull:
      put("! the context of {} tokens is full, so the answer ends here. /undo takes back the last exchange, /reset "
          "starts "
          "anew, and ingle run -c {} holds more\n",
          context, context * 2);
      break;
    case FinishReason::kCancelled:
      put("(stopped)\n");
      break;
    case FinishReason::kLength:
      put("(ended after {} tokens, as set by predict)\n", generation.tokens.size());
      break;
    case FinishReason::kEndOfGeneration:
    case FinishReason::kStopString:
      break;
  }
}

void Chat::slash(const std::string& line) {
  const size_t space = std::min(line.find_first_of(" \t\n"), line.size());
  const std::string name = line.substr(0, space);
  for (const Slash& known : slashes()) {
    if (known.name != name) continue;
    const std::string parameter(trim(line.substr(space)));
    if (known.parameter.empty() && !parameter.empty())
      fail(ErrorCode::kInvalidArgument, "{} stands alone, without '{}'", name, parameter);
    if (known.parameter == "FILE" && parameter.empty())
      fail(ErrorCode::kInvalidArgument, "{} needs a file: {} FILE", name, name);
    (this->*known.run)(parameter);
    return;
  }
  std::vector<std::string_view> names;
  for (const Slash& known : slashes()) names.push_back(known.name);
  const std::string_view near = nearest(name, names);
  fail(ErrorCode::kInvalidArgument,
       "{}: no such command{}; /help lists them, and a message that begins with / can begin with a space", name,
       near.empty() ? std::string() : fmt::format("; did you mean {}?", near));
}

void Chat::help(const std::string&) {
  for (const Slash& known : slashes())
    put("  {}{}\n", pad(fmt::format("{} {}", known.name, known.parameter), 26), known.help);
  put("  A line that ends in \\ goes on in the next; \"\"\" opens and closes a block of lines; pasted lines stay "
      "together.\n"
      "  Ctrl-C stops an answer. The numbers before > are the tokens in the context and what it holds.\n");
}

void Chat::reset(const std::string&) {
  conversation_.messages.clear();
  session_.truncate(sequence_, 0);
}

void Chat::undo(const std::string&) {
  if (!conversation_.undo()) fail(ErrorCode::kInvalidArgument, "there is nothing to take back");
  if (conversation_.messages.empty()) {
    session_.truncate(sequence_, 0);
    return;
  }
  // What is still true of the cache stays: the part that the shorter conversation begins with.
  ChatRequest request = this->request();
  request.add_generation_prompt = false;
  const std::vector<TokenId> tokens = model_.tokenize_chat(request);
  const std::span<const TokenId> held = session_.tokens(sequence_);
  const auto common = std::ranges::mismatch(tokens, held).in1 - tokens.begin();
  session_.truncate(sequence_, common);
}

void Chat::save(const std::string& file) {
  refuse_to_replace(file, input_files(arguments_, {"save-state", "load-state"}));
  write_file(file, to_text(conversation_), std::filesystem::perms(0600));  // what was said is its owner's
  put("kept {} messages in {}\n", conversation_.messages.size(), printable(file));
}

void Chat::load(const std::string& file) {
  conversation_ = parse_conversation(read_file(file), file);
  session_.truncate(sequence_, 0);
  put("{} messages; they are read again with your next one\n", conversation_.messages.size());
}

void Chat::save_state(const std::string& file) {
  refuse_to_replace(file, input_files(arguments_, {"save-state", "load-state"}));
  session_.save_state(sequence_, file, to_text(KeptText{conversation_}));
  put("kept {} messages, {} tokens read, in {}\n", conversation_.messages.size(), session_.length(sequence_),
      printable(file));
}

void Chat::load_state(const std::string& file) {
  // What is read so far gives way: the cache may hold one sequence only. If the file is refused, it is read again.
  session_.truncate(sequence_, 0);
  const LoadedState loaded = session_.load_state(file);
  try {
    KeptText kept = parse_kept_text(loaded.attachment, file);
    if (!kept.conversation)
      fail(ErrorCode::kInvalidArgument, "{}: is the state of a raw text, not of a conversation", file);
    conversation_ = std::move(*kept.conversation);
  } catch (...) {
    session_.release(loaded.sequence);
    throw;
  }
  session_.release(std::exchange(sequence_, loaded.sequence));
  put("{} messages, {} tokens read\n", conversation_.messages.size(), session_.length(sequence_));
}

void Chat::system(const std::string& text) {
  conversation_.system = text;
  reset({});
}

void Chat::list_settings() const {
  const GenerateOptions options = generate_options(arguments_, model_);
  const boost::json::object sampling = to_json(options.sampling);
  put("  {}{}\n", pad("stats", 24), show_stats_ ? "on" : "off");
  for (const Option* option : settable()) {
    std::string key(option->name);
    std::ranges::replace(key, '-', '_');
    std::string value;
    if (option->kind == ValueKind::kFlag) {
      value = arguments_.flag(option->name) ? "on" : "off";
    } else if (option->name == "seed") {
      value = std::to_string(seed_);
    } else if (const boost::json::value* setting = sampling.if_contains(key)) {
      value = json_text(*setting);
    } else if (option->repeatable) {
      value = json_text(boost::json::value_from(arguments_.texts(option->name)));
    } else {
      value = arguments_.text(option->name);
    }
    put("  {}{}\n", pad(option->name, 24), value);
  }
}

void Chat::set(const std::string& option_and_value) {
  if (option_and_value.empty()) return list_settings();
  const size_t space = std::min(option_and_value.find_first_of(" \t="), option_and_value.size());
  std::string_view name = std::string_view(option_and_value).substr(0, space);
  while (name.starts_with('-')) name.remove_prefix(1);
  const std::string value(
      trim(std::string_view(option_and_value).substr(std::min(space + 1, option_and_value.size()))));
  if (name == "stats") {
    show_stats_ = value.empty() || parse_switch(name, value);
    return;
  }
  std::vector<std::string_view> names = {"stats"};
  const Option* option = nullptr;
  for (const Option* known : settable()) {
    names.push_back(known->name);
    if (known->name == name || (!known->short_name.empty() && known->short_name == name)) option = known;
  }
  if (!option) {
    const std::string_view near = nearest(name, names);
    fail(ErrorCode::kInvalidArgument, "{}: no such setting{}; /set lists them", name,
         near.empty() ? std::string() : fmt::format("; did you mean {}?", near));
  }
  Arguments changed = arguments_;
  if (option->kind == ValueKind::kFlag) {
    changed.clear(option->name);
    if (value.empty() || parse_switch(name, value)) changed.set(option->name, "");
  } else if (value.empty()) {
    changed.clear(option->name);  // back to the default
  } else {
    changed.set(option->name, value);
  }
  generate_options(changed, model_);  // checks what the table cannot
  if (ChatRequest unused; name == "thinking") add_template_arguments(changed, model_, unused);
  arguments_ = std::move(changed);
  if (option->name == "seed") {
    const int64_t seed = value.empty() ? -1 : arguments_.integer("seed");
    seed_ = seed < 0 ? random_seed() : static_cast<uint64_t>(seed);
  }
}

void Chat::stats(const std::string&) {
  put("  context   {} of {} tokens, {} messages\n", session_.length(sequence_), session_.options().context,
      conversation_.messages.size());
  if (last_.prompt_tokens > 0) put("  last      {}\n", statistics_line(last_));
  put("  seed      {}\n  device    {}\n", seed_, model_.engine().device());
  for (const MemoryUse& use : session_.memory())
    put("  memory    {} {}{}{}\n", pad(use.owner, 12), format_bytes(static_cast<double>(use.bytes)),
        use.note.empty() ? "" : ": ", use.note);
}

void Chat::exit(const std::string&) { exit_ = true; }

}  // namespace ingle::app
