#include "ingle/quantize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>

#include "gguf/writer.h"
#include "ingle/convert.h"
#include "ingle/ingle.h"
#include "runtime/file_types.h"
#include "tests/expect_error.h"
#include "tests/gguf/temporary_folder.h"

namespace ingle {
namespace {

class Quantize : public testing::Test {
 protected:
  // Two layers of 256 columns, a norm and a router.
  Quantize() {
    GgufWriter writer(folder_ / "source.gguf");
    writer.set<std::string>("general.architecture", "llama");
    writer.set<std::string>("general.name", "small");
    writer.set<uint32_t>("general.file_type", 0);
    add(writer, "token_embd.weight", {8, 256});
    for (const char* block : {"blk.0.", "blk.1."}) {
      for (const char* part : {"attn_q", "attn_k", "attn_v", "attn_output", "ffn_down"})
        add(writer, block + std::string(part) + ".weight", {8, 256});
      add(writer, block + std::string("attn_norm.weight"), {256});
      add(writer, block + std::string("ffn_gate_inp.weight"), {2, 256});
      add(writer, block + std::string("ffn_up_exps.weight"), {2, 4, 256});
    }
    add(writer, "blk.0.odd.weight", {4, 96});
    writer.finish();
  }

  void add(GgufWriter& writer, const std::string& name, const Shape& shape) {
    std::vector<float>& numbers = kept_.emplace_back(static_cast<size_t>(shape.elements()));
    uint32_t state = static_cast<uint32_t>(kept_.size());
    for (float& number : numbers) {
      state = state * 1664525u + 1013904223u;
      number = static_cast<float>(static_cast<int32_t>(state)) * 0x1p-31f;
    }
    writer.add_tensor(name, DType::kF32, shape, std::as_bytes(std::span(numbers)));
  }

  std::filesystem::path source() const { return folder_ / "source.gguf"; }
  std::filesystem::path target() const { return folder_ / "target.gguf"; }
  DType type_of(const std::string& name) const { return GgufFile::open(target()).find(name)->type; }
  std::string complaint(QuantizeOptions options) {
    try {
      quantize_file(source(), target(), options);
    } catch (const Error& error) {
      EXPECT_FALSE(std::filesystem::exists(target()));
      return error.what();
    }
    return "";
  }

