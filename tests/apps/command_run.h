// A command run inside the test, with what it wrote.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "apps/ingle/commands.h"

namespace ingle::test {

struct CommandRun {
  std::string out, err;
  std::string error;  // it threw this; otherwise empty
  int status = -1;    // what it returned
};

inline CommandRun run_command(std::string_view name, const std::vector<std::string>& words) {
  const app::Command* command = app::find_command(name);
  CommandRun run;
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  try {
    run.status = command->run(app::parse(command->syntax, words, [](const char*) -> const char* { return nullptr; }));
  } catch (const Error& e) {
    run.error = e.what();
  }
  run.out = testing::internal::GetCapturedStdout();
  run.err = testing::internal::GetCapturedStderr();
  return run;
}

}  // namespace ingle::test
