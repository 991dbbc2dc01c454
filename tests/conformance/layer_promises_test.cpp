// The promises of a step for what Gemma's layers are made of besides products and attention: rows that do not depend on
// their batch, layers that take the memory of one, tensors that stay.
#include <fmt/format.h>

#include <functional>
#include <map>

#include "tests/conformance/data.h"
#include "tests/conformance/promises.h"

namespace ingle::conformance {
namespace {

class LayerPromisesTest : public PromisesTest {};

// Sums, streams and statistics of rows that are wide enough for several threads.
constexpr int64_t kWide = 288;
constexpr int64_t kStreams = 4;

// What every operation makes of rows [first, first + rows).
struct Operation {
  const char* name;
  std::function<Tensor(Backend&, Ops&, int64_t first, int64_t rows)> compute;
};

TEST_P(LayerPromisesTest, ARowOfAnOperationDoesNotDependOnItsBatch) {
  constexpr int64_t kTotal = 200;
  Rows x(kTotal, kWide, 1), y(kTotal, kWide, 2), streams(kTotal, kStreams * kWide, 3),
      stream_weights(kTotal, kStreams, 4), mixing(kTotal, kStreams * kStreams, 5), scores(kTotal, 9, 6);
  const std::vector<float> gain = random_floats(kWide, 7), by_stream = random_floats(kStreams, 8);
  const Weights table_weights(DType::kQ4_0, 64, kWide, 9);
  std::map<const Backend*, std::unique_ptr<Matrix>> tables;
  std::vector<int32_t> tokens;
  for (int32_t i = 0; i < kTotal; ++i) tokens.push_back(i * 7 % 64);
  // In place on a copy, so that every batch finds the same rows.
  const auto copy = [](Ops& ops, Rows& from, int64_t first, int64_t rows) {
    std::vector<int32_t> all;
    for (int64_t r = 0; r < rows; ++r) all.push_back(static_cast<int32_t>(r));
    return ops.gather_rows(from.tensor(rows, first), all);
  };
  const auto as_streams = [](Tensor t) {
    t.shape = {t.rows(), kStreams, kWide};
    return t;
  };
  const std::vector<Operation> operations = {
      {"embed",
       [&](Backend& backend, Ops& ops, int64_t first, int64_t rows) {
         std::unique_ptr<Matrix>& table = tables[&backend];
         if (!table) table = backend.table("t", table_weights.view());
         return ops.embed(*table, std::span(tokens).subspan(static_cast<size_t>(first), static_cast<size_t>(rows)),
                          {.scale = 0.7f}, {.add_to = copy(ops, x, first, rows)});
       }},
      {"norm",
       [&](Backend&, Ops& ops, int64_t first, int64_t rows) {
         return ops.norm({.gain = gain.data(), .size = kWide, .eps = 1e-6f}, y.tensor(rows, first),
                         {.add_to = copy(ops, x, first, rows)});
       }},
      {"gelu_mul",
       [&](Backend&, Ops& ops, int64_t first, int64_t rows) {
         const Tensor gate = copy(ops, x, first, rows);
         ops.apply(kGeluMul, gate, {.y = streams.tensor(rows, first), .column = kWide + 3});
         return gate;
       }},
      {"soft_cap",
       [&](Backend&, Ops& ops, int64_t first, int64_t rows) {
         const Tensor t = copy(ops, x, first, rows);
         ops.apply(kSoftCap, t, {.a = 2.0f});
         return t;
       }},
      {"sigmoid",
       [&](Backend&, Ops& ops, int64_t first, int64_t rows) {
         const Tensor t = copy(ops, x, first, rows);
         ops.apply(kSigmoid, t);
         return t;
       }},
      {"scale_columns",
       [&](Backend&, Ops& ops, int64_t first, int64_t rows) {
         const Tensor t = copy(ops, x, first, rows);
         ops.apply(kScaleColumns, t, {.vector = gain.data()});
         return t;
       }},
      {"add_scaled",
       [&](Backend&, Ops& ops, int64_t first, int64_t rows) {
         const Tensor t = copy(ops, x, first, rows);
         ops.apply(kAddScaled, t, {.y = y.tensor(rows, first), .a = -0.3f});
         return t;
       }},
      {"mix",
       [&](Backend&, Ops& ops, int64_t first, int64_t rows) {
         return ops.mix(as_streams(streams.tensor(rows, first)), mixing.tensor(rows, first));
       }},
      {"add_to_streams",
       [&](Backend&, Ops& ops, int64_t first, int64_t rows) {
         const Tensor t = as_streams(copy(ops, streams, first, rows));
         ops.add_to_streams(t, y.tensor(rows, first), stream_weights.tensor(rows, first));
         ops.add_to_streams(t, x.tensor(rows, first), by_stream);
         return t;
       }},
      {"match_magnitude",
       [&](Backend&, Ops& ops, int64_t first, int64_t rows) {
         const Tensor t = copy(ops, x, first, rows);
         ops.apply(kMatchMagnitude, t, {.y = y.tensor(rows, first), .a = 1e-5f});
         return t;
       }},
      {"keep_largest",
       [&](Backend&, Ops& ops, int64_t first, int64_t rows) {
         const Tensor t = copy(ops, x, first, rows);
         ops.apply(kKeepLargest, t, {.a = 0.5f});
         return t;
       }},
      {"route",
       [&](Backend&, Ops& ops, int64_t first, int64_t rows) {
         const Routes routes = ops.route(scores.tensor(rows, first), 3);
         std::vector<float> flat;
         for (int64_t i = 0; i < rows * 3; ++i) flat.push_back(static_cast<float>(routes.expert[i]) + routes.weight[i]);
         Tensor t = copy(ops, x, first, rows);
         t.shape = {rows, 3};
         std::copy(flat.begin(), flat.end(), t.data);
         return t;
       }},
  };
  for (const Operation& operation : operations) {
    std::map<int, std::unique_ptr<Backend>> backends;
    for (const Machine& machine : machines()) backends[machine.threads] = machine.backend();
    tables.clear();
    expect_same_rows(machines(), kTotal, operation.name, [&](const Machine& machine, int64_t first, int64_t rows) {
      Backend& backend = *backends[machine.threads];
      const auto ops = backend.make_ops();
      return rows_of(operation.compute(backend, *ops, first, rows));
    });
    if (HasFatalFailure()) return;
  }
}

// Weights of a mixture in one format.
struct MixtureWeights {
  static constexpr int64_t kExperts = 6;
  MixtureWeights(DType type, int64_t d, int64_t d_ff) {
    for (uint32_t e = 0; e < kExperts; ++e) {
      gate.emplace_back(type, d_ff, d, 3 * e);
      up.emplace_back(type, d_ff, d, 3 * e + 1);
      down.emplace_back(type, d, d_ff, 3 * e + 2);
    }
  }
  std::vector<Weights> gate, up, down;
};

struct PackedMixture {
  PackedMixture(Backend& backend, const MixtureWeights& weights) {
    experts.activation = Activation::kGelu;
    const auto pack = [&](const std::vector<Weights>& from, std::vector<Linear>& to) {
      for (const Weights& w : from) {
        matrices.push_back(backend.pack("expert", w.view()));
        to.push_back({matrices.back().get(), nullptr});
      }
    };
    pack(weights.gate, experts.gate);
    pack(weights.up, experts.up);
    pack(weights.down, experts.down);
  }
  std::vector<std::unique_ptr<Matrix>> matrices;
  Experts experts;
};

TEST_P(LayerPromisesTest, ARowOfAMixtureDoesNotDependOnItsBatch) {
  for (DType type : {DType::kF16, DType::kQ4_0, DType::kQ8_0}) {
    for (Precision precision : {Precision::kDefault, Precision::kExact}) {
      const MixtureWeights weights(type, 64, 96);
      Rows x(200, 64, 1), scores(200, MixtureWeights::kExperts, 2);
      std::map<int, std::pair<std::unique_ptr<Backend>, std::unique_ptr<PackedMixture>>> packed;
      for (const Machine& machine : machines()) {
        auto backend = machine.backend(precision);
        auto mixture = std::make_unique<PackedMixture>(*backend, weights);
        packed[machine.threads] = {std::move(backend), std::move(mixture)};
      }
      expect_same_rows(machines(), 200, fmt::format("{} experts", format_of(type).name),
                       [&](const Machine& machine, int64_t first, int64_t rows) {
                         const auto& [backend, mixture] = packed[machine.threads];
                         const auto ops = backend->make_ops();
                         const Routes routes = ops->route(scores.tensor(rows, first), 2);
                         return rows_of(ops->experts_mlp(mixture->experts, routes, x.tensor(rows, first)));
                       });
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(LayerPromisesTest, ARowOfAProductByHeadDoesNotDependOnItsBatch) {
  constexpr int64_t kHeads = 3;
  for (DType type : {DType::kF16, DType::kQ8_0}) {
    std::vector<Weights> weights;
    for (uint32_t h = 0; h < kHeads; ++h) weights.emplace_back(type, 33, 64, h + 1);
    Rows x(100, kHeads * 64, 1);
    std::map<int, std::unique_ptr<Backend>> backends;
    std::map<int, std::vector<std::unique_ptr<Matrix>>> matrices;
    for (const Machine& machine : machines()) {
      backends[machine.threads] = machine.backend();
      for (const Weights& w : weights)
        matrices[machine.threads].push_back(backends[machine.threads]->pack("head", w.view()));
    }
    expect_same_rows(machines(), 100, fmt::format("{} by head", format_of(type).name),
                     [&](const Machine& machine, int64_t first, int64_t rows) {
                       std::vector<Linear> w;
                       for (const auto& matrix : matrices[machine.threads]) w.push_back({matrix.get(), nullptr});
                       const auto ops = backends[machine.threads]->make_ops();
                       ops->begin_step();
                       Tensor y = ops->linear_by_head(w, Ops::split_heads(x.tensor(rows, first), kHeads));
                       y.shape = {rows, kHeads * 33};
                       return rows_of(y);
                     });
    if (HasFatalFailure()) return;
  }
}

// A model of layers with streams, experts and per-layer inputs, to see what a step keeps and what it takes.
struct LayeredModel {
  static constexpr int64_t kD = 64;
  LayeredModel(Backend& backend, DType type)
      : weights(type, kD, kD, 1),
        mixture_weights(type, kD, kD),
        square(backend.pack("w", weights.view())),
        table(backend.table("t", weights.view())),
        mixture(backend, mixture_weights),
        gain(random_floats(kD, 3)),
        router_weights(DType::kF32, MixtureWeights::kExperts, kD, 4),
        router(backend.pack("r", router_weights.view())) {}

  Tensor forward(Ops& ops, std::span<const int32_t> tokens, int layers) const {
    const Linear linear{square.get(), nullptr}, scores{router.get(), nullptr};
    const Norm norm{.gain = gain.data(), .size = kD, .eps = 1e-5f};
    ops.begin_step();
    const Tensor first = ops.embed(*table, tokens, {.scale = 8.0f});
    const Tensor inputs = ops.norm(norm, first);
    ops.keep();
    const std::array<Tensor, 2> parts = {first, inputs};
    Tensor streams = ops.stack(parts);
    for (int i = 0; i < layers; ++i) {
      Tensor x = ops.stream(streams, 0);
      const Routes routes = ops.route(ops.linear(scores, ops.norm(norm, x)), 2);
      x = ops.norm(norm, ops.experts_mlp(mixture.experts, routes, x), {.add_to = x});
      const Tensor gate = ops.linear(linear, x);
      ops.apply(kKeepLargest, gate, {.a = 0.1f});
      ops.apply(kGeluMul, gate, {.y = inputs});
      ops.apply(kMatchMagnitude, gate, {.y = x, .a = 1e-5f});
      ops.add_to_streams(streams, gate, std::array<float, 2>{1.0f, 0.5f});
      streams = ops.end_layer(streams);
    }
    return ops.linear(linear, ops.stream(streams, 0));
  }

  Weights weights;
  MixtureWeights mixture_weights;
  std::unique_ptr<Matrix> square, table;
  PackedMixture mixture;
  std::vector<float> gain;
  Weights router_weights;
  std::unique_ptr<Matrix> router;
};

TEST_P(LayerPromisesTest, AStepOfLayersAllocatesNothingOnceItsSizesHaveBeenSeen) {
  for (const Machine& machine : machines()) {
    for (DType type : {DType::kQ4_0, DType::kF16}) {
      const auto backend = machine.backend();
      const auto ops = backend->make_ops();
      const LayeredModel model(*backend, type);
      std::vector<int32_t> prompt, token = {5};
      for (int32_t i = 0; i < 50; ++i) prompt.push_back(i);
      const auto run = [&] {
        model.forward(*ops, prompt, 3);
        model.forward(*ops, token, 3);
      };
      for (int i = 0; i < 3; ++i) run();
      ops->begin_step();  // joins what the last step needed
      const size_t arena = ops->arena_bytes();
      const int64_t before = allocation_count();
      for (int i = 0; i < 3; ++i) run();
      EXPECT_EQ(allocation_count(), before) << format_of(type).name << ", " << machine.threads << " threads";
      EXPECT_EQ(ops->arena_bytes(), arena) << format_of(type).name << ", " << machine.threads << " threads";
    }
  }
}

// 2 layers and 60 take the same: 60 of these would not fit the first megabytes.
TEST_P(LayerPromisesTest, ManyLayersTakeTheMemoryOfOne) {
  const Machine machine = machines()[0];
  const auto backend = machine.backend();
  const LayeredModel model(*backend, DType::kQ8_0);
  const std::vector<int32_t> tokens(machine.emulated ? 40 : 400, 7);
  const auto bytes = [&](int layers) {
    const auto ops = backend->make_ops();
    for (int i = 0; i < 2; ++i) model.forward(*ops, tokens, layers);
    ops->begin_step();
    return ops->arena_bytes();
  };
  EXPECT_EQ(bytes(2), bytes(machine.emulated ? 10 : 60));
}

TEST_P(LayerPromisesTest, WhatIsKeptOutlivesLayersAndWhatALayerEndsWithGoesOn) {
  const auto backend = machines()[0].backend();
  const auto ops = backend->make_ops();
  // Rows of several sizes: x moves over its own old place, and far.
  for (int64_t rows : {1, 5, 300}) {
    Rows source(rows, 40, 1);
    std::vector<int32_t> all;
    for (int64_t r = 0; r < rows; ++r) all.push_back(static_cast<int32_t>(r));
    ops->begin_step();
    const Tensor kept = ops->gather_rows(source.tensor(rows), all), kept_too = ops->gather_rows(kept, all);
    ops->apply(kScale, kept_too, {.a = 2.0f});
    ops->keep();
    Tensor x = ops->gather_rows(kept, all);
    std::vector<float> want = source.values;
    for (int layer = 0; layer < 4; ++layer) {
      for (int i = 0; i < layer; ++i) ops->gather_rows(kept_too, all);  // in between, so that x lies elsewhere
      const Tensor y = ops->gather_rows(x, all);
      ops->apply(kAddScaled, y, {.y = kept_too, .a = 0.5f});
      x = ops->end_layer(y);
      ASSERT_EQ(x.shape, (Shape{rows, 40}));
      for (size_t i = 0; i < want.size(); ++i) {
        want[i] += source.values[i];
        ASSERT_EQ(x.data[i], want[i]) << rows << " rows, layer " << layer;
        ASSERT_EQ(kept.data[i], source.values[i]) << rows << " rows, layer " << layer;
        ASSERT_EQ(kept_too.data[i], 2 * source.values[i]) << rows << " rows, layer " << layer;
      }
    }
  }
}

TEST_P(LayerPromisesTest, ALayerMayEndWithNothing) {
  const auto backend = machines()[0].backend();
  const auto ops = backend->make_ops();
  Rows source(3, 40, 1);
  const std::vector<int32_t> all = {0, 1, 2};
  ops->begin_step();
  const Tensor kept = ops->gather_rows(source.tensor(3), all);
  ops->keep();
  ops->gather_rows(kept, all);
  EXPECT_TRUE(ops->end_layer({}).empty());
  ops->apply(kScale, ops->gather_rows(kept, all), {.a = 3.0f});
  EXPECT_EQ(std::memcmp(kept.data, source.values.data(), source.values.size() * sizeof(float)), 0);
}

// The int8 form of a kept tensor is made when a layer first multiplies it. It must not be taken for good when that
// layer's memory has gone to the next one.
TEST_P(LayerPromisesTest, AKeptTensorIsMultipliedInSeveralLayers) {
  for (const Machine& machine : machines()) {
    for (bool is_fine : {false, true}) {
      const auto backend = machine.backend();
      const auto ops = backend->make_ops();
      const Weights w(DType::kQ8_0, 64, 64, 1);
      const auto weight = backend->pack("w", w.view());
      const Linear linear{weight.get(), nullptr, is_fine};
      Rows source(5, 64, 2), other(5, 64, 3);
      const std::vector<int32_t> all = {0, 1, 2, 3, 4};
      ops->begin_step();
      const auto want = rows_of(ops->linear(linear, source.tensor(5)));
      ops->begin_step();
      const Tensor kept = ops->gather_rows(source.tensor(5), all);
      const Tensor before = ops->gather_rows(source.tensor(5), all);
      EXPECT_EQ(rows_of(ops->linear(linear, before)), want);  // this one's form is kept too
      ops->keep();
      for (int layer = 0; layer < 3; ++layer) {
        const Tensor x = ops->gather_rows(other.tensor(5), all);
        for (int i = 0; i < layer; ++i) ops->linear(linear, x);
        ASSERT_TRUE(rows_of(ops->linear(linear, kept)) == want) << "layer " << layer << (is_fine ? ", fine" : "");
        ASSERT_TRUE(rows_of(ops->linear(linear, before)) == want) << "layer " << layer << (is_fine ? ", fine" : "");
        ops->end_layer(ops->linear(linear, x));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Isa, LayerPromisesTest, testing::ValuesIn(every_isa()), isa_test_name);

}  // namespace
}  // namespace ingle::conformance
