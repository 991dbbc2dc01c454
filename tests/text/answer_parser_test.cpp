// Transcripts as models write them, whole, cut at every byte and ended at every byte.
#include <gtest/gtest.h>

#include <random>

#include "ingle/error.h"
#include "tests/text/answer_events.h"
#include "tests/text/known_answer_formats.h"

namespace ingle {
namespace {

using Kind = AnswerEvent::Kind;

using namespace test::formats;

// "thinking | text | name arguments id, ... | problems"
std::string summary(const ParsedAnswer& parsed) {
  std::string calls, problems;
  for (const ToolCall& call : parsed.calls)
    calls += fmt::format("{}{} {}{}", calls.empty() ? "" : ", ", call.name, call.arguments,
                         call.id.empty() ? "" : " " + call.id);
  for (const std::string& problem : parsed.problems) problems += (problems.empty() ? "" : "; ") + problem;
  return fmt::format("{} | {} | {} | {}", parsed.thinking, parsed.text, calls, problems);
}

std::string read(const AnswerFormat& format, std::string_view answer, std::string prompt_end = "",
                 std::string tools = "", bool calls = true) {
  const AnswerParser::Options options{.prompt_end = std::move(prompt_end), .tools = std::move(tools), .calls = calls};
  const std::vector<AnswerEvent> whole = test::events_of(format, answer, options);
  EXPECT_EQ(test::bytes_of(whole), answer);
  for (size_t step = 1; step < std::min<size_t>(answer.size(), 40); ++step)
    EXPECT_EQ(test::events_of(format, answer, options, step), whole) << "in pieces of " << step;
  for (size_t first = 0; first < answer.size(); ++first) {  // cut once, anywhere
    AnswerParser parser(format, options);
    ParsedAnswer once, twice;
    for (const AnswerEvent& event : parser.push(answer.substr(0, first))) twice.add(event);
    for (const AnswerEvent& event : parser.push(answer.substr(first))) twice.add(event);
    for (const AnswerEvent& event : parser.finish()) twice.add(event);
    for (const AnswerEvent& event : whole) once.add(event);
    EXPECT_EQ(summary(once), summary(twice)) << "cut at " << first;
  }
  for (size_t end = 0; end < answer.size(); ++end)  // ended anywhere
    EXPECT_EQ(test::bytes_of(test::events_of(format, answer.substr(0, end), options, 3)), answer.substr(0, end));
  return summary(parse_answer(format, answer, options));
}

TEST(AnswerParser, ThinkingAndTextComeApartWithoutTheSpaceAroundMarks) {
  EXPECT_EQ(read(qwen(), "<think>\nTwo and two.\n\nFour?\n</think>\n\n  Four.\n"),
            "Two and two.\n\nFour? | Four.\n |  | ");
  EXPECT_EQ(read(qwen(), "\n<think></think>Four."), " | Four. |  | ");
  EXPECT_EQ(read(qwen(), "Four <is> 4 </thin\n"), " | Four <is> 4 </thin\n |  | ");
}

TEST(AnswerParser, ThePromptMayHaveBegunTheThinkingOrEndedIt) {
  EXPECT_EQ(read(qwen(), "Hm.\n</think>\n\nFour.", "<|im_start|>assistant\n<think>\n"), "Hm. | Four. |  | ");
  EXPECT_EQ(read(qwen(), "<think>\nHm.</think>Four.", "<|im_start|>assistant\n<think>\n"), "Hm. | Four. |  | ");
  EXPECT_EQ(read(qwen(), "Four.", "<|im_start|>assistant\n<think>\n\n</think>\n\n"), " | Four. |  | ");
  EXPECT_EQ(read(qwen(), "Hm, and then", "<think>\n"), "Hm, and then |  |  | ");
}

TEST(AnswerParser, AMarkOfThinkingInsideThinkingIsThinking) {
  EXPECT_EQ(read(qwen(), "<think>The tag <think> opens.</think>Yes."), "The tag <think> opens. | Yes. |  | ");
}

TEST(AnswerParser, AStrayEndOfThinkingIsNoText) {
  EXPECT_EQ(read(gemma(), "Four.<channel|>"), " | Four. |  | ");
  EXPECT_EQ(read(gemma(), "<|channel>thought\n<channel|><|channel>thought\nHm.<channel|>Four."), "Hm. | Four. |  | ");
}

TEST(AnswerParser, CallsInJsonBetweenTags) {
  EXPECT_EQ(
      read(qwen(),
           "Let me see.\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": [1, 2.50, \"x\\n\"]}}\n</tool_call>\n"
           "<tool_call>\n{\"name\":\"g\",\"arguments\":{}}\n</tool_call>"),
      " | Let me see. | f {\"a\": [1, 2.50, \"x\\n\"]}, g {} | ");
  EXPECT_EQ(
      read(qwen(),
           "<tool_call>[{\"arguments\": {}, \"name\": \"f\", \"id\": \"7\"}, {\"name\": \"g\"}]</tool_call>Done."),
      " | Done. | f {} 7, g {} | ");
  EXPECT_EQ(
      read(qwen(), "<tool_call>{\"name\": \"f\", \"arguments\": \"{\\\"a\\\": 1}\"}\n{\"name\": \"g\"}</tool_call>"),
      " |  | f {\"a\": 1}, g {} | ");
  EXPECT_EQ(
      read(qwen(),
           "<tool_call>{\"type\": \"function\", \"function\": {\"name\": \"f\", \"parameters\": null}}</tool_call>"),
      " |  | f {} | ");
}

TEST(AnswerParser, AMarkInsideAStringOfACallIsPartOfTheString) {
  EXPECT_EQ(
      read(qwen(),
           "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": \"</tool_call> <tool_call> \\\" }\"}}</tool_call>"),
      " |  | f {\"a\": \"</tool_call> <tool_call> \\\" }\"} | ");
}

TEST(AnswerParser, ANewlineInAStringOfACallIsEscaped) {
  EXPECT_EQ(read(qwen(), "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": \"x\n\ty\"}}</tool_call>"),
            " |  | f {\"a\": \"x\\n\\ty\"} | ");
}

TEST(AnswerParser, TheLastMarkOfACallMayBeMissing) {
  EXPECT_EQ(read(qwen(), "<tool_call>{\"name\": \"f\", \"arguments\": {}}"), " |  | f {} | ");
  EXPECT_EQ(read(qwen(), "<tool_call>{\"name\": \"f\"}\nAnd so on."), " | And so on. | f {} | ");
}

TEST(AnswerParser, ABrokenCallStaysTextAndIsReported) {
  EXPECT_EQ(read(qwen(), "<tool_call>\noops</tool_call> so"),
            " | <tool_call>\noops</tool_call> so |  | no arguments where they should begin");
  EXPECT_EQ(read(qwen(), "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": tru}}</tool_call>x"),
            " | <tool_call>{\"name\": \"f\", \"arguments\": {\"a\": tru}}</tool_call>x |  | "
            "'tru' is no value at byte 33 of 38");
  EXPECT_EQ(read(qwen(), "<tool_call>{\"arguments\": {}}</tool_call>"),
            " | <tool_call>{\"arguments\": {}}</tool_call> |  | a call without a name");
  EXPECT_EQ(
      read(qwen(), "<tool_call>{\"name\": \"f\", \"arguments\": 3}</tool_call>"),
      " | <tool_call>{\"name\": \"f\", \"arguments\": 3}</tool_call> |  | call of f: the arguments are no object");
  EXPECT_EQ(read(coder(), "<tool_call>\n<function=f>\noops\n</function>\n</tool_call>"),
            " | <tool_call>\n<function=f>\noops\n</function>\n</tool_call> |  | "
            "call of f: neither an argument nor the end of the call");
}

TEST(AnswerParser, ACallThatTheAnswerEndsInStaysText) {
  EXPECT_EQ(read(qwen(), "So: <tool_call>{\"name\": \"f\", \"arg"),
            " | So: <tool_call>{\"name\": \"f\", \"arg |  | the answer ends inside a string of the arguments");
  EXPECT_EQ(read(coder(), "<tool_call>\n<function=f>\n<parameter=a>\n1"),
            " | <tool_call>\n<function=f>\n<parameter=a>\n1 |  | call of f: the answer ends inside the argument a");
  EXPECT_EQ(read(coder(), "<tool_call>\n<funct"),
            " | <tool_call>\n<funct |  | the answer ends where a call should begin");
}

TEST(AnswerParser, ACallBehindABrokenOneIsRead) {
  // The string that nothing closes takes in the second call.
  EXPECT_EQ(read(qwen(), "<tool_call>{\"name\": \"f}</tool_call>\n<tool_call>{\"name\": \"g\"}</tool_call>"),
            " | <tool_call>{\"name\": \"f}</tool_call> | g {} | the answer ends inside a string of the arguments");
  EXPECT_EQ(read(qwen(), "<tool_call>{\"name\": \"f\n<tool_call>{\"name\": \"g\"}</tool_call>"),
            " | <tool_call>{\"name\": \"f\n | g {} | the answer ends inside a string of the arguments");
}

TEST(AnswerParser, CallsInTagsKeepTextsAsTheyAre) {
  EXPECT_EQ(read(coder(),
                 "Let me.\n\n<tool_call>\n<function=f>\n<parameter=a>\n1\n</parameter>\n<parameter=b>\n\n <b>\"x\"\n\n"
                 "</parameter>\n<parameter=c>True</parameter></function>\n</tool_call>\n<tool_call>\n<function=g>\n"
                 "</function>\n</tool_call>"),
            " | Let me. | f {\"a\": 1, \"b\": \"\\n <b>\\\"x\\\"\\n\", \"c\": true}, g {} | ");
  EXPECT_EQ(read(coder(), "<function=f><parameter=a>1</parameter></function></tool_call>x"), " | x | f {\"a\": 1} | ");
}

TEST(AnswerParser, TheSchemaSaysWhatIsAText) {
  const std::string tools = R"([{"type": "function", "function": {"name": "f", "parameters": {"properties": {
      "a": {"type": "string"}, "b": {"type": ["null", "string"]}, "c": {"type": "integer"}}}}}])";
  EXPECT_EQ(
      read(coder(),
           "<function=f><parameter=a>1</parameter><parameter=b>2</parameter><parameter=c>3</parameter></function>", "",
           tools),
      " |  | f {\"a\": \"1\", \"b\": \"2\", \"c\": 3} | ");
  EXPECT_THROW(AnswerParser(coder(), {.prompt_end = {}, .tools = "{", .calls = true}), Error);
}

