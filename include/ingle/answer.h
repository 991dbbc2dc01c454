// Reading answers back: what a model writes is thinking, text and calls of tools, each between marks that its chat
// template shows. AnswerFormat says which marks; AnswerParser takes an answer apart while it is being written.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace ingle {

// Plain data, found by rendering small conversations (find_answer_format in src/text/answer_format.h). In a mark the
// character kAnySpace stands for any white space or none. An empty mark: there is none.
struct AnswerFormat {
  static constexpr char kAnySpace = '\x01';

  enum class Calls {
    kNone,
    kJson,      // BEGIN {"name": ..., "arguments": {...}} END, or a list of them
    kNamed,     // BEGIN name NAME_END {...} END
    kPython,    // BEGIN [name(key=value, ...), ...] END
    kBraced,    // BEGIN name{key:value,...} END, texts between two `quote`
    kTagged,    // BEGIN name NAME_END (KEY_BEGIN key KEY_END value VALUE_END)* END
    kElements,  // the same with <key>value</key>, nested, each tag behind `tag_prefix`
  };

  std::string thinking_begin, thinking_end;
  std::vector<std::string> text_marks;  // stand around the text and say nothing

  Calls calls = Calls::kNone;
  bool bare = false;  // kJson without a mark: the answer is a call when it begins as one
  std::string call_begin, call_end;
  std::vector<std::string> frame_begins, frame_ends;  // around one call or all of them
  std::string name_end;                               // empty: the name ends where the arguments begin
  std::string id_end;  // name NAME_END id ID_END; the part from NAME_END on may be missing
  std::string key_begin;
  std::string key_end, attribute_end,
      string_attribute;  // KEY_END says more up to ATTRIBUTE_END: whether it is a string
  std::string value_end;
  bool padded_values = false;  // a newline on either side of a value is not part of it
  std::string quote, tag_prefix;

  // Messages with headers: <|start|>role to=recipient<|channel|>name<|message|>body<|end|>.
  bool channels = false;

  bool has_thinking() const { return channels || !thinking_end.empty(); }
  // All marks that a model writes as they are.
  std::vector<std::string> marks() const;
  // Nothing to take apart: all of an answer is text.
  bool plain() const { return !has_thinking() && calls == Calls::kNone && text_marks.empty(); }
  bool operator==(const AnswerFormat&) const = default;
};

// One line for people and tests: "thinking <think> </think>; calls: json <tool_call> </tool_call>"; white space as ~.
std::string describe(const AnswerFormat& format);

// The template variable that turns thinking on and off, with its values as JSON. No name: the template has none.
struct ThinkingSwitch {
  std::string name, on, off;
  bool default_on = false;  // without it, the template does what `on` does
};

struct ToolCall {
  std::string id;  // as the model wrote it; often none
  std::string name;
  std::string arguments;  // a JSON object
  std::string raw;        // its bytes in the answer, marks included; of calls in one list, the first has all of them
};

struct AnswerEvent {
  enum class Kind {
    kThinking,
    kText,
    kMarkup,     // marks, and white space beside them: for nobody to see
    kCallBegun,  // a call is being written; call.name where it is known. No bytes
    kCall,
    kBroken,  // what looked like a call and is none: part of the text; `problem` says what is wrong
  };
  Kind kind;
  std::string bytes;  // of the answer: those of all events, one after the other, are the answer
  ToolCall call = {};
  std::string problem = {};
};

// Takes an answer apart as it comes. What comes out depends on the bytes alone, not on how they are cut into pushes.
// A mark is never shown in part: what could become one is held back (white space before a mark too, 16 bytes at most).
// Linear time; holds no more than the mark or call at hand (8 MiB at most). Not thread-safe.
class AnswerParser {
 public:
  // `prompt_end`: what the template wrote into the prompt after the last message, e.g.
  // "<|im_start|>assistant\n<think>": an answer may begin inside its thinking. `tools`: JSON array as in the request,
  // or empty; says which arguments are strings where the format does not. With `calls` false, calls stay text.
  struct Options {
    std::string prompt_end = {};
    std::string tools = {};
    bool calls = true;
  };
  explicit AnswerParser(AnswerFormat format);
  AnswerParser(AnswerFormat format, Options options);  // Throws Error{kInvalidArgument}: tools are no JSON array
  AnswerParser(AnswerParser&&) noexcept;
  AnswerParser& operator=(AnswerParser&&) noexcept;
  ~AnswerParser();

  std::vector<AnswerEvent> push(std::string_view bytes);
  std::vector<AnswerEvent> finish();  // the end of the answer; nothing may be pushed after it
  bool thinking() const noexcept;     // what comes next is thinking

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The events of an answer, added up.
struct ParsedAnswer {
  std::string thinking, text;
  std::vector<ToolCall> calls;
  std::vector<std::string> problems;

  void add(const AnswerEvent& event);
};
ParsedAnswer parse_answer(const AnswerFormat& format, std::string_view answer, AnswerParser::Options options = {});

}  // namespace ingle
