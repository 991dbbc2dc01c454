#include "apps/ingle/chat/line_editor.h"

#include <histedit.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <cwchar>
#include <optional>

#include "apps/ingle/chat/history_file.h"
#include "apps/ingle/signals.h"
#include "apps/ingle/terminal.h"
#include "apps/ingle/utf8.h"

namespace ingle::app {
namespace {

constexpr char kInvisible = '\1';  // encloses what takes no columns in a prompt
constexpr std::wstring_view kPasteEnd = L"\x1b[201~";

// A signal handler can reach nothing but globals.
std::atomic<bool> resized{false}, continued{false};

void on_resize(int) { resized = true; }
void on_continue(int) { continued = true; }

void install(int signal, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  ::sigaction(signal, &action, nullptr);  // without SA_RESTART: a pending read ends with EINTR
}

// One byte from the terminal. Returns 1, 0 at the end, -1 after Ctrl-C or on an error.
int read_byte(EditLine* editor, char* byte) {
  for (;;) {
    if (interrupted()) {
      errno = EINTR;
      return -1;
    }
    const ssize_t n = ::read(STDIN_FILENO, byte, 1);
    if (n >= 0) return static_cast<int>(n);
    if (errno != EINTR) return -1;
    if (resized.exchange(false)) el_resize(editor);
    if (continued.exchange(false)) {  // the shell has put its own terminal modes in place meanwhile
      el_set(editor, EL_PREP_TERM, 1);
      el_set(editor, EL_REFRESH);
    }
  }
}

}  // namespace

struct LineEditor::State {
  EditLine* editor = nullptr;
  HistoryFile history;
  Completer completer;
  std::string prompt;
  TerminalKeeper terminal;
  std::optional<char> kept;  // a byte read too far: another character begins with it

  static State& of(EditLine* editor) {
    void* data = nullptr;
    el_get(editor, EL_CLIENTDATA, &data);
    return *static_cast<State*>(data);
  }

  static char* show_prompt(EditLine* editor) { return of(editor).prompt.data(); }

  // A character that is cut off becomes U+FFFD and takes nothing with it that comes after: the end of a paste does.
  static int read_character(EditLine* editor, wchar_t* character) {
    std::optional<char>& kept = of(editor).kept;
    char byte = kept.value_or('\0');
    if (!std::exchange(kept, std::nullopt))
      if (const int n = read_byte(editor, &byte); n != 1) return n;
    std::string bytes(1, byte);
    const unsigned char lead = static_cast<unsigned char>(byte);
    const size_t length = lead >= 0xf8 ? 1 : lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
    while (bytes.size() < length) {
      if (const int n = read_byte(editor, &byte); n != 1) return n;
      if ((byte & 0xc0) != 0x80) {
        kept = byte;
        break;
      }
      bytes += byte;
    }
    const Utf8Character c = first_character(bytes);
    *character = c.valid ? static_cast<wchar_t>(c.code_point) : L'\xfffd';
    return 1;
  }

  // Everything up to the end mark goes into the line as it is: a line break in a paste sends nothing off.
  static unsigned char paste(EditLine* editor, int) {
    std::wstring text;
    wchar_t c;
    while (!text.ends_with(kPasteEnd)) {
      if (el_wgetc(editor, &c) != 1) return CC_EOF;
      text += c;
    }
    text.resize(text.size() - kPasteEnd.size());
    std::wstring clean;
    for (size_t i = 0; i < text.size(); ++i) {
      if (text[i] == L'\r') {
        if (i + 1 == text.size() || text[i + 1] != L'\n') clean += L'\n';
      } else if (text[i] == L'\n' || text[i] == L'\t' || text[i] >= L' ') {
        clean += text[i];
      }
    }
    while (clean.ends_with(L'\n')) clean.pop_back();
    if (!clean.empty() && el_winsertstr(editor, clean.c_str()) != 0) return CC_ERROR;
    return CC_REFRESH;
  }

  static unsigned char complete(EditLine* editor, int) {
    const LineInfo* info = el_line(editor);
    const std::string line(info->buffer, info->cursor);
    const std::vector<std::string> found = of(editor).completer(line);
    if (found.empty()) return CC_REFRESH_BEEP;
    std::string common = found.front();
    for (const std::string& word : found)
      common.resize(static_cast<size_t>(std::ranges::mismatch(common, word).in1 - common.begin()));
    const size_t typed = line.size() - std::min(line.rfind(' ') + 1, line.size());
    if (found.size() == 1) common += ' ';
    if (common.size() > typed) {
      el_insertstr(editor, common.c_str() + typed);
      return CC_REFRESH;
    }
    std::string list = "\n";
    for (const std::string& word : found) list += word + "  ";
    write_stderr(list + "\n");
    return CC_REDISPLAY;
  }
};

LineEditor::LineEditor(std::filesystem::path history_file, Completer completer)
    : state_(new State{.history = HistoryFile(std::move(history_file)), .completer = std::move(completer)}) {
  State& s = *state_;
  s.editor = el_init("ingle", stdin, stdout, stderr);
  el_set(s.editor, EL_CLIENTDATA, &s);
  el_set(s.editor, EL_PROMPT_ESC, &State::show_prompt, kInvisible);
  el_set(s.editor, EL_EDITOR, "emacs");
  el_set(s.editor, EL_HIST, history, s.history.lines());
  el_set(s.editor, EL_GETCFN, &State::read_character);
  el_set(s.editor, EL_ADDFN, "ingle-paste", "insert pasted text", &State::paste);
  el_set(s.editor, EL_ADDFN, "ingle-complete", "complete a command", &State::complete);
  el_set(s.editor, EL_BIND, "\\e[200~", "ingle-paste", nullptr);
  el_set(s.editor, EL_BIND, "^I", "ingle-complete", nullptr);
  el_set(s.editor, EL_BIND, "^R", "em-inc-search-prev", nullptr);
  el_set(s.editor, EL_BIND, "\\e[1;5C", "em-next-word", nullptr);
  el_set(s.editor, EL_BIND, "\\e[1;5D", "ed-prev-word", nullptr);
  el_source(s.editor, nullptr);  // ~/.editrc
  install(SIGWINCH, on_resize);
  install(SIGCONT, on_continue);
}

LineEditor::~LineEditor() { el_end(state_->editor); }

LineEditor::Input LineEditor::read(const std::string& prompt) {
  State& s = *state_;
  s.prompt = prompt;
  // Shown in bold where the terminal can.
  const char* terminal = std::getenv("TERM");
  std::optional<PasteMarks> marks;
  if (terminal && std::string_view(terminal) != "dumb") {
    // libedit drops an escape at the very end of a prompt, so the last character (a space) comes after the reset.
    const size_t shown = prompt.empty() ? 0 : prompt.size() - 1;
    s.prompt = kInvisible + std::string("\x1b[1m") + kInvisible + prompt.substr(0, shown) + kInvisible + "\x1b[m" +
               kInvisible + prompt.substr(shown);
    marks.emplace();
  }
  int count = 0;
  errno = 0;
  const char* line = el_gets(s.editor, &count);
  marks.reset();
  if (!line || count <= 0) {
    if (!interrupted() || ending_signal() != 0) return {Outcome::kEnd, {}};
    clear_interrupt();
    const LineInfo* info = el_line(s.editor);
    write_stdout("\n");
    return {Outcome::kInterrupted, std::string(info->buffer, info->lastchar)};
  }
  std::string text(line);
  if (text.ends_with('\n')) text.pop_back();
  return {Outcome::kLine, std::move(text)};
}

void LineEditor::remember(const std::string& text) { state_->history.add(text); }

}  // namespace ingle::app