TEST(AnswerParser, CallsBetweenBracesAndQuoteTokens) {
  EXPECT_EQ(read(gemma(),
                 "<|channel>thought\nHm.\n<channel|><|tool_call>call:f{a:<|\"|>x \"y\" "
                 "{<|\"|>,b:[1,null,{c:true}],d:None}<tool_call|>"
                 "<|tool_call>call:g{}<tool_call|>"),
            "Hm. |  | f {\"a\": \"x \\\"y\\\" {\", \"b\": [1, null, {\"c\": true}], \"d\": null}, g {} | ");
}

TEST(AnswerParser, CallsThatNameTheToolFirst) {
  EXPECT_EQ(read(mistral(), "Ok.[TOOL_CALLS]f[CALL_ID]abc[ARGS]{\"a\": 1}[TOOL_CALLS]g[ARGS]{}"),
            " | Ok. | f {\"a\": 1} abc, g {} | ");
  EXPECT_EQ(read(mistral(), "[TOOL_CALLS] no name [ARGS]{}"),
            " | [TOOL_CALLS] no name [ARGS]{} |  | no name of a tool");
}

TEST(AnswerParser, ACounterBehindTheNameIsPartOfTheId) {
  EXPECT_EQ(read(kimi(),
                 "<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{\"a\": 1}"
                 "<|tool_call_end|><|tool_calls_section_end|>"),
            " |  | f {\"a\": 1} functions.f:0 | ");
}

