#include "apps/ingle/signals.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "base/mapped_file.h"
#include "ingle/unfinished_file.h"
#include "tests/gguf/temporary_folder.h"

namespace ingle::app {
namespace {

using test::TemporaryFolder;
using testing::ExitedWithCode;
using testing::KilledBySignal;

// What a program does that writes a file and looks at nothing else.
[[noreturn]] void write_forever(const std::filesystem::path& path, std::initializer_list<int> signals) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) ::signal(signal, SIG_DFL);
  install_signal_handlers();
  const UnfinishedFile file(path);
  for (const int signal : signals) ::raise(signal);
  for (;;) ::pause();
}

TEST(SignalsDeathTest, AnEndThatWorkDoesNotHeedLeavesNoFile) {
  const TemporaryFolder folder;
  const auto path = [&] { return folder.write("half", ""); };
  EXPECT_EXIT(write_forever(path(), {SIGTERM}), ExitedWithCode(143), "^ingle: interrupted\n$");
  EXPECT_TRUE(folder.names().empty());
  EXPECT_EXIT(write_forever(path(), {SIGHUP, SIGTERM}), ExitedWithCode(129), "interrupted");
  EXPECT_TRUE(folder.names().empty());
  EXPECT_EXIT(write_forever(path(), {SIGINT, SIGINT, SIGINT}), ExitedWithCode(130), "interrupted");
  EXPECT_TRUE(folder.names().empty());
  EXPECT_EXIT(write_forever(path(), {SIGQUIT}), KilledBySignal(SIGQUIT), "");
  EXPECT_TRUE(folder.names().empty());
}

// Where nothing else of the test's own process is changed.
[[noreturn]] void check(bool (*holds)()) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::signal(signal, SIG_DFL);
  ::_exit(holds() ? 0 : 1);
}

TEST(SignalsDeathTest, WorkThatHeedsCtrlCIsNotEndedByIt) {
  EXPECT_EXIT(check([] {
                install_signal_handlers();
                const HeedsInterrupts heeds;
                for (int i = 0; i < 10; ++i) ::raise(SIGINT);
                const bool came = interrupted();
                clear_interrupt();
                return came && !interrupted();
              }),
              ExitedWithCode(0), "");
}

TEST(SignalsDeathTest, AnEndingSignalIsNotForgotten) {
  EXPECT_EXIT(check([] {
                install_signal_handlers();
                ::raise(SIGHUP);
                ::raise(SIGTERM);
                clear_interrupt();
                return interrupted() && ending_signal() == SIGHUP;
              }),
              ExitedWithCode(0), "");
}

TEST(SignalsDeathTest, WhatTheParentIgnoresStaysIgnored) {
  EXPECT_EXIT(check([] {
                ::signal(SIGHUP, SIG_IGN);
                install_signal_handlers();
                ::raise(SIGHUP);
                return !interrupted();
              }),
              ExitedWithCode(0), "");
}

TEST(SignalsDeathTest, AMappedFileThatBecomesShorterIsNamed) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.write("model", std::string(100'000, 'x'));
  const auto read_beyond_the_end = [&] {
    install_signal_handlers();
    const UnfinishedFile file(folder.write("half", ""));
    const MappedFile mapped = MappedFile::open(path);
    std::filesystem::resize_file(path, 10'000);
    ::_exit(static_cast<int>(*const_cast<const volatile std::byte*>(&mapped.bytes()[90'000])));
  };
  EXPECT_EXIT(read_beyond_the_end(), ExitedWithCode(7), "^ingle: .*/model: became shorter while it was in use.*\n$");
  EXPECT_EQ(folder.names(), std::vector<std::string>({"model"}));
}

TEST(SignalsDeathTest, AnyOtherBusErrorKills) {
  EXPECT_EXIT(check([] {
                install_signal_handlers();
                ::raise(SIGBUS);
                return true;
              }),
              KilledBySignal(SIGBUS), "");
}

}  // namespace
}  // namespace ingle::app
