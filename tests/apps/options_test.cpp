// The option table and the parser that reads it.
#include "apps/ingle/options.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <set>

#include "apps/ingle/commands.h"
#include "apps/ingle/option_table.h"
#include "apps/ingle/setup.h"

namespace ingle::app {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const Syntax& run_syntax() { return find_command("run")->syntax; }

const char* no_environment(const char*) { return nullptr; }

Arguments parse_run(std::vector<std::string> words) { return parse(run_syntax(), words, no_environment); }

std::string complaint(const Syntax& syntax, std::vector<std::string> words,
                      const std::function<const char*(const char*)>& environment = no_environment) {
  try {
    parse(syntax, words, environment);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    return error.what();
  }
  return "(none)";
}

std::string complaint(std::vector<std::string> words) { return complaint(run_syntax(), std::move(words)); }

TEST(Options, LongAndShortNamesAndEqualsSignsMeanTheSame) {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"--ctx-size", "512"}, {"--ctx-size=512"}, {"-c", "512"}, {"-c=512"}, {"-c512"}})
    EXPECT_EQ(parse_run(words).integer("ctx-size"), 512) << words[0];
}

TEST(Options, ShortNamesMayHaveSeveralLetters) {
  const Arguments arguments = parse_run({"-ub", "64", "-ctk", "q8_0", "-ctv=f32"});
  EXPECT_EQ(arguments.integer("ubatch-size"), 64);
  EXPECT_EQ(arguments.text("cache-type-k"), "q8_0");
  EXPECT_EQ(arguments.text("cache-type-v"), "f32");
}

TEST(Options, NegativeNumbersAreValuesAndArguments) {
  EXPECT_EQ(parse_run({"-n", "-1"}).integer("predict"), -1);
  EXPECT_EQ(parse_run({"--presence-penalty", "-1.5"}).real("presence-penalty"), -1.5);
  EXPECT_EQ(parse_run({"-5"}).positional(0), "-5");
}

TEST(Options, WhatIsNotGivenTakesItsDefault) {
  const Arguments arguments = parse_run({});
  EXPECT_EQ(arguments.integer("top-k"), 40);
  EXPECT_FALSE(arguments.given("top-k"));
  EXPECT_TRUE(arguments.has("top-k"));
  EXPECT_FALSE(arguments.has("seed"));
  EXPECT_FALSE(arguments.flag("json"));
  EXPECT_EQ(arguments.text("prompt"), "");
}

TEST(Options, TheLastOfAnOptionCountsAndRepeatableOnesCollect) {
  EXPECT_EQ(parse_run({"--temp", "1", "--temp", "0"}).real("temp"), 0);
  EXPECT_THAT(parse_run({"--stop", "a", "--stop", "b"}).texts("stop"), ElementsAre("a", "b"));
}

TEST(Options, ListsOfIntegersCollectFromAllOccurrences) {
  const Arguments arguments =
      parse(find_command("bench")->syntax, std::vector<std::string>{"-p", "128,512", "-p", "1024"}, no_environment);
  EXPECT_THAT(arguments.integers("n-prompt"), ElementsAre(128, 512, 1024));
  EXPECT_THAT(arguments.integers("n-gen"), ElementsAre(128));
}

TEST(Options, AfterTwoDashesEverythingIsAnArgument) { EXPECT_EQ(parse_run({"--", "--json"}).positional(0), "--json"); }

TEST(Options, HelpWinsOverWhateverElseIsWrong) { EXPECT_TRUE(parse_run({"--nonsense", "-h"}).flag("help")); }

TEST(Options, AnUnknownOptionNamesTheNearest) {
  EXPECT_THAT(complaint({"--ctxsize", "5"}), HasSubstr("--ctxsize: no such option; did you mean --ctx-size?"));
  EXPECT_THAT(complaint({"--tempp"}), HasSubstr("did you mean --temp?"));
  EXPECT_THAT(complaint({"--predic=3"}), HasSubstr("did you mean --predict?"));
  EXPECT_THAT(complaint({"--zzzzzzzzzzzz"}), HasSubstr("--zzzzzzzzzzzz: no such option (see: ingle run --help)"));
}

