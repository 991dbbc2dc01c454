// Kernels against what the machine allows: each is measured in turns with the ceiling it is held against, on one
// thread, and the share it reached stands beside the share it must reach. Prints a Markdown table.
//
//   gates [--isa NAME] [--rounds N] [--strict]      every instruction set but scalar, unless one is named
//
// Figures of one round are worth little on a shared machine, their median and quartiles more. A missed gate is a
// remark; with --strict it is exit status 1.
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/cpu/activations.h"
#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/dispatch.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/matrix.h"
#include "base/aligned_buffer.h"
#include "runtime/random.h"

namespace ingle::cpu {
namespace {

// Of this thread, which does all the work: what other programs take of the core does not count.
double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

constexpr int64_t kRows = 2048, kColumns = 2048, kTokens = 480;
constexpr int64_t kPassTokens = 48;                    // of a pass over an expanded panel, as the product has it
constexpr size_t kStreamed = size_t{288} << 20;        // packed weights that a decode reads; caches hold less
constexpr double kRound = 0.04, kCeilingRound = 0.02;  // seconds

struct Gate {
  std::string_view isa, what;
  double share;
};
// Measured with prototypes on an AMD Zen 3: what a kernel without a mistake in it reaches of the mix of instructions it
// is made of.
constexpr Gate kGates[] = {
    {"avx2", "prompt q4_0", 0.82},
    {"avx2", "prompt q4_k", 0.72},
    {"avx2", "prompt q6_k", 0.75},
    {"avx2", "prompt q8_0", 0.65},
    {"avx2", "attention, head 64", 0.58},
    {"avx2", "attention, head 128", 0.58},
    {"avx2", "attention, head 256", 0.58},
    {"avx2", "1 token", 0.85},
    {"avx2", "2 tokens", 0.85},
};

std::optional<double> gate_of(std::string_view isa, std::string_view what) {
  for (const Gate& gate : kGates) {
    if (gate.isa == isa && (what == gate.what || what.starts_with(std::string(gate.what) + " "))) return gate.share;
  }
  return std::nullopt;
}

// How much `work` does in a second; it returns how much it did, and is called until the time is over.
double rate(double seconds, const std::function<double()>& work) {
  const double start = thread_seconds();
  double done = 0, elapsed = 0;
  do {
    done += work();
    elapsed = thread_seconds() - start;
  } while (elapsed < seconds);
  return done / elapsed;
}

double quantile(std::vector<double> values, double fraction) {
  std::ranges::sort(values);
  const double at = fraction * static_cast<double>(values.size() - 1);
  const auto below = static_cast<size_t>(at);
  const size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (at - static_cast<double>(below)) * (values[above] - values[below]);
}

// Measures in turns with a ceiling, prints lines of the table, and remembers what missed its gate.
class Report {
 public:
  Report(const CpuKernels& kernels, int rounds) : kernels_(kernels), rounds_(rounds) {}

  // Against the fastest loop for products of weights of so many bits, or the next kind that has as many.
  void products(const std::string& what, int bits, const std::function<double()>& work) {
    int kind = 0;
    for (int i = 0; i < kernels_.peak_count && kind < bits; ++i) kind = kernels_.peaks[i].bits;
    line(what, "GMAC/s", work, [&] {
      double best = 0;
      for (int i = 0; i < kernels_.peak_count; ++i) {
        const PeakLoop& loop = kernels_.peaks[i];
        if (loop.bits != kind) continue;
        best = std::max(best, rate(kCeilingRound, [&] { return static_cast<double>(loop.run(500)); }));
      }
      return best;
    });
  }

  void reading(const std::string& what, const AlignedBuffer& memory, const std::function<double()>& work) {
    constexpr size_t kPiece = size_t{4} << 20;
    line(what, "GB/s", work, [&] {
      return rate(kCeilingRound, [&] {
        if (read_ + kPiece > memory.size()) read_ = 0;
        kernels_.read_all(reinterpret_cast<const uint8_t*>(memory.data()) + read_, kPiece);
        read_ += kPiece;
        return static_cast<double>(kPiece);
      });
    });
  }

