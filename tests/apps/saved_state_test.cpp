// `ingle run --save-state` and `--load-state`: a run that goes on where another stopped.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <filesystem>
#include <fstream>

#include "apps/ingle/chat/kept_text.h"
#include "apps/ingle/exit_code.h"
#include "tests/apps/command_run.h"
#include "tests/models/scripted_model.h"

namespace ingle::app {
namespace {

using testing::HasSubstr;

class SavedState : public testing::Test {
 protected:
  SavedState() { test::write_scripted_model(path("model"), test::thinking_script()); }
  ~SavedState() override {
    for (const char* name : {"model", "state", "second"}) std::filesystem::remove(path(name));
  }
  static std::string path(const std::string& name) {
    return testing::TempDir() + testing::UnitTest::GetInstance()->current_test_info()->name() + "_" + name;
  }
  // What it prints, or the error.
  static std::string run(std::vector<std::string> words) {
    words.insert(words.begin(), {path("model"), "--temp", "0", "-t", "1"});
    const test::CommandRun made = test::run_command("run", words);
    return made.out + made.error;
  }
  static boost::json::object tokens_of(const std::string& json) {
    return boost::json::parse(json).at("tokens").as_object();
  }
};

TEST_F(SavedState, ARawTextGoesOnWhereItStopped) {
  const std::string whole = run({"--raw", "-p", "Say:\n", "-n", "7", "--special"});
  const std::string first = run({"--raw", "-p", "Say:\n", "-n", "3", "--special", "--save-state", path("state")});
  const std::string second = run({"--raw", "-p", "", "-n", "4", "--special", "--load-state", path("state")});
  EXPECT_EQ(first.substr(0, first.size() - 1) + second, whole);  // each ends its last line
}

TEST_F(SavedState, ARawTextGoesOnWithMoreText) {
  run({"--raw", "-p", "Say:\n", "-n", "2", "--save-state", path("state")});
  const boost::json::object tokens =
      tokens_of(run({"--raw", "-p", "\n", "-n", "1", "--json", "--load-state", path("state")}));
  EXPECT_EQ(tokens.at("prompt"), 5 + 2 + 1);
  EXPECT_EQ(tokens.at("reused"), 5 + 1);  // the last sampled token was not read before
}

TEST_F(SavedState, AConversationGoesOn) {
  EXPECT_EQ(run({"-p", "Hi", "--system", "Be brief.", "--save-state", path("state")}), "Four, it is.\n");
  const std::string json = run({"-p", "And?", "--json", "--load-state", path("state"), "--save-state", path("second")});
  const boost::json::object tokens = tokens_of(json);
  EXPECT_GT(tokens.at("reused").as_int64(), 40);
  EXPECT_EQ(boost::json::parse(json).at("text"), "Four, it is.");
  const std::string third = run({"-p", "So?", "--json", "--load-state", path("second")});
  EXPECT_GT(tokens_of(third).at("reused").as_int64(), tokens.at("prompt").as_int64());
}

TEST_F(SavedState, WhatDoesNotGoTogetherIsRefused) {
  run({"-p", "Hi", "--save-state", path("state")});
  run({"--raw", "-p", "Hi", "-n", "2", "--save-state", path("second")});
  EXPECT_THAT(run({"--raw", "-p", "x", "--load-state", path("state")}), HasSubstr("leave --raw out"));
  EXPECT_THAT(run({"-p", "x", "--load-state", path("second")}), HasSubstr("add --raw"));
  EXPECT_THAT(run({"-p", "x", "--load-state", path("state"), "--system", "y"}), HasSubstr("brings its own"));
  EXPECT_THAT(run({"-p", "x", "--load-state", path("absent")}), HasSubstr("absent"));
  EXPECT_THAT(run({"-p", "x", "--load-state", path("state"), "--cache-type-k", "q8_0"}), HasSubstr("here it is q8_0"));
}

TEST(KeptText, IsTheSameAfterWritingAndReading) {
  const KeptText raw = parse_kept_text(to_text(KeptText{.conversation = std::nullopt, .unread = {0, 7}}), "state");
  EXPECT_FALSE(raw.conversation);
  EXPECT_EQ(raw.unread, (std::vector<TokenId>{0, 7}));
  const KeptText said = parse_kept_text(to_text(KeptText{Conversation{"s", {{"user", "u"}}}}), "state");
  ASSERT_TRUE(said.conversation);
  EXPECT_EQ(said.conversation->system, "s");
}

TEST(KeptText, WhatIsNotOneIsNamed) {
  const auto error_of = [](std::string_view text) {
    try {
      parse_kept_text(text, "f.state");
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("none");
  };
  EXPECT_THAT(error_of("x"), HasSubstr("f.state: not JSON"));
  EXPECT_THAT(error_of("{}"), HasSubstr("f.state: not a saved conversation"));
  EXPECT_THAT(error_of(R"({"format": "ingle-raw-text", "version": 2})"), HasSubstr("another version than 1"));
  EXPECT_THAT(error_of(R"({"format": "ingle-raw-text", "version": 1})"), HasSubstr("no \"unread\""));
  EXPECT_THAT(error_of(R"({"format": "ingle-raw-text", "version": 1, "unread": [-1]})"),
              HasSubstr("has -1 for a token"));
}

}  // namespace
}  // namespace ingle::app
