// The tasks of several jobs as one list, handed out in order: one parallel region for all of them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/thread_pool.h"

namespace ingle::cpu {

// body(job, begin, end, thread) until every task of every job was in one of these ranges; job j has tasks 0 to
// count(j), which must be quick to say. A thread takes `chunk` of the list at a time.
template <class Count, class Body>
class TaskList {
 public:
  TaskList(size_t jobs, int64_t chunk, const Count& count, const Body& body)
      : count_(count), body_(body), total_(sum(jobs, count)), tasks_(total_, chunk) {}

  // What a thread of a region does: takes tasks until none is left.
  void work(int thread) noexcept {
    size_t job = 0;
    int64_t job_begin = 0, begin, end;  // what a thread gets rises: it looks for the job from where it is
    while (tasks_.next(begin, end)) {
      while (begin < end) {
        while (begin - job_begin >= count_(job)) job_begin += count_(job++);
        const int64_t last = std::min(end, job_begin + count_(job));
        body_(job, begin - job_begin, last - job_begin, thread);
        begin = last;
      }
    }
  }
  // All of it, as a region.
  void run(ThreadPool& pool) {
    if (total_ <= 1) return work(0);
    pool.run([this](int thread) { work(thread); });
  }

 private:
  static int64_t sum(size_t jobs, const Count& count) {
    int64_t total = 0;
    for (size_t j = 0; j < jobs; ++j) total += count(j);
    return total;
  }
  const Count& count_;
  const Body& body_;
  const int64_t total_;
  TaskCounter tasks_;
};

template <class Count, class Body>
void each_task(ThreadPool& pool, size_t jobs, int64_t chunk, const Count& count, const Body& body) {
  TaskList<Count, Body>(jobs, chunk, count, body).run(pool);
}

}  // namespace ingle::cpu