  int missed() const noexcept { return missed_; }

 private:
  void line(const std::string& what, std::string_view unit, const std::function<double()>& work,
            const std::function<double()>& ceiling) {
    std::vector<double> rates, ceilings, shares;
    rate(kRound / 2, work);  // pages, caches, the clock
    for (int i = 0; i < rounds_; ++i) {
      // The ceiling on both sides of the work: a machine that changes its pace meanwhile changes it for both.
      const double before = ceiling(), here = rate(kRound, work), after = ceiling();
      rates.push_back(here);
      ceilings.push_back((before + after) / 2);
      shares.push_back(here / ceilings.back());
    }
    const std::optional<double> gate = gate_of(kernels_.name, what);
    const double share = quantile(shares, 0.5);
    const bool missed = gate && share < *gate;
    missed_ += missed ? 1 : 0;
    fmt::print("| {} | {} | {:.1f} {} ({:.1f}-{:.1f}) | {:.1f} | {:.2f} ({:.2f}-{:.2f}) | {} |\n", kernels_.name, what,
               quantile(rates, 0.5) / 1e9, unit, quantile(rates, 0.25) / 1e9, quantile(rates, 0.75) / 1e9,
               quantile(ceilings, 0.5) / 1e9, share, quantile(shares, 0.25), quantile(shares, 0.75),
               gate ? fmt::format("{:.2f} {}", *gate, missed ? "missed" : "reached") : "");
    std::fflush(stdout);
  }

  const CpuKernels& kernels_;
  const int rounds_;
  size_t read_ = 0;
  int missed_ = 0;
};

std::vector<float> noise(int64_t count, uint64_t seed) {
  Random random(seed);
  std::vector<float> numbers(static_cast<size_t>(count));
  for (float& x : numbers) x = static_cast<float>(2 * random.uniform() - 1);
  return numbers;
}

// A matrix of noise in a file's format. Formats that nothing here can write get random blocks: a product takes as long
// with them.
std::vector<std::byte> file_rows(const Format& format, int64_t rows, int64_t columns) {
  const size_t row_bytes = format.row_bytes(columns);
  std::vector<std::byte> bytes(row_bytes * static_cast<size_t>(rows));
  if (format.encode != nullptr) {
    const std::vector<float> numbers = noise(rows * columns, 1);
    for (int64_t r = 0; r < rows; ++r)
      format.encode(numbers.data() + r * columns, bytes.data() + static_cast<size_t>(r) * row_bytes, columns, nullptr);
  } else {
    Random random(1);
    for (std::byte& b : bytes) b = static_cast<std::byte>(random.next());
  }
  return bytes;
}

// What the measurements of one instruction set share.
class Kernels {
 public:
  Kernels(const CpuKernels& kernels, int rounds)
      : kernels_(kernels), report_(kernels, rounds), backend_(make_cpu_backend(kernels, 1, Precision::kDefault)) {}

  int measure() {
    for (int i = 0; i < kernels_.int_format_count; ++i) int_format(kernels_.int_formats[i]);
    for (const DType type : {DType::kF16, DType::kF32, DType::kBF16}) float_format(type);
    for (const int64_t head_dim : {64, 128, 256}) attention(head_dim);
    return report_.missed();
  }

 private:
  struct Activations {
    QuantizedRows rows;
    AlignedBuffer memory;
  };
  Activations quantize(int64_t tokens) const {
    Activations a{QuantizedRows(tokens, kColumns, false, kernels_.tile_tokens), {}};
    a.memory = AlignedBuffer(a.rows.bytes());
    a.rows.data = reinterpret_cast<uint8_t*>(a.memory.data());
    const std::vector<float> x = noise(tokens * kColumns, 2);
    for (int64_t g = 0; g < a.rows.groups(); ++g)
      kernels_.quantize(x.data() + g * a.rows.tile * kColumns, kColumns, a.rows.group_tokens(g), 1, a.rows.blocks,
                        a.rows.at(g, 0));
    return a;
  }

