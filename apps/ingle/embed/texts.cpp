#include "apps/ingle/embed/texts.h"

#include "apps/ingle/fail.h"
#include "apps/ingle/files.h"
#include "apps/ingle/terminal.h"
#include "apps/ingle/utf8.h"

namespace ingle::app {
namespace {

std::vector<PlacedText> from_prompts(const std::vector<std::string>& prompts) {
  std::vector<PlacedText> texts;
  for (size_t i = 0; i < prompts.size(); ++i) {
    const std::string place = prompts.size() == 1 ? "-p" : fmt::format("-p {}", i + 1);
    texts.push_back({prompts[i], place});
  }
  return texts;
}

}  // namespace

std::string label(std::string_view text, int columns) {
  const std::string whole = printable(text);
  std::string_view rest = whole;
  std::string shown;
  while (!rest.empty()) {
    const std::string_view character = rest.substr(0, first_character(rest).length);
    if (display_width(shown) + display_width(character) > columns - 3) return shown + "...";
    shown += character;
    rest.remove_prefix(character.size());
  }
  return shown;
}

std::vector<PlacedText> split_lines(std::string_view text, std::string_view name) {
  std::vector<PlacedText> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back({std::string(line), fmt::format("{}: line {}", name, lines.size() + 1)});
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::vector<PlacedText> given_texts(const Arguments& arguments) {
  if (arguments.given("prompt") && arguments.given("file"))
    fail(ErrorCode::kInvalidArgument, "-p and -f: give one of them");
  std::vector<PlacedText> texts;
  if (arguments.given("prompt")) {
    texts = from_prompts(arguments.texts("prompt"));
  } else {
    if (!arguments.given("file") && stdin_is_terminal())
      fail(ErrorCode::kInvalidArgument, "no text; give -p TEXT, -f FILE or lines on standard input");
    const std::string file = arguments.given("file") ? arguments.text("file") : "-";
    const std::string name = file == "-" ? "standard input" : printable(file);
    texts = split_lines(read_text(file), name);
    if (texts.empty()) fail(ErrorCode::kInvalidArgument, "{}: no text in it", name);
  }
  for (const PlacedText& text : texts)
    if (text.text.empty()) fail(ErrorCode::kInvalidArgument, "{}: the text is empty", text.place);
  return texts;
}

}  // namespace ingle::app