TEST(Options, AnIllTypedValueNamesOptionValueAndRange) {
  EXPECT_EQ(complaint({"--top-p", "high"}), "--top-p: 'high' is not a number; it takes a number from 0 to 1");
  EXPECT_EQ(complaint({"-t", "2x"}), "-t: '2x' is not an integer; it takes an integer from 1 to 512");
  EXPECT_EQ(complaint({"-ctk", "q9"}), "-ctk: 'q9' is not known; it takes one of f32, f16, i16, q8_0, q4_0");
  EXPECT_EQ(complaint({"-t", ""}), "-t: '' is not an integer; it takes an integer from 1 to 512");
}

TEST(Options, AValueOutOfRangeNamesTheRange) {
  EXPECT_EQ(complaint({"--top-p", "1.5"}), "--top-p: '1.5' is out of range; it takes a number from 0 to 1");
  EXPECT_EQ(complaint({"-t", "0"}), "-t: '0' is out of range; it takes an integer from 1 to 512");
  EXPECT_THAT(complaint({"--temp", "nan"}), HasSubstr("is not a number"));
  EXPECT_THAT(complaint({"--temp", "inf"}), HasSubstr("is out of range"));
  EXPECT_THAT(complaint({"-c", "99999999999999999999"}), HasSubstr("is not an integer"));
}

// What a model reads, and what is compared with what it writes, is UTF-8; names of files are any bytes.
TEST(Options, ATextOfAnyCommandIsUtf8) {
  int texts = 0;
  for (const Command& command : commands())
    for (const OptionGroup* group : command.syntax.groups)
      for (const Option& option : group->options) {
        if (option.kind != ValueKind::kText) continue;
        ++texts;
        const std::string typed = fmt::format("--{}", option.name);
        EXPECT_EQ(complaint(command.syntax, {typed, "a\xff"}),
                  typed + ": not UTF-8: byte 0xff at offset 1; convert it first, e.g. with iconv")
            << command.syntax.name;
      }
  EXPECT_GT(texts, 20);
  for (const char* file : {"--file", "--lora", "--lora-scaled"})
    EXPECT_EQ(complaint({file, "a\xff:1"}), "(none)") << file;
  Arguments arguments = parse_run({});
  EXPECT_THROW(arguments.set("stop", "\xff"), Error);  // /set in a chat
}

TEST(Options, AMissingValueSaysSoInsteadOfTakingTheNextOption) {
  EXPECT_EQ(complaint({"-c"}), "-c: needs a value: an integer from 0 to 16777216");
  EXPECT_EQ(complaint({"-p", "--json"}), "-p: needs a value: text (if '--json' is meant, write -p=--json)");
  EXPECT_EQ(parse_run({"-p=--json"}).text("prompt"), "--json");
  EXPECT_EQ(parse_run({"-p", "-- a list"}).text("prompt"), "-- a list");
}

TEST(Options, AFlagTakesNoValue) { EXPECT_THAT(complaint({"--json=yes"}), HasSubstr("--json: takes no value")); }

TEST(Options, ASurplusOrMissingArgumentIsNamed) {
  EXPECT_THAT(complaint({"a.gguf", "b.gguf"}), HasSubstr("'b.gguf': one argument too many"));
  EXPECT_THAT(complaint(find_command("completion")->syntax, {}), HasSubstr("SHELL is missing"));
  EXPECT_THAT(complaint(find_command("completion")->syntax, {"tcsh"}), HasSubstr("it takes one of bash, zsh, fish"));
}

TEST(Options, TheEnvironmentGivesWhatTheCommandLineDoesNot) {
  const auto two_threads = [](const char* name) -> const char* {
    return std::string_view(name) == "INGLE_THREADS" ? "2" : nullptr;
  };
  EXPECT_EQ(parse(run_syntax(), {}, two_threads).integer("threads"), 2);
  EXPECT_EQ(parse(run_syntax(), std::vector<std::string>{"-t", "1"}, two_threads).integer("threads"), 1);
  EXPECT_FALSE(parse(run_syntax(), {}, two_threads).typed("threads"));
}