  void int_format(const IntFormat& format) {
    const std::vector<std::byte> file = file_rows(format_of(format.type), kRows, kColumns);
    MatrixStorage memory;
    const auto m =
        pack_matrix("w", {file.data(), format.type, {kRows, kColumns}}, kernels_, Precision::kDefault, memory, pool_);
    if (m->int_format == nullptr) return;
    prompt(*m);
    decode(*m);
  }

  // A panel is expanded once and all tokens pass over it, as many at a time as results stay in L1.
  void prompt(const CpuMatrix& m) {
    const IntFormat& format = *m.int_format;
    const Activations x = quantize(kTokens);
    const int panel_rows = kernels_.panel_rows;
    const int64_t pass = kPassTokens / x.rows.tile;  // groups
    AlignedBuffer expanded(format.expanded_bytes_per_row * static_cast<size_t>(panel_rows * m.blocks()));
    AlignedBuffer results(sizeof(float) * static_cast<size_t>(panel_rows * kPassTokens));
    auto* slice = reinterpret_cast<uint8_t*>(expanded.data());
    auto* acc = reinterpret_cast<float*>(results.data());
    int64_t panel = 0;
    report_.products(fmt::format("prompt {}", format.name), format.bits, [&] {
      format.expand(m.panel(panel), m.blocks(), slice);
      for (int64_t first = 0; first < x.rows.groups(); first += pass) {
        for (int64_t g = first; g < std::min(first + pass, x.rows.groups()); ++g)
          format.tile[x.rows.group_tokens(g) - 1](slice, m.blocks(), x.rows.at(g, 0),
                                                  acc + (g - first) * x.rows.tile * panel_rows, false);
      }
      panel = (panel + 1) % m.panels(panel_rows);
      return static_cast<double>(panel_rows * kColumns * kTokens);
    });
  }

  // The matrix again and again, one copy behind the other, until no cache holds it.
  void decode(const CpuMatrix& m) {
    const IntFormat& format = *m.int_format;
    const int64_t panels = m.panels(kernels_.panel_rows);
    const size_t bytes = m.panel_bytes * static_cast<size_t>(panels);
    const auto copies = static_cast<int64_t>(kStreamed / bytes + 1);
    AlignedBuffer stream(bytes * static_cast<size_t>(copies));
    for (int64_t i = 0; i < copies; ++i) std::memcpy(stream.data() + static_cast<size_t>(i) * bytes, m.panel(0), bytes);
    const auto* weights = reinterpret_cast<const uint8_t*>(stream.data());
    const int results = kernels_.panel_rows * kMaxGemvTokens;
    std::vector<float> sums(static_cast<size_t>(results * kMaxGemvPanels + 16));
    float* acc[kMaxGemvPanels];
    for (int i = 0; i < kMaxGemvPanels; ++i) acc[i] = sums.data() + i * results;
    int64_t panel = 0;
    for (const int64_t tokens : {1, 2, 4}) {
      const Activations x = quantize(tokens);
      report_.reading(fmt::format("{} token{} {}", tokens, tokens == 1 ? "" : "s", format.name), stream, [&] {
        const uint8_t* group[kMaxGemvPanels];
        for (int i = 0; i < 16; i += kMaxGemvPanels) {
          for (const uint8_t*& one : group) {
            one = weights + static_cast<size_t>(panel) * m.panel_bytes;
            panel = (panel + 1) % (panels * copies);
          }
          format.gemv[tokens - 1](group, acc, kMaxGemvPanels, x.rows.blocks, x.rows.data);
        }
        return 16.0 * static_cast<double>(m.panel_bytes);
      });
    }
  }

  void float_format(DType type) {
    const Format& format = format_of(type);
    const std::vector<std::byte> file = file_rows(format, kRows, kColumns);
    const std::unique_ptr<Matrix> m = backend_->pack("w", {file.data(), type, {kRows, kColumns}});
    const std::unique_ptr<Ops> ops = backend_->make_ops();
    std::vector<float> x = noise(kTokens * kColumns, 2);
    report_.products(fmt::format("prompt {}", format.name), 32, [&] {
      ops->begin_step();
      ops->linear({.weight = m.get()}, {x.data(), {kTokens, kColumns}, nullptr});
      return static_cast<double>(kRows * kColumns * kTokens);
    });
  }

