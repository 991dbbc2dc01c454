// Whether encoding is linear: every kind of tokenizer on texts that repeat one thing, at 256 KiB, 1 MiB and 4 MiB.
// Prints nanoseconds a byte and by how much each size takes longer than the one before it; a linear one says 4.
//
//   tokenizer_scaling [NAME...]      kinds of tokenizers (all); rows where time grows by more than 8 are marked
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "tests/text/tokenizer_kinds.h"

namespace {

using namespace ingle;

// Of this thread, which does all the work: what other programs take of the core does not count.
double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// The least of three: others use its caches too.
double seconds_for(const Tokenizer& tokenizer, const std::string& text) {
  double least = 1e9;
  for (int round = 0; round < 3; ++round) {
    const double start = thread_seconds();
    tokenizer.encode(text, {.parse_special = true});
    least = std::min(least, thread_seconds() - start);
    if (least > 0.5) break;
  }
  return least;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> wanted(argv + 1, argv + argc);
  const std::array<size_t, 3> sizes{256 << 10, 1 << 20, 4 << 20};
  std::array<std::vector<std::pair<std::string, std::string>>, 3> texts;
  for (size_t i = 0; i < sizes.size(); ++i) texts[i] = test::repeated_texts(sizes[i]);
  fmt::print("{:<22}{:<20}{:>10}{:>8}{:>8}\n", "tokenizer", "text", "ns/byte", "1 MiB", "4 MiB");
  int marked = 0;
  for (const auto& [name, tokenizer, keeps_bytes] : test::one_of_each_kind()) {
    if (!wanted.empty() && std::ranges::count(wanted, name) == 0) continue;
    for (size_t kind = 0; kind < texts[0].size(); ++kind) {
      std::array<double, 3> seconds{};
      for (size_t i = 0; i < sizes.size(); ++i) seconds[i] = seconds_for(*tokenizer, texts[i][kind].second);
      const double first = seconds[1] / seconds[0], second = seconds[2] / seconds[1];
      const bool mark = first > 8 || second > 8;
      marked += mark;
      fmt::print("{:<22}{:<20}{:>10.1f}{:>8.1f}{:>8.1f}{}\n", name, texts[0][kind].first,
                 seconds[2] * 1e9 / static_cast<double>(sizes[2]), first, second, mark ? "  grows" : "");
    }
  }
  fmt::print("{} of them grow\n", marked);
}
