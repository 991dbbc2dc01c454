#include "backend/cpu/ceilings.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstring>
#include <fstream>
#include <map>
#include <string>

#include "base/aligned_buffer.h"

namespace ingle::cpu {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kRounds = 5;
constexpr size_t kPiece = size_t{4} << 20;  // what is read between two looks at the clock

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// The most that all threads together do in a second. `work(thread)` does a little (well under a millisecond, where the
// processor is made for it) and says how much.
template <class Work>
double best_rate(ThreadPool& pool, double seconds, Work&& work) {
  std::vector<double> rates(static_cast<size_t>(pool.size()));
  double best = 0;
  for (int round = 0; round < kRounds; ++round) {
    pool.run([&](int thread) {
      pool.barrier();  // nobody measures while the others still sleep
      const Clock::time_point start = Clock::now();
      double done = 0, elapsed = 0;
      do {
        done += static_cast<double>(work(thread));
        elapsed = seconds_since(start);
      } while (elapsed < seconds / kRounds);
      rates[static_cast<size_t>(thread)] = done / std::max(elapsed, 1e-9);
    });
    double sum = 0;
    for (const double rate : rates) sum += rate;
    best = std::max(best, sum);
  }
  return best;
}

// Each thread reads a part of its own from front to back, over and over: as a decode reads weights.
double read_rate(const CpuKernels& kernels, ThreadPool& pool, double seconds, const AlignedBuffer& memory) {
  const auto* data = reinterpret_cast<const uint8_t*>(memory.data());
  const size_t part = memory.size() / static_cast<size_t>(pool.size()) / 4096 * 4096;
  if (part == 0) return 0;
  std::vector<size_t> at(static_cast<size_t>(pool.size()), 0);
  return best_rate(pool, seconds, [&](int thread) {
    size_t& offset = at[static_cast<size_t>(thread)];
    const size_t bytes = std::min(kPiece, part - offset);
    kernels.read_all(data + static_cast<size_t>(thread) * part + offset, bytes);
    offset = offset + bytes == part ? 0 : offset + bytes;
    return bytes;
  });
}

// The system gives pages when they are written to; parts stay with the threads that will read them.
void touch(ThreadPool& pool, const AlignedBuffer& memory) {
  const size_t part = memory.size() / static_cast<size_t>(pool.size()) / 4096 * 4096;
  pool.run([&](int thread) { std::memset(memory.data() + static_cast<size_t>(thread) * part, 1, part); });
}

// From /proc/self/smaps: "7f00-7f80 rw-p ..." begins a mapping, "AnonHugePages:  2048 kB" is one of its lines.
std::optional<double> share_on_huge_pages(const AlignedBuffer& memory) {
  std::ifstream file("/proc/self/smaps");
  const auto begin = reinterpret_cast<uintptr_t>(memory.data()), end = begin + memory.size();
  bool ours = false, found = false;
  double bytes = 0;
  for (std::string line; std::getline(file, line);) {
    uintptr_t from = 0, to = 0;
    const char* last = line.data() + line.size();
    const auto first = std::from_chars(line.data(), last, from, 16);
    if (first.ec == std::errc() && first.ptr != last && *first.ptr == '-') {
      const auto second = std::from_chars(first.ptr + 1, last, to, 16);
      if (second.ec == std::errc()) ours = from < end && to > begin;
      continue;
    }
    constexpr std::string_view kKey = "AnonHugePages:";
    if (!ours || !line.starts_with(kKey)) continue;
    bytes += 1024.0 * std::atof(line.c_str() + kKey.size());
    found = true;
  }
  // A mapping may reach past the buffer.
  if (!found) return std::nullopt;
  return std::min(1.0, bytes / static_cast<double>(memory.size()));
}

}  // namespace

DeviceCeilings measure_ceilings(const CpuKernels& kernels, ThreadPool& pool, const CeilingProbe& probe) {
  DeviceCeilings ceilings;
  std::map<int, double> best;
  constexpr int64_t kRepeats = 500;
  for (const PeakLoop* loop = kernels.peaks; loop != kernels.peaks + kernels.peak_count; ++loop) {
    double& rate = best[loop->bits];
    rate = std::max(rate, best_rate(pool, probe.seconds_each / 2, [&](int) { return loop->run(kRepeats); }));
  }
  for (const auto& [bits, rate] : best) ceilings.products.push_back({bits, rate});
  if (probe.read_bytes == 0) return ceilings;
  const AlignedBuffer memory(probe.read_bytes);
  touch(pool, memory);
  ceilings.huge_pages = share_on_huge_pages(memory);
  ceilings.read_bytes_per_second = read_rate(kernels, pool, probe.seconds_each, memory);
  return ceilings;
}

}  // namespace ingle::cpu