TEST(AnswerParser, AnAttributeMaySayWhatIsAText) {
  EXPECT_EQ(read(dsml(),
                 "Ok.\n\n<calls>\n<invoke name=\"f\">\n<parameter name=\"a\" string=\"true\">1</parameter>\n"
                 "<parameter name=\"b\" string=\"false\">[1, \"x\"]</parameter>\n</invoke>\n</calls>"),
            " | Ok. | f {\"a\": \"1\", \"b\": [1, \"x\"]} | ");
}

TEST(AnswerParser, WhiteSpaceBetweenMarksIsFree) {
  EXPECT_EQ(read(glm(), "<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>x y</arg_value>\n</tool_call>"),
            " |  | f {\"a\": \"x y\"} | ");
  EXPECT_EQ(read(glm(), "<tool_call>f</tool_call>"), " |  | f {} | ");
}

TEST(AnswerParser, ElementsMayHoldElements) {
  EXPECT_EQ(read(elements(),
                 "]<]<invoke name=\"f\">]<]<a>x < y]<]</a>]<]<l>]<]<item>1]<]</item>]<]<item>b]<]</item>]<]</l>"
                 "]<]<o>]<]<k>v]<]</k>]<]</o>]<]</invoke>"),
            " |  | f {\"a\": \"x < y\", \"l\": [1, \"b\"], \"o\": {\"k\": \"v\"}} | ");
}

