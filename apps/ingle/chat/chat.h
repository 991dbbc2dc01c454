// The conversation on the terminal: a prompt that shows how full the context is, answers as they come, /commands.
#pragma once

#include <chrono>

#include "apps/ingle/chat/conversation.h"
#include "apps/ingle/chat/line_editor.h"
#include "apps/ingle/options.h"
#include "ingle/ingle.h"

namespace ingle::app {

class Chat {
 public:
  // `session` must outlive the chat. `arguments` are those of `run`; /set changes a copy.
  Chat(Session& session, const Arguments& arguments, uint64_t seed);
  void run();  // until /exit, Ctrl-D, Ctrl-C twice, SIGTERM or SIGHUP
  // The conversation with all that was read of it, so that nothing is read again. Throw what Session's functions do.
  void save_state(const std::string& file);
  void load_state(const std::string& file);

 private:
  struct Slash {
    std::string_view name, parameter, help;
    void (Chat::*run)(const std::string& parameter);
  };
  static std::span<const Slash> slashes();
  static std::vector<std::string> complete(const std::string& line);

  void say(const std::string& text);  // to the model
  void slash(const std::string& line);
  std::string prompt() const;
  ChatRequest request() const;  // for the conversation so far, as the settings want it
  void explain_finish(const Generation& generation) const;

  void help(const std::string&);
  void reset(const std::string&);
  void undo(const std::string&);
  void save(const std::string& file);
  void load(const std::string& file);
  void system(const std::string& text);
  void set(const std::string& option_and_value);
  void stats(const std::string&);
  void exit(const std::string&);
  void list_settings() const;

  const Model& model_;
  Session& session_;
  SequenceId sequence_;
  Arguments arguments_;
  uint64_t seed_;
  Conversation conversation_;
  std::optional<AnswerFormat> format_;  // once it is needed
  Generation last_;
  bool show_stats_, exit_ = false;
  std::chrono::steady_clock::time_point stopped_ = {};  // when Ctrl-C last stopped an answer
};

}  // namespace ingle::app
