// `--lora` and `--lora-scaled`: which adapters a command opens, and that they change what comes out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "tests/apps/command_run.h"

namespace ingle::app {
namespace {

using testing::HasSubstr;

const std::string kFolder = std::string(INGLE_SOURCE_DIR) + "/tests/models/";
const std::string kOne = kFolder + "lora/llama_wide.one.gguf", kTwo = kFolder + "lora/llama_wide.two.gguf";

// What it prints, or the error.
std::string run(const char* name, std::vector<std::string> words) {
  words.insert(words.begin(), {kFolder + "golden/llama_wide.gguf", "-p", "of the sea", "-t", "1", "--json"});
  const test::CommandRun made = test::run_command(name, words);
  return made.out + made.error;
}

TEST(AdapterOptions, AreInForceAndInTheReceipt) {
  const auto answer = [](std::vector<std::string> words) {
    words.insert(words.end(), {"--raw", "--temp", "0", "-n", "12", "--ignore-eos"});
    return boost::json::parse(run("run", words));
  };
  const boost::json::value plain = answer({}), one = answer({"--lora", kOne}),
                           both = answer({"--lora", kOne, "--lora-scaled", kTwo + ":-0.5"});
  EXPECT_NE(plain.at("text"), one.at("text"));
  EXPECT_NE(one.at("text"), both.at("text"));
  EXPECT_FALSE(plain.at("settings").as_object().contains("adapters"));
  const boost::json::array& listed = both.at("settings").at("adapters").as_array();
  ASSERT_EQ(listed.size(), 2u);
  EXPECT_EQ(listed[0].at("path").as_string(), kOne);
  EXPECT_EQ(listed[0].at("scale").to_number<double>(), 1.0);
  EXPECT_EQ(listed[1].at("scale").to_number<double>(), -0.5);
}

TEST(AdapterOptions, WorkInTheCommandsThatMeasure) {
  for (const char* name : {"score", "embed"}) {
    // Of the second token, or of the only text; the last line has times.
    const auto line = [&](std::vector<std::string> words) {
      std::string text = run(name, std::move(words));
      if (name == std::string_view("score")) text.erase(0, text.find('\n') + 1);
      return text.substr(0, text.find('\n'));
    };
    EXPECT_EQ(line({}), line({}));
    EXPECT_NE(line({}), line({"--lora", kOne}));
    EXPECT_EQ(line({}), line({"--lora-scaled", kOne + ":0"}));
  }
}

TEST(AdapterOptions, AScaleIsANumberBehindAColon) {
  for (const std::string& wrong : {kOne, kOne + ":", kOne + ":much", kOne + ":1x", kOne + ":inf", std::string(":1")})
    EXPECT_THAT(run("run", {"--lora-scaled", wrong}), HasSubstr("is not a file, a colon and a number")) << wrong;
  EXPECT_THAT(run("run", {"--lora", "absent.gguf"}), HasSubstr("absent.gguf"));
}

}  // namespace
}  // namespace ingle::app