TEST(Options, AWrongEnvironmentVariableIsNamed) {
  EXPECT_THAT(complaint(run_syntax(), {}, [](const char*) { return "many"; }),
              HasSubstr("environment variable INGLE_THREADS"));
}

TEST(OptionTable, NamesAreUniqueWithinEachCommand) {
  for (const Command& command : commands()) {
    std::set<std::string_view> names;
    for (const OptionGroup* group : command.syntax.groups)
      for (const Option& option : group->options) {
        EXPECT_TRUE(names.insert(option.name).second) << command.syntax.name << " --" << option.name;
        if (!option.short_name.empty()) {
          EXPECT_TRUE(names.insert(option.short_name).second) << command.syntax.name << " -" << option.short_name;
        }
      }
  }
}

TEST(OptionTable, EveryDefaultIsAValueThatTheOptionTakes) {
  for (const Command& command : commands())
    for (const OptionGroup* group : command.syntax.groups)
      for (const Option& option : group->options) {
        if (!option.fallback.empty()) {
          EXPECT_NO_THROW(check_value(option, option.name, option.fallback)) << option.name;
        }
        EXPECT_EQ(option.value_name.empty(), option.kind == ValueKind::kFlag) << option.name;
        EXPECT_FALSE(option.help.empty() || option.help.ends_with('.')) << option.name;
      }
}

// What is above an option's range is what the library refuses: then the error is about the option, by its name.
TEST(OptionTable, RangesAreTheLibrarysRanges) {
  const auto refusal = [](auto function) -> std::string {
    try {
      function();
    } catch (const Error& error) {
      return error.what();
    }
    return "(none)";
  };
  const auto most = [](const char* option) { return static_cast<int64_t>(run_syntax().find(option)->most); };
  const int64_t threads = most("threads"), batch = most("batch-size"), micro_batch = most("ubatch-size");
  EXPECT_THAT(refusal([&] { Engine({.threads = static_cast<int>(threads + 1)}); }),
              HasSubstr(fmt::format("{} is outside 1..{} ", threads + 1, threads)));
  Engine engine({.threads = 1});
  const auto plan = [&](const SessionOptions& options) {
    return refusal([&] { plan_memory(engine, INGLE_SOURCE_DIR "/tests/models/golden/llama_tied.gguf", options); });
  };
  EXPECT_THAT(plan({.batch = batch + 1}), HasSubstr(fmt::format("{} is not from 1 to {}", batch + 1, batch)));
  EXPECT_THAT(plan({.micro_batch = micro_batch + 1}),
              HasSubstr(fmt::format("{} is not from 1 to {}", micro_batch + 1, micro_batch)));
  for (const char* option : {"threads", "batch-size", "ubatch-size"})
    EXPECT_EQ(find_command("bench")->syntax.find(option)->most, run_syntax().find(option)->most) << option;
}

// What help says and what the library does when nothing is given must not drift apart.
TEST(OptionTable, SamplingDefaultsAreTheLibrarysDefaults) {
  const boost::json::object library = to_json(SamplerOptions{});
  int compared = 0;
  for (const Option& option : kSamplingOptions.options) {
    std::string key(option.name);
    std::ranges::replace(key, '-', '_');
    const boost::json::value* value = library.if_contains(key);
    if (!value || option.fallback.empty()) continue;
    ++compared;
    if (value->is_array()) {
      std::string joined;
      for (const auto& part : value->get_array()) {
        if (!joined.empty()) joined += ';';
        joined += part.get_string();
      }
      EXPECT_EQ(joined, option.fallback) << option.name;
    } else {
      EXPECT_DOUBLE_EQ(value->to_number<double>(), std::stod(std::string(option.fallback))) << option.name;
    }
  }
  EXPECT_EQ(compared, 20);
}

TEST(Nearest, FindsSmallSlipsAndBeginnings) {
  const std::vector<std::string_view> names = {"ctx-size", "temp", "top-k", "top-p", "repeat-penalty"};
  EXPECT_EQ(nearest("tmep", names), "temp");
  EXPECT_EQ(nearest("topk", names), "top-k");
  EXPECT_EQ(nearest("repeat", names), "repeat-penalty");
  EXPECT_EQ(nearest("quite-something-else", names), "");
}

}  // namespace
}  // namespace ingle::app