TEST(AnswerParser, MarksAroundTheTextSayNothing) {
  EXPECT_EQ(read(cohere(), "Hm.<|END_THINKING|><|START_TEXT|>Four.<|END_TEXT|>", "<|START_THINKING|>"),
            "Hm. | Four. |  | ");
}

TEST(AnswerParser, CallsInPython) {
  EXPECT_EQ(
      read(python(), "<|tool_call_start|>[f(a='it\\'s', b=[1, (2,)], c={'d': None}), x.g()]<|tool_call_end|>Done."),
      " | Done. | f {\"a\": \"it's\", \"b\": [1, [2]], \"c\": {\"d\": null}}, x.g {} | ");
  EXPECT_EQ(read(python(), "<|tool_call_start|>[f(1)]<|tool_call_end|>"),
            " | <|tool_call_start|>[f(1)]<|tool_call_end|> |  | no '=' at byte 4 of 6");
}

TEST(AnswerParser, AnAnswerThatIsACallWithoutMarks) {
  EXPECT_EQ(read(llama(), "{\"name\": \"f\", \"parameters\": {\"a\": 1}}"), " |  | f {\"a\": 1} | ");
  EXPECT_EQ(read(llama(), "<|python_tag|>{\"name\": \"f\", \"parameters\": {}}"), " |  | f {} | ");
  EXPECT_EQ(read(llama(), "{\"name\": \"Bob\", \"age\": 3}"), " | {\"name\": \"Bob\", \"age\": 3} |  | ");
  EXPECT_EQ(read(llama(), "{\"age\": 3}"), " | {\"age\": 3} |  | ");
  EXPECT_EQ(read(llama(), "It is {\"name\": \"f\", \"parameters\": {}}"),
            " | It is {\"name\": \"f\", \"parameters\": {}} |  | ");
}

TEST(AnswerParser, MarksThatArePlainWordsMayAsWellBeText) {
  EXPECT_EQ(read(functionary(), "all\nUse the prompt:\n>>> print(1)\n1\n", "<|start|>assistant\n\n>>>"),
            " | Use the prompt:\n>>> print(1)\n1\n |  | ");
  EXPECT_EQ(read(functionary(), "f\n{\"a\": 1}>>>g\n{}", "<|start|>assistant\n\n>>>"), " |  | f {\"a\": 1}, g {} | ");
}

TEST(AnswerParser, MessagesWithHeaders) {
  EXPECT_EQ(read(harmony(),
                 "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Four.<|return|>",
                 "<|start|>assistant"),
            "Hm. | Four. |  | ");
  EXPECT_EQ(read(harmony(), "<|channel|>commentary to=functions.f <|constrain|>json<|message|>{\"a\": 1}<|call|>",
                 "<|start|>assistant"),
            " |  | f {\"a\": 1} | ");
  EXPECT_EQ(read(harmony(), " to=functions.f<|channel|>commentary json<|message|>{\"a\": 1", "<|start|>assistant"),
            " |  to=functions.f<|channel|>commentary json<|message|>{\"a\": 1 |  | call of f: the answer ends inside "
            "the arguments");
  EXPECT_EQ(read(harmony(), "Four,\nplainly.", "<|start|>assistant"), " | Four,\nplainly. |  | ");
}

TEST(AnswerParser, WithoutCallsTheyStayText) {
  const std::string call = "<tool_call>{\"name\": \"f\"}</tool_call>";
  EXPECT_EQ(read(qwen(), "<think>x</think>" + call, "", "", false), "x | " + call + " |  | ");
}