  // A prompt of 512 over its own keys: 8 heads on 2 cached ones, of visible pairs only.
  void attention(int64_t head_dim) {
    constexpr int64_t kHeads = 8, kKvHeads = 2, kLength = 512;
    const KvLayout layout = backend_->kv_layout(DType::kF16, DType::kF16, kKvHeads, head_dim, head_dim);
    constexpr int64_t kBlocks = kLength / kKvBlockPositions;
    AlignedBuffer cache(layout.block_bytes() * kBlocks);
    std::vector<int32_t> table, rows, tokens(kLength, 0);
    for (int32_t i = 0; i < kBlocks; ++i) table.push_back(i);
    for (int32_t i = 0; i < kLength; ++i) rows.push_back(i);
    const std::vector<std::span<const int32_t>> tables = {table};
    const KvLayer kv{.layout = layout, .base = cache.data(), .block_stride = layout.block_bytes(), .tables = tables};
    const std::vector<RowRun> runs = {{0, 0, kLength}};
    const RowSet set{.rows = rows, .positions = rows, .tokens = tokens, .runs = runs};
    std::vector<float> q = noise(kLength * kHeads * head_dim, 3), k = noise(kLength * kKvHeads * head_dim, 4);
    const std::unique_ptr<Ops> ops = backend_->make_ops();
    ops->begin_step();
    const Tensor keys{k.data(), {kLength, kKvHeads, head_dim}, nullptr};
    ops->append(kv, keys, keys, set);
    report_.products(fmt::format("attention, head {}", head_dim), 32, [&] {
      ops->begin_step();
      ops->attention({q.data(), {kLength, kHeads, head_dim}, nullptr}, kv, set, {.scale = 0.125f});
      return static_cast<double>(kLength * (kLength + 1) / 2 * kHeads * 2 * head_dim);
    });
  }

  const CpuKernels& kernels_;
  Report report_;
  ThreadPool pool_{1};
  const std::unique_ptr<Backend> backend_;
};

}  // namespace
}  // namespace ingle::cpu

int main(int count, char** arguments) {
  std::string isa;
  int rounds = 7;
  bool strict = false;
  for (int i = 1; i < count; ++i) {
    const std::string_view argument = arguments[i];
    if (argument == "--strict") {
      strict = true;
    } else if (argument == "--isa" && i + 1 < count) {
      isa = arguments[++i];
    } else if (argument == "--rounds" && i + 1 < count && std::atoi(arguments[i + 1]) > 0) {
      rounds = std::atoi(arguments[++i]);
    } else {
      fmt::print(stderr, "usage: gates [--isa NAME] [--rounds N] [--strict]\n");
      return 2;
    }
  }
  const ingle::cpu::CpuFeatures features = ingle::cpu::detect_features();
  int missed = 0, measured = 0;
  fmt::print("| kernels | what | one thread (quartiles) | ceiling | share (quartiles) | gate |\n");
  fmt::print("| --- | --- | ---: | ---: | ---: | --- |\n");
  for (const ingle::cpu::IsaEntry& entry : ingle::cpu::isa_entries()) {
    const bool wanted = isa.empty() ? std::string_view(entry.name) != "scalar" : isa == entry.name;
    if (!wanted || !entry.runs(features)) continue;
    missed += ingle::cpu::Kernels(entry.kernels(), rounds).measure();
    ++measured;
  }
  if (measured == 0) {
    fmt::print(stderr, "gates: nothing to measure: this processor cannot run {}\n", isa.empty() ? "vectors" : isa);
    return 2;
  }
  if (missed > 0) fmt::print("\n{} gate{} missed\n", missed, missed == 1 ? "" : "s");
  return strict && missed > 0 ? 1 : 0;
}
