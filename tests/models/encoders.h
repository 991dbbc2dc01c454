// The golden encoders of scripts/make_encoder_golden.py: tiny, random, with the hidden rows and scores that an
// independent implementation gives.
#pragma once

#include "tests/models/golden.h"

namespace ingle::golden {

struct EncodedText {
  std::vector<TokenId> tokens;
  int64_t second = 0;  // where the second text of a pair begins; 0: there is one
  Rows rows;           // hidden, of every position
  std::vector<float> scores;
  std::string query, document;  // of what a template joins
};

struct Encoder {
  std::string name, pooling;
  int64_t d = 0;
  std::vector<std::string> labels;
  std::vector<EncodedText> texts;
  std::string file() const { return path(name + ".gguf"); }
};

inline std::vector<std::string> encoder_names() {
  std::vector<std::string> all;
  const boost::json::value listing = boost::json::parse(read_file(path("encoders.json")));
  for (const auto& model : listing.at("models").as_object()) all.emplace_back(model.key());
  return all;
}

inline Encoder load_encoder(const std::string& name) {
  const boost::json::value listing = boost::json::parse(read_file(path("encoders.json")));
  const boost::json::value& model = listing.at("models").at(name);
  Encoder encoder{.name = name,
                  .pooling = model.at("pooling").as_string().c_str(),
                  .d = model.at("d").as_int64(),
                  .labels = {},
                  .texts = {}};
  for (const boost::json::value& label : model.at("labels").as_array())
    encoder.labels.emplace_back(label.as_string().c_str());
  const std::string bytes = read_file(path(name + ".rows"));
  size_t at = 0;
  const auto next = [&](size_t count) {
    std::vector<float> numbers(count);
    if (at + count * sizeof(float) > bytes.size()) throw std::runtime_error(name + ".rows: too short");
    if (count > 0) std::memcpy(numbers.data(), bytes.data() + at, count * sizeof(float));
    at += count * sizeof(float);
    return numbers;
  };
  for (const boost::json::value& entry : model.at("texts").as_array()) {
    EncodedText text;
    text.second = entry.at("second").as_int64();
    if (const boost::json::value* query = entry.as_object().if_contains("query")) {
      text.query = query->as_string().c_str();
      text.document = entry.at("document").as_string().c_str();
    }
    for (const boost::json::value& token : entry.at("tokens").as_array())
      text.tokens.push_back(static_cast<TokenId>(token.as_int64()));
    for (size_t i = 0; i < text.tokens.size(); ++i) text.rows.push_back(next(static_cast<size_t>(encoder.d)));
    encoder.texts.push_back(std::move(text));
  }
  for (EncodedText& text : encoder.texts) text.scores = next(encoder.labels.size());
  if (at != bytes.size()) throw std::runtime_error(name + ".rows: longer than its texts");
  return encoder;
}

}  // namespace ingle::golden