TEST(AnswerParser, AFormatOfTextOnlyHoldsNothingBack) {
  AnswerParser parser{AnswerFormat{}};
  EXPECT_EQ(parser.push("Hi \n")[0].bytes, "Hi \n");
  EXPECT_EQ(parser.push("<think>")[0].bytes, "<think>");
}

TEST(AnswerParser, NoPartOfAMarkIsShown) {
  AnswerParser parser(qwen());
  EXPECT_EQ(parser.push("So <thi")[0].bytes, "So");
  EXPECT_TRUE(parser.push("nk").empty());
  const auto events = parser.push(">yes");
  EXPECT_EQ(events.back().kind, Kind::kThinking);
  EXPECT_TRUE(parser.thinking());
}

TEST(AnswerParser, ACallIsAnnouncedWithItsNameWhereItStandsFirst) {
  AnswerParser parser(mistral());
  const auto events = parser.push("[TOOL_CALLS]get[ARGS]{");
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].kind, Kind::kCallBegun);
  EXPECT_EQ(events[0].call.name, "get");
}

TEST(AnswerParser, NestingAndBytesOutsideUtf8AreRefused) {
  EXPECT_NE(read(qwen(), "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": " + std::string(70, '[') +
                             std::string(70, ']') + "}}</tool_call>")
                .find("nested more than 64 deep"),
            std::string::npos);
  EXPECT_NE(read(qwen(), "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": \"\xFF\"}}</tool_call>").find("no UTF-8"),
            std::string::npos);
}

// Each byte is looked at a bounded number of times, whatever the answer.
TEST(AnswerParser, AMegabyteOfBeginningsTakesNoTime) {
  for (const char* piece : {"<tool_call>{\"", "<tool_call>", "<think>", "<tool_call>{\"a\":[", "\n \n ", "<"}) {
    std::string answer;
    while (answer.size() < 1'000'000) answer += piece;
    AnswerParser parser(qwen());
    size_t bytes = 0;
    const auto add = [&](const std::vector<AnswerEvent>& events) {
      for (const AnswerEvent& event : events) bytes += event.bytes.size();
    };
    for (size_t i = 0; i < answer.size(); i += 3) add(parser.push(std::string_view(answer).substr(i, 3)));
    add(parser.finish());
    EXPECT_EQ(bytes, answer.size()) << piece;
  }
}

// Pieces of marks and of calls in any order: nothing is lost, and cuts do not matter.
TEST(AnswerParser, RandomAnswersLoseNothing) {
  const std::vector<AnswerFormat> formats = all();
  std::mt19937 random(7);
  for (int round = 0; round < 3000; ++round) {
    const AnswerFormat& format = formats[random() % formats.size()];
    const std::vector<std::string> pieces = {format.thinking_begin,
                                             format.thinking_end,
                                             format.call_begin,
                                             format.call_end,
                                             format.name_end,
                                             format.id_end,
                                             format.key_begin,
                                             format.key_end,
                                             format.value_end,
                                             format.quote,
                                             "<|start|>",
                                             "<|channel|>analysis",
                                             "<|message|>",
                                             "<|end|>",
                                             "to=f",
                                             "<tool_call>",
                                             "</tool_call>",
                                             "{\"name\": \"f\", \"arguments\": {\"a\": 1}}",
                                             "{",
                                             "}",
                                             "[",
                                             "]",
                                             "\"",
                                             "a",
                                             "f",
                                             " ",
                                             "\n",
                                             ":",
                                             ",",
                                             "1",
                                             "'",
                                             "(",
                                             ")",
                                             "="};
    std::string answer;
    for (uint32_t n = random() % 20; n > 0; --n) answer += pieces[random() % pieces.size()];
    const AnswerParser::Options options{
        .prompt_end = round % 3 ? "" : "<|start|>assistant\n<think>\n", .tools = {}, .calls = true};
    const auto whole = test::events_of(format, answer, options);
    EXPECT_EQ(test::bytes_of(whole), answer);
    for (const size_t step : {1, 3, 10}) EXPECT_EQ(test::events_of(format, answer, options, step), whole) << answer;
  }
}

}  // namespace
}  // namespace ingle
