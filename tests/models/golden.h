// The golden models of scripts/make_golden.py: tiny, random, with the logits an independent implementation gives.
#pragma once

#include <boost/json.hpp>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "ingle/session.h"

namespace ingle::golden {

inline std::string path(const std::string& file) {
  return std::string(INGLE_SOURCE_DIR) + "/tests/models/golden/" + file;
}

inline std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(path + ": cannot be read");
  return {std::istreambuf_iterator<char>(file), {}};
}

struct Prompt {
  std::vector<TokenId> tokens;
  std::vector<std::vector<float>> logits;  // of every position
};

// A prompt that goes past position 8192; read from its first token on, only the last rows have a reference.
struct LongPrompt {
  std::vector<TokenId> tokens;
  int64_t rows_from = 0;                   // position of the first row in `logits`
  std::vector<std::vector<float>> logits;  // of the positions from rows_from to the end
};

struct Golden {
  std::string name;
  int64_t vocab = 0, window = 0;
  bool quantized = false;  // some weights are
  std::vector<Prompt> prompts;
  std::vector<LongPrompt> long_prompts;  // of few models
  std::string file() const { return path(name + ".gguf"); }
};

inline std::vector<std::string> names() {
  std::vector<std::string> all;
  const boost::json::value listing = boost::json::parse(read_file(path("golden.json")));
  for (const auto& model : listing.at("models").as_object()) all.emplace_back(model.key());
  return all;
}

// Tokens given by a formula, scripts/golden/tiny.py has it too. In 32-bit unsigned arithmetic, for i = 0, 1, ...:
//   s_0 = seed,  s_(i+1) = s_i * 1664525 + 1013904223,  t_i = 3 + (s_(i+1) >> 16) mod (vocab - 3)
inline std::vector<TokenId> long_tokens(int64_t length, uint32_t seed, int64_t vocab) {
  std::vector<TokenId> tokens(static_cast<size_t>(length));
  uint32_t state = seed;
  for (TokenId& token : tokens) {
    state = state * 1664525u + 1013904223u;
    token = static_cast<TokenId>(3 + (state >> 16) % static_cast<uint32_t>(vocab - 3));
  }
  return tokens;
}

inline Golden load(const std::string& name) {
  const boost::json::value listing = boost::json::parse(read_file(path("golden.json")));
  const boost::json::value& model = listing.at("models").at(name);
  Golden golden{
      name, model.at("vocab").as_int64(), model.at("window").as_int64(), model.as_object().contains("quantized"), {},
      {}};
  const std::string bytes = read_file(path(name + ".logits"));
  size_t at = 0;
  const auto next_rows = [&](size_t count) {
    std::vector<std::vector<float>> rows(count, std::vector<float>(static_cast<size_t>(golden.vocab)));
    for (std::vector<float>& row : rows) {
      if (at + row.size() * sizeof(float) > bytes.size()) throw std::runtime_error(name + ".logits: too short");
      std::memcpy(row.data(), bytes.data() + at, row.size() * sizeof(float));
      at += row.size() * sizeof(float);
    }
    return rows;
  };
  for (const boost::json::value& tokens : model.at("prompts").as_array()) {
    Prompt prompt;
    for (const boost::json::value& token : tokens.as_array())
      prompt.tokens.push_back(static_cast<TokenId>(token.as_int64()));
    prompt.logits = next_rows(prompt.tokens.size());
    golden.prompts.push_back(std::move(prompt));
  }
  if (const boost::json::value* listed = model.as_object().if_contains("long")) {
    for (const boost::json::value& entry : listed->as_array()) {
      const int64_t length = entry.at("length").as_int64(), rows_from = entry.at("rows_from").as_int64();
      const auto seed = static_cast<uint32_t>(entry.at("seed").as_int64());
      golden.long_prompts.push_back(
          {long_tokens(length, seed, golden.vocab), rows_from, next_rows(static_cast<size_t>(length - rows_from))});
    }
  }
  if (at != bytes.size()) throw std::runtime_error(name + ".logits: longer than its prompts");
  return golden;
}

// Largest difference in units of the largest reference value.
inline double relative_error(std::span<const float> row, std::span<const float> reference) {
  double difference = 0, largest = 0;
  for (size_t i = 0; i < reference.size(); ++i) {
    difference = std::max(difference, std::abs(static_cast<double>(row[i]) - reference[i]));
    largest = std::max(largest, std::abs(static_cast<double>(reference[i])));
    if (std::isnan(row[i])) return INFINITY;
  }
  return difference / largest;
}

// Logits of one sequence, by position.
using Rows = std::vector<std::vector<float>>;

// Appends tokens to a sequence and puts the wanted rows where they belong.
inline void read(Session& session, SequenceId sequence, std::span<const TokenId> tokens, Rows& rows,
                 Want want = Want::kAll) {
  rows.resize(static_cast<size_t>(session.options().context));
  const RunRequest run{sequence, tokens, want};
  session.evaluate({&run, 1}, [&](const ResultRow& row) {
    rows[static_cast<size_t>(row.position)].assign(row.logits.begin(), row.logits.end());
  });
}

inline std::vector<TokenId> slice(const std::vector<TokenId>& tokens, size_t first, size_t last) {
  return {tokens.begin() + static_cast<ptrdiff_t>(first), tokens.begin() + static_cast<ptrdiff_t>(last)};
}

}  // namespace ingle::golden
