// Finds out how the model of a chat template writes its answers.
#pragma once

#include <boost/json/object.hpp>
#include <span>
#include <string>
#include <string_view>

#include "ingle/answer.h"
#include "text/chat_template.h"

namespace ingle {

// Small conversations are rendered, and words that only they hold are looked for: what stands around them are the
// marks. `source`: the template's text, read for marks that no conversation shows. `special_tokens`: variables like
// bos_token. `vocabulary`: texts of the model's control tokens; some templates leave it to the model to know its marks.
// Never throws for what a template does: what it does not show is not found.
AnswerFormat find_answer_format(const ChatTemplate& parsed, std::string_view source,
                                const boost::json::object& special_tokens = {},
                                std::span<const std::string> vocabulary = {});

ThinkingSwitch find_thinking_switch(const ChatTemplate& parsed, const boost::json::object& special_tokens = {});

}  // namespace ingle