  test::TemporaryFolder folder_;
  std::vector<std::vector<float>> kept_;
};

TEST_F(Quantize, MatricesGetTheTypeAndSmallThingsStay) {
  const QuantizeReport report = quantize_file(source(), target(), {.type = "q4_0"});
  EXPECT_EQ(type_of("blk.0.attn_q.weight"), DType::kQ4_0);
  EXPECT_EQ(type_of("blk.0.attn_norm.weight"), DType::kF32);
  EXPECT_EQ(type_of("blk.0.ffn_gate_inp.weight"), DType::kF32);
  EXPECT_EQ(type_of("token_embd.weight"), DType::kQ6_K);  // the output matrix too
  EXPECT_EQ(GgufFile::open(target()).get_int("general.file_type"), 2);
  EXPECT_EQ(GgufFile::open(target()).get_string("general.name"), "small");
  EXPECT_LT(report.to_bytes, report.from_bytes / 4);
  const auto q = std::ranges::find(report.tensors, "blk.0.attn_q.weight", &QuantizedTensor::name);
  EXPECT_GT(q->relative_error, 0.02);
  EXPECT_LT(q->relative_error, 0.15);
  const auto norm = std::ranges::find(report.tensors, "blk.0.attn_norm.weight", &QuantizedTensor::name);
  EXPECT_EQ(norm->relative_error, 0);
}

TEST_F(Quantize, WhatIsReadIsNotReplaced) {
  const auto refused = [](const std::filesystem::path& from, const std::filesystem::path& to, QuantizeOptions options) {
    const std::string before = test::read_bytes(to);
    test::expect_error([&] { quantize_file(from, to, options); }, ErrorCode::kInvalidArgument,
                       "it cannot be the one to write");
    EXPECT_TRUE(test::read_bytes(to) == before) << to;
  };
  refused(source(), source(), {});
  const QuantizeOptions split{.type = "f32", .max_shard_bytes = 40'000};
  const std::vector<std::filesystem::path> shards = quantize_file(source(), folder_ / "m.gguf", split).files;
  ASSERT_GT(shards.size(), 2u);
  for (const std::filesystem::path& shard : shards) refused(shards[0], shard, {});
  const std::string before = test::read_bytes(shards[0]);
  test::expect_error([&] { quantize_file(shards[0], folder_ / "m.gguf", split); }, ErrorCode::kInvalidArgument,
                     shards[0].native() + ": is a file to read");
  EXPECT_TRUE(test::read_bytes(shards[0]) == before);
  const auto text = folder_.write("text", "x");
  refused(source(), text, {.keep = {text}});
}

TEST_F(Quantize, BytesAreThoseOfTheEncoder) {
  quantize_file(source(), target(), {.type = "q8_0", .threads = 3});
  const GgufFile from = GgufFile::open(source()), to = GgufFile::open(target());
  for (const char* name : {"blk.0.attn_q.weight", "blk.1.ffn_up_exps.weight", "blk.0.odd.weight"}) {
    const ConstTensorView x = *from.find(name), y = *to.find(name);
    ASSERT_EQ(y.type, DType::kQ8_0) << name;
    std::vector<std::byte> expected(y.bytes());
    format_of(DType::kQ8_0)
        .encode(reinterpret_cast<const float*>(x.data), expected.data(), x.shape.elements(), nullptr);
    EXPECT_EQ(std::memcmp(expected.data(), y.data, y.bytes()), 0) << name;
  }
}

TEST_F(Quantize, RowsThatAreNoWholeBlocksGetSomethingWider) {
  quantize_file(source(), target(), {.type = "q4_k_m"});
  EXPECT_EQ(type_of("blk.0.odd.weight"), DType::kQ5_0);
  EXPECT_EQ(type_of("blk.0.attn_q.weight"), DType::kQ4_K);
}

TEST_F(Quantize, OverridesGoFirstAndTheFirstThatMatchesCounts) {
  quantize_file(source(), target(),
                {.type = "q4_k_m", .overrides = {{"blk\\.1\\.attn_v", "q8_0"}, {"attn_v", "q5_0"}}});
  EXPECT_EQ(type_of("blk.1.attn_v.weight"), DType::kQ8_0);
  EXPECT_EQ(type_of("blk.0.attn_v.weight"), DType::kQ5_0);
  quantize_file(source(), target(), {.type = "q4_k_m", .pure = true});
  EXPECT_EQ(type_of("token_embd.weight"), DType::kQ4_K);
}

TEST_F(Quantize, ImportanceSparesTheColumnsThatMatter) {
  const auto write = [&](int64_t columns) {
    std::vector<float> sums(static_cast<size_t>(columns), 1e-3f), counts{4};
    for (size_t i = 0; i < 16; ++i) sums[i] = 1000;
    GgufWriter writer(folder_ / "imatrix.gguf");
    writer.set<std::string>("general.type", "imatrix");
    writer.add_tensor("blk.0.attn_q.weight.in_sum2", DType::kF32, {1, columns}, std::as_bytes(std::span(sums)));
    writer.add_tensor("blk.0.attn_q.weight.counts", DType::kF32, {1, 1}, std::as_bytes(std::span(counts)));
    writer.finish();
  };
  const auto error_of_first_columns = [&] {
    const GgufFile from = GgufFile::open(source()), to = GgufFile::open(target());
    const ConstTensorView x = *from.find("blk.0.attn_q.weight"), y = *to.find("blk.0.attn_q.weight");
    double sum = 0;
    std::vector<float> row(256);
    for (int64_t r = 0; r < 8; ++r) {
      format_of(y.type).decode(y.row(r), row.data(), 256);
      for (size_t i = 0; i < 16; ++i) sum += std::pow(row[i] - reinterpret_cast<const float*>(x.row(r))[i], 2);
    }
    return sum;
  };
  quantize_file(source(), target(), {.type = "q4_0"});
  const double plain = error_of_first_columns();
  write(256);
  const QuantizeReport report =
      quantize_file(source(), target(), {.type = "q4_0", .importance = folder_ / "imatrix.gguf"});
  EXPECT_LT(error_of_first_columns(), 0.75 * plain);
  EXPECT_EQ(std::ranges::count(report.tensors, true, &QuantizedTensor::weighted), 1);
  std::filesystem::remove(target());
  write(128);
  EXPECT_NE(complaint({.type = "q4_0", .importance = folder_ / "imatrix.gguf"}).find("1 matrices of 128 columns"),
            std::string::npos);
  EXPECT_NE(complaint({.type = "q4_0", .importance = source()}).find("not a file of importance"), std::string::npos);
}

// Only how columns compare counts: in which units, and of how many rows, the sums are, changes no bit.
TEST_F(Quantize, AFactorCommonToAllImportanceChangesNothing) {
  const auto bytes = [&](const char* type, float factor, float count) {
    std::vector<float> sums(256), counts{count};
    for (size_t i = 0; i < sums.size(); ++i) sums[i] = factor * static_cast<float>(1 + i * i % 97);
    GgufWriter writer(folder_ / "imatrix.gguf");
    writer.set<std::string>("general.type", "imatrix");
    writer.add_tensor("blk.0.attn_q.weight.in_sum2", DType::kF32, {1, 256}, std::as_bytes(std::span(sums)));
    writer.add_tensor("blk.0.attn_q.weight.counts", DType::kF32, {1, 1}, std::as_bytes(std::span(counts)));
    writer.finish();
    quantize_file(source(), target(), {.type = type, .pure = true, .importance = folder_ / "imatrix.gguf"});
    const GgufFile file = GgufFile::open(target());
    const ConstTensorView view = *file.find("blk.0.attn_q.weight");
    return std::vector<std::byte>(view.data, view.data + view.bytes());
  };
  for (const char* type : {"q2_k", "q3_k", "q4_k", "q5_k", "q6_k", "q4_0", "q5_1", "iq4_nl", "iq4_xs", "iq2_xxs",
                           "iq2_s", "iq3_xxs", "iq1_s", "iq1_m"}) {
    const std::vector<std::byte> usual = bytes(type, 1, 1);
    EXPECT_EQ(bytes(type, 0x1p100f, 1), usual) << type;
    EXPECT_EQ(bytes(type, 0x1p-100f, 1), usual) << type;
    EXPECT_EQ(bytes(type, 0x1p120f, 0x1p-20f), usual) << type;
  }
}

TEST_F(Quantize, FewBitsWithoutImportanceAreCounted) {
  EXPECT_EQ(quantize_file(source(), target(), {.type = "iq2_xxs"}).unweighted, 10);  // attn_v has more
  EXPECT_EQ(type_of("blk.0.attn_q.weight"), DType::kIQ2_XXS);
  EXPECT_EQ(type_of("blk.0.odd.weight"), DType::kIQ4_NL);
  EXPECT_EQ(quantize_file(source(), target(), {.type = "iq3_s"}).unweighted, 0);
}

// No columns, no rows, no matrices: nothing to divide by.
TEST_F(Quantize, TensorsOfNothingStayNothing) {
  GgufWriter empty(folder_ / "empty.gguf");
  empty.set<std::string>("general.architecture", "llama");
  add(empty, "blk.0.ffn_up.weight", {4, 0});
  add(empty, "blk.0.attn_norm.weight", {0});
  add(empty, "blk.0.ffn_down_exps.weight", {3, 0, 256});
  add(empty, "blk.0.ffn_up_exps.weight", {0, 4, 256});
  empty.finish();
  const std::vector<float> sums(size_t{3} * 256, 1.0f), counts(3, 1.0f);
  GgufWriter imatrix(folder_ / "imatrix.gguf");
  imatrix.set<std::string>("general.type", "imatrix");
  imatrix.add_tensor("blk.0.ffn_down_exps.weight.in_sum2", DType::kF32, {3, 256}, std::as_bytes(std::span(sums)));
  imatrix.add_tensor("blk.0.ffn_down_exps.weight.counts", DType::kF32, {3, 1}, std::as_bytes(std::span(counts)));
  imatrix.finish();
  const QuantizeReport report =
      quantize_file(folder_ / "empty.gguf", target(), {.type = "q4_0", .importance = folder_ / "imatrix.gguf"});
  const GgufFile file = GgufFile::open(target());
  ASSERT_EQ(report.tensors.size(), 4u);
  for (const QuantizedTensor& tensor : report.tensors) {
    EXPECT_EQ(file.find(tensor.name)->bytes(), 0u) << tensor.name;
    EXPECT_EQ(tensor.relative_error, 0) << tensor.name;
  }
}

// In no type may a number that is none, or becomes none, pass as a weight.
TEST_F(Quantize, NumbersThatAreNotFiniteAreNamed) {
  const auto said = [&](float number, const char* type) {
    std::vector<float> weights(size_t{8} * 256, 0.5f);
    weights[3 * 256 + 7] = number;
    GgufWriter writer(folder_ / "spoilt.gguf");
    writer.set<std::string>("general.architecture", "llama");
    writer.add_tensor("blk.0.ffn_up.weight", DType::kF32, {8, 256}, std::as_bytes(std::span(weights)));
    writer.finish();
    try {
      quantize_file(folder_ / "spoilt.gguf", target(), {.type = type, .pure = true, .threads = 2});
    } catch (const Error& error) {
      EXPECT_FALSE(std::filesystem::exists(target()));
      return std::string(error.what());
    }
    return std::string();
  };
  constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNaN = std::numeric_limits<float>::quiet_NaN();
  for (const std::string& type : encodable_types()) {
    if (type == "f32") continue;  // what stays as it is is copied
    EXPECT_EQ(said(kNaN, type.c_str()),
              "blk.0.ffn_up.weight: row 3: column 7 is nan, not a finite number: the weights are damaged")
        << type;
    EXPECT_NE(said(-kInfinity, type.c_str()).find("row 3: column 7 is -inf"), std::string::npos) << type;
  }
  EXPECT_EQ(said(70000, "f16"),
            "blk.0.ffn_up.weight: row 3: 70000 in column 7 would become inf as F16; choose a type of more range, such "
            "as bf16");
  EXPECT_NE(said(1e20f, "q4_k").find("such as bf16"), std::string::npos);
  EXPECT_EQ(said(70000, "bf16"), "");
}

TEST_F(Quantize, FilesThatAreNoModelsAreSaidToBeWhatTheyAre) {
  for (const auto& [type, said] : {std::pair{"adapter", "is an adapter (LoRA)"}, {"imatrix", "(imatrix)"}}) {
    GgufWriter writer(folder_ / "other.gguf");
    writer.set<std::string>("general.type", type);
    add(writer, "blk.0.attn_q.weight", {8, 256});
    writer.finish();
    try {
      quantize_file(folder_ / "other.gguf", target());
      ADD_FAILURE() << type;
    } catch (const Error& error) {
      EXPECT_NE(std::string_view(error.what()).find(said), std::string_view::npos) << error.what();
      EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
    }
  }
}

TEST_F(Quantize, WhatCannotBeIsSaid) {
  EXPECT_NE(complaint({.type = "q9"}).find("known are f32, "), std::string::npos);
  EXPECT_NE(complaint({.overrides = {{"(", "q8_0"}}}).find("'('"), std::string::npos);
  EXPECT_NE(complaint({.overrides = {{"attn_v", "q8_0"}, {"attn_w", "q8_0"}}}).find("'attn_w': no tensor of "),
            std::string::npos);
  EXPECT_NE(complaint({.overrides = {{"attn_norm|gate_inp", "q8_0"}}})
                .find("stay as they are, such as blk.0.attn_norm.weight"),
            std::string::npos);
  EXPECT_NE(complaint({.overrides = {{"odd", "q6_k"}}}).find("rows of 96 are no whole blocks of Q6_K"),
            std::string::npos);
  EXPECT_NE(complaint({.progress = [](double) { return false; }}).find("cancelled"), std::string::npos);
  EXPECT_THROW(quantize_file(source(), source()), Error);
  EXPECT_THROW(quantize_file(folder_ / "absent.gguf", target()), Error);
}

TEST(RowEncoder, WhatFailsInAThreadFailsTheCall) {
  RowEncoder encoder(3);
  std::vector<std::byte> out;
  const auto no_memory = [](int64_t first, int64_t, float*) {
    if (first > 0) throw std::bad_alloc();
  };
  EXPECT_THROW(encoder.encode("t", no_memory, format_of(DType::kF16), 65536, 0, 8, nullptr, out), std::bad_alloc);
}

}  // namespace
}  // namespace ingle
