// What a step promises besides its numbers: a row's result is the same to the last bit whatever else is in the batch
// and however many threads work on it; and once sizes have been seen, a step takes no memory from the system.
#include <fmt/format.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <new>

#include "tests/conformance/cache.h"
#include "tests/conformance/data.h"
#include "tests/conformance/promises.h"

namespace {
std::atomic<int64_t> allocations{0};
}  // namespace

// Every allocation of this program is counted. (Over-aligned ones go elsewhere; the backend makes none.) Not inlined:
// gcc would see a mismatched pair where it inlines only one of two.
[[gnu::noinline]] void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return std::malloc(bytes == 0 ? 1 : bytes);
}
[[gnu::noinline]] void* operator new(size_t bytes) {
  void* memory = operator new(bytes, std::nothrow);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace ingle::conformance {

int64_t allocation_count() noexcept { return allocations.load(); }

namespace {

TEST_P(PromisesTest, ARowOfLinearDoesNotDependOnItsBatch) {
  const auto any = machines()[0].backend();
  const auto takes_int8 = [&](DType type) {
    const Weights probe(type, 1, 256, 1);
    return any->pack("probe", probe.view())->layout.find("int8") != std::string::npos;
  };
  for (DType type : weight_types()) {
    for (const auto& [columns, is_fine] :
         std::vector<std::pair<int64_t, bool>>{{96, false}, {256, false}, {256, true}, {2304, false}}) {
      if (is_fine && type != DType::kQ4_1 && type != DType::kQ8_0 && type != DType::kQ4_K) continue;
      if (columns % format_of(type).block_elements != 0) continue;
      const bool shares_f16 = !is_float_type(type) && !takes_int8(type);  // one product for all of them: two are enough
      if (shares_f16 && (columns == 2304 || (type != DType::kQ6_K && type != DType::kIQ2_S))) continue;
      const Weights w(type, 37, columns, 1);
      const std::vector<float> bias = random_floats(37, 2);
      Rows x(200, columns, 3);
      std::map<int, std::pair<std::unique_ptr<Backend>, std::unique_ptr<Matrix>>> packed;
      for (const Machine& machine : machines()) {
        auto backend = machine.backend();
        auto matrix = backend->pack("w", w.view());
        packed[machine.threads] = {std::move(backend), std::move(matrix)};
      }
      expect_same_rows(machines(), 200, fmt::format("{} of {} columns", format_of(type).name, columns),
                       [&](const Machine& machine, int64_t first, int64_t rows) {
                         const auto& [backend, matrix] = packed[machine.threads];
                         const auto ops = backend->make_ops();
                         return rows_of(ops->linear({matrix.get(), bias.data(), is_fine}, x.tensor(rows, first)));
                       });
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(PromisesTest, ARowOfLinearDoesNotDependOnItsBatchInExactPrecision) {
  for (DType type : {DType::kQ4_0, DType::kQ4_K, DType::kF16}) {
    const Weights w(type, 37, 768, 1);
    Rows x(200, 768, 3);
    expect_same_rows(machines(), 200, std::string(format_of(type).name),
                     [&](const Machine& machine, int64_t first, int64_t rows) {
                       const auto backend = machine.backend(Precision::kExact);
                       const auto matrix = backend->pack("w", w.view());
                       const auto ops = backend->make_ops();
                       return rows_of(ops->linear({matrix.get(), nullptr}, x.tensor(rows, first)));
                     });
    if (HasFatalFailure()) return;
  }
}

TEST_P(PromisesTest, ARowOfGatedMlpDoesNotDependOnItsBatch) {
  for (const auto& [gate, down] :
       {std::pair{DType::kQ4_0, DType::kQ4_0}, {DType::kQ8_0, DType::kF16}, {DType::kF16, DType::kQ5_1}}) {
    const Weights g(gate, 96, 64, 1), u(gate, 96, 64, 2), d(down, 37, 96, 3);
    const std::vector<float> bias = random_floats(96, 4);
    Rows x(200, 64, 5);
    expect_same_rows(machines(), 200, fmt::format("{} and {}", format_of(gate).name, format_of(down).name),
                     [&](const Machine& machine, int64_t first, int64_t rows) {
                       const auto backend = machine.backend();
                       const auto mg = backend->pack("g", g.view()), mu = backend->pack("u", u.view()),
                                  md = backend->pack("d", d.view());
                       const auto ops = backend->make_ops();
                       return rows_of(ops->gated_mlp({mg.get(), bias.data()}, {mu.get(), nullptr}, {md.get(), nullptr},
                                                     Activation::kSilu, x.tensor(rows, first)));
                     });
    if (HasFatalFailure()) return;
  }
}

// Rows of one sequence in runs of any length, alone or with other sequences in the step.
TEST_P(PromisesTest, ARowOfAttentionDoesNotDependOnItsBatch) {
  struct Kind {
    DType type;
    int64_t group;
    AttentionOptions options;
  };
  const int64_t dim = 24;
  const int32_t total = machines()[0].emulated ? 150 : 330;
  for (const Kind& kind :
       {Kind{DType::kF32, 1, {.scale = 0.3f}}, Kind{DType::kF16, 3, {.scale = 0.3f}},
        Kind{DType::kQ8_0, 8, {.scale = 0.3f}}, Kind{DType::kQ4_0, 3, {.scale = 0.3f}},
        Kind{DType::kI16, 3, {.scale = 0.3f}}, Kind{DType::kI16, 5, {.scale = 0.3f, .window = 70, .soft_cap = 3.0f}},
        Kind{DType::kF16, 5, {.scale = 0.3f, .window = 70, .soft_cap = 3.0f}}}) {
    Rows q(total, 2 * kind.group * dim, 9), other_q(2, 2 * kind.group * dim, 10);
    std::vector<std::vector<float>> alone(static_cast<size_t>(total));
    for (const Machine& machine : machines()) {
      const auto backend = machine.backend();
      const auto ops = backend->make_ops();
      Cache cache(backend->kv_layout(kind.type, kind.type, 2, dim, dim), {{0, total}, {300, 2}});
      ops->begin_step();
      cache.fill(*ops, 7);
      for (int32_t batch : {1, 2, 3, 4, 5, 6, 7, 8, 9, 50, 200}) {
        for (int32_t first = 0; first + batch <= total; first += batch == 1 ? 1 : std::max(batch, 41)) {
          for (bool company : {false, true}) {
            Step step;
            step.add_run(0, first, batch);
            std::vector<float> queries(q.row(first), q.row(first + batch));
            if (company) {
              step.add_run(1, 300, 2);
              queries.insert(queries.end(), other_q.values.begin(), other_q.values.end());
            }
            ops->begin_step();
            const Tensor x{.data = queries.data(), .shape = {step.set().size(), 2 * kind.group, dim}};
            const auto rows = rows_of(ops->attention(x, cache.layer(), step.set(), kind.options));
            for (int32_t r = 0; r < batch; ++r) {
              std::vector<float>& want = alone[static_cast<size_t>(first + r)];
              if (want.empty()) want = rows[static_cast<size_t>(r)];
              ASSERT_EQ(std::memcmp(rows[static_cast<size_t>(r)].data(), want.data(), want.size() * sizeof(float)), 0)
                  << format_of(kind.type).name << ", group " << kind.group << ": position " << first + r
                  << " differs in a run of " << batch << (company ? " with company" : "") << ", " << machine.threads
                  << " threads";
            }
          }
        }
      }
    }
  }
}

// A step as a model makes it; the first of a size may grow memory, the next ones may not.
TEST_P(PromisesTest, AStepAllocatesNothingOnceItsSizesHaveBeenSeen) {
  for (const Machine& machine : machines()) {
    for (DType type : {DType::kQ4_0, DType::kQ6_K, DType::kF16}) {
      const auto backend = machine.backend();
      const auto ops = backend->make_ops();
      const int64_t d = 256;
      const Weights w(type, d, d, 1), narrow(type, d / 2, d, 2);
      const auto square = backend->pack("w", w.view()), half = backend->pack("n", narrow.view()),
                 table = backend->table("t", w.view());
      const Linear wide{square.get(), nullptr}, kv{half.get(), nullptr};
      const std::vector<float> gain = random_floats(d, 3);
      const Norm norm{.gain = gain.data(), .size = d, .eps = 1e-5f};
      const Rope rope{.rotated = 32, .inverse_frequency = std::vector<float>(16, 0.5f)};
      const Cache cache(backend->kv_layout(DType::kF16, DType::kF16, 4, 32, 32), {{0, 300}});
      const KvLayer layer = cache.layer();
      Step prompt, token;
      prompt.add_run(0, 0, 90);
      token.add_run(0, 90, 1);
      const auto run = [&](const Step& step) {
        ops->begin_step();
        const RowSet rows = step.set();
        Tensor x = ops->embed(*table, rows.rows), q, k, v;
        const Tensor normed = ops->norm(norm, x);
        ops->linears({{&wide, normed}, {&kv, normed}, {&kv, normed}}, {&q, &k, &v});
        q = Ops::split_heads(q, 8);
        k = Ops::split_heads(k, 4);
        ops->rope(q, rows.positions, rope);
        ops->append(layer, k, Ops::split_heads(v, 4), rows, &rope);
        x = ops->linear(wide, ops->attention(q, layer, rows, {.scale = 0.2f}), {.add_to = x});
        ops->apply(kScale, x, {.a = 0.5f});
        x = ops->gated_mlp(wide, wide, wide, Activation::kSilu, ops->norm(norm, x), {.add_to = x});
        const int32_t last[] = {static_cast<int32_t>(rows.size() - 1)};
        ops->linear(wide, ops->gather_rows(x, last));
      };
      for (int i = 0; i < 3; ++i) {
        run(prompt);
        run(token);
      }
      ops->begin_step();  // joins what the last step needed
      const size_t arena = ops->arena_bytes();
      const int64_t before = allocation_count();
      for (int i = 0; i < 3; ++i) {
        run(prompt);
        run(token);
      }
      EXPECT_EQ(allocation_count(), before) << format_of(type).name << ", " << machine.threads << " threads";
      EXPECT_EQ(ops->arena_bytes(), arena) << format_of(type).name << ", " << machine.threads << " threads";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Isa, PromisesTest, testing::ValuesIn(every_isa()), isa_test_name);

}  // namespace
}  // namespace ingle::conformance
