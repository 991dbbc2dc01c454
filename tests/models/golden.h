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

struct Golden {
  std::string name;
  int64_t vocab = 0, window = 0;
  std::vector<Prompt> prompts;
  std::string file() const { return path(name + ".gguf"); }
};

inline std::vector<std::string> names() {
  std::vector<std::string> all;
  const boost::json::value listing = boost::json::parse(read_file(path("golden.json")));
  for (const auto& model : listing.at("models").as_object()) all.emplace_back(model.key());
  return all;
}

inline Golden load(const std::string& name) {
  const boost::json::value listing = boost::json::parse(read_file(path("golden.json")));
  const boost::json::value& model = listing.at("models").at(name);
  Golden golden{name, model.at("vocab").as_int64(), model.at("window").as_int64(), {}};
  const std::string bytes = read_file(path(name + ".logits"));
  size_t at = 0;
  for (const boost::json::value& tokens : model.at("prompts").as_array()) {
    Prompt prompt;
    for (const boost::json::value& token : tokens.as_array()) {
      prompt.tokens.push_back(static_cast<TokenId>(token.as_int64()));
      std::vector<float> row(static_cast<size_t>(golden.vocab));
      if (at + row.size() * sizeof(float) > bytes.size()) throw std::runtime_error(name + ".logits: too short");
      std::memcpy(row.data(), bytes.data() + at, row.size() * sizeof(float));
      at += row.size() * sizeof(float);
      prompt.logits.push_back(std::move(row));
    }
    golden.prompts.push_back(std::move(prompt));
  }
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
  session.evaluate({&run, 1}, [&](const LogitsRow& row) {
    rows[static_cast<size_t>(row.position)].assign(row.logits.begin(), row.logits.end());
  });
}

inline std::vector<TokenId> slice(const std::vector<TokenId>& tokens, size_t first, size_t last) {
  return {tokens.begin() + static_cast<ptrdiff_t>(first), tokens.begin() + static_cast<ptrdiff_t>(last)};
}

}  // namespace ingle::golden
