// The tasks of several jobs as one list, handed out in order: one parallel region for all of them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/thread_pool.h"

namespace ingle::cpu {

// body(job, task of the job, thread) for every task of every job; job j has count(j) of them, which must be quick to
// say. A thread takes `chunk` of the list at a time.
template <class Count, class Body>
void each_task(ThreadPool& pool, size_t jobs, int64_t chunk, const Count& count, const Body& body) {
  int64_t total = 0;
  for (size_t j = 0; j < jobs; ++j) total += count(j);
  if (total == 0) return;
  TaskCounter tasks(total, chunk);
  auto region = [&](int thread) {
    size_t job = 0;
    int64_t job_begin = 0, begin, end;  // what a thread gets rises: it looks for the job from where it is
    while (tasks.next(begin, end)) {
      for (int64_t task = begin; task < end; ++task) {
        while (task - job_begin >= count(job)) job_begin += count(job++);
        body(job, task - job_begin, thread);
      }
    }
  };
  if (total == 1) return region(0);
  pool.run(region);
}

}  // namespace ingle::cpu
