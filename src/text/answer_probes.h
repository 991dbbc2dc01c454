// Small conversations with words that stand in no template, and what templates make of them.
#pragma once

#include <boost/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/chat_template.h"

namespace ingle::probes {

constexpr std::string_view kUser = "user-words-here", kContent = "plain-words-here", kReason = "inner-words-here";
constexpr std::string_view kName1 = "probe_first", kName2 = "probe_second";
constexpr std::string_view kKey1 = "alpha_key", kKey2 = "beta_key";
constexpr std::string_view kValue1 = "value-one", kValue2 = "value-two", kValue3 = "value-three";
constexpr std::string_view kNumber = "1234567";

// How an assistant's message with calls is given: templates disagree on what they accept. Of two calls, the first has
// the arguments kKey1 (kValue1, or kNumber) and kKey2 (kValue2), the second kKey1 (kValue3).
struct Variant {
  bool with_content = false, text_arguments = false, counted_ids = true, two = true, reasoning = false, number = false;
};
boost::json::object assistant(const Variant& variant);
boost::json::object message(const char* role, boost::json::value content);
boost::json::string word(std::string_view text);

// Renders what follows the user's words.
class Prober {
 public:
  // `parsed` must outlive this.
  Prober(const ChatTemplate& parsed, boost::json::object special_tokens);

  // The user's question and what comes behind it. nullopt: the template refuses.
  std::optional<std::string> ask(const boost::json::object& extra) const;  // with a generation prompt
  std::optional<std::string> answer(boost::json::object message, const boost::json::object& extra = {}) const;

 private:
  std::optional<std::string> render(boost::json::array messages, bool prompt, const boost::json::object& extra) const;

  const ChatTemplate& parsed_;
  boost::json::object variables_;
};

// Where marks may be cut apart: behind a newline; before < or [ unless a word goes on there. No white space around.
std::vector<std::string> groups(std::string_view text);
std::string join(std::span<const std::string> groups);  // as one mark: any white space may stand between them
std::string mark(std::string_view text);                // the groups of a text, joined
size_t common_front(std::span<const std::string> a, std::span<const std::string> b);
size_t common_back(std::span<const std::string> a, std::span<const std::string> b);

// What stands around an answer that is nothing but text.
struct Turn {
  std::vector<std::vector<std::string>> prompts;  // what asks for an answer: thinking by default, on, off
  std::string before_text;
  std::vector<std::string> before, after;  // the text
  std::vector<std::string> header;         // what `before` and all prompts begin with

  explicit Turn(const Prober& prober);
  std::vector<std::string> without_header(std::string_view text) const;  // or as much of it as there is
};

}  // namespace ingle::probes
