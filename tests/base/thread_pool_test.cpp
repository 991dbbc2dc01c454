#include "base/thread_pool.h"

#include <gtest/gtest.h>

#include <chrono>
#include <iostream>
#include <numeric>
#include <thread>
#include <vector>

#include "tests/address_space.h"
#include "tests/expect_error.h"

namespace ingle {
namespace {

TEST(ThreadPool, EveryThreadRunsEachRegionOnce) {
  for (int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    std::vector<int> runs(static_cast<size_t>(threads), 0);
    for (int region = 0; region < 200; ++region) pool.run([&](int thread) { ++runs[static_cast<size_t>(thread)]; });
    EXPECT_EQ(runs, std::vector<int>(static_cast<size_t>(threads), 200));
  }
}

TEST(ThreadPool, WorkOfAPhaseIsSeenAfterTheBarrier) {
  ThreadPool pool(4);
  std::vector<int> value(4, 0);
  std::vector<int> sum(4, 0);
  for (int round = 1; round <= 100; ++round) {
    pool.run([&](int thread) {
      value[static_cast<size_t>(thread)] = round * (thread + 1);
      pool.barrier();
      sum[static_cast<size_t>(thread)] = std::accumulate(value.begin(), value.end(), 0);
      pool.barrier();
    });
    EXPECT_EQ(sum, std::vector<int>(4, round * 10));
  }
}

TEST(ThreadPool, WakesThreadsThatHaveGoneToSleep) {
  ThreadPool pool(2);
  std::atomic<int> runs{0};
  for (int i = 0; i < 3; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    pool.run([&](int) { ++runs; });
  }
  EXPECT_EQ(runs.load(), 6);
}

TEST(ThreadPool, CallersTakeTurns) {
  ThreadPool pool(3);
  std::vector<int> sums(4, 0);
  std::vector<std::thread> callers;
  for (size_t caller = 0; caller < sums.size(); ++caller) {
    callers.emplace_back([&, caller] {
      std::vector<int> runs(3, 0);
      for (int i = 0; i < 200; ++i) {
        pool.run([&](int thread) {
          ++runs[static_cast<size_t>(thread)];
          pool.barrier();
        });
      }
      sums[caller] = std::accumulate(runs.begin(), runs.end(), 0);
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(sums, std::vector<int>(4, 600));
}

TEST(ThreadPool, ThreadsThatMayNotStartAreAnError) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers need all of the address space";
#endif
  const auto with_little_room = [] {
    test::leave_address_space(size_t{40} << 20);
    std::cerr << test::error_of(ErrorCode::kOutOfMemory, [] { const ThreadPool pool(500); });
    std::_Exit(testing::Test::HasFailure() ? 1 : 0);
  };
  EXPECT_EXIT(with_little_room(), testing::ExitedWithCode(0), "threads: of 500 the system let [0-9]+ start");
}

TEST(TaskCounter, HandsOutEveryTaskExactlyOnce) {
  ThreadPool pool(3);
  std::vector<std::atomic<int>> taken(1000);
  TaskCounter tasks(1000, 7);
  pool.run([&](int) {
    int64_t begin, end;
    while (tasks.next(begin, end)) {
      for (int64_t i = begin; i < end; ++i) ++taken[static_cast<size_t>(i)];
    }
  });
  for (const auto& count : taken) EXPECT_EQ(count.load(), 1);
}

}  // namespace
}  // namespace ingle
