#include "base/thread_pool.h"

#include <gtest/gtest.h>

#include <chrono>
#include <numeric>
#include <vector>

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
