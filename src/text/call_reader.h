// Reads one call (or one list of calls) of a tool from an answer that is still being written.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ingle/answer.h"
#include "text/answer_marks.h"
#include "text/call_values.h"

namespace ingle {

// function -> argument -> the type that its schema names; of several types, "string" if it is among them.
using ArgumentTypes = std::map<std::string, std::map<std::string, std::string>>;
ArgumentTypes argument_types(std::string_view tools);  // throws Error{kInvalidArgument}

bool is_name(std::string_view text);  // that a tool can have

class CallReader {
 public:
  enum class Status { kMore, kDone, kBroken };
  enum class Start {
    kFrame,   // behind a frame: a call has to follow
    kCall,    // behind the mark of a call
    kBare,    // on the first brace
    kHeader,  // behind a header that named the tool: arguments follow
  };

  // Both must outlive this.
  CallReader(const AnswerFormat& format, const ArgumentTypes& types) : format_(format), types_(types) {}

  // A call begins; `length` bytes of its region are read.
  void begin(Start start, size_t length, std::string name = {}, std::string id = {});
  // `region` is what the call's bytes and what follows are so far, the same as before and perhaps longer; `last`: it
  // will not grow. kDone: calls() are those of the first length() bytes. kBroken: problem(); the first length() bytes
  // are none.
  Status advance(std::string_view region, bool last);

  size_t length() const { return at_; }
  size_t start() const { return start_length_; }  // behind the mark that began it
  const std::string& problem() const { return problem_; }
  const std::string& name() const { return name_; }  // once it is known
  bool begun() const { return phase_ > Phase::kFrame; }
  std::vector<ToolCall> take_calls() { return std::move(calls_); }

 private:
  enum class Phase { kFrame, kName, kId, kBody, kTail, kArguments, kKey, kAttribute, kValue, kElements };
  enum class Step { kGo, kMore, kDone, kBroken };

  Step frame(std::string_view region);
  Step name(std::string_view region);
  Step id(std::string_view region);
  Step body(std::string_view region);
  Step tail(std::string_view region, bool last);
  Step arguments(std::string_view region);
  Step key(std::string_view region);
  Step attribute(std::string_view region);
  Step value(std::string_view region);
  Step elements(std::string_view region);
  Step broken(std::string problem);
  Step name_ends(std::string_view region, size_t end, size_t next, Phase phase);
  std::string ending() const;  // what is missing where the answer ends

  bool skip_space(std::string_view region);  // false: there is nothing else yet
  bool read_calls(std::string_view region);  // once all is there
  void read_json(ValueReader& reader, int depth);
  void read_json_object(ValueReader& reader, int depth);
  std::string typed(std::string_view key, std::string_view text, bool marked, bool is_string) const;
  std::string read_elements(std::string_view text, size_t& at, std::string_view path, int depth) const;
  void add_argument(const std::string& key, const std::string& json);

  const AnswerFormat& format_;
  const ArgumentTypes& types_;
  Phase phase_ = Phase::kName;
  Start start_ = Start::kCall;
  size_t start_length_ = 0;
  size_t at_ = 0;    // read so far
  size_t from_ = 0;  // where the name, key, value or body at hand begins
  size_t body_ = 0, body_end_ = 0;
  // Of a body: brackets open, the quote of the string at hand.
  std::string open_;
  char in_string_ = '\0';
  bool escaped_ = false, body_begun_ = false;
  bool string_marked_ = false, is_string_ = false;
  std::string name_, id_, key_, arguments_, problem_;
  std::vector<ToolCall> calls_;
};

}  // namespace ingle
