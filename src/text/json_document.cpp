// Boost.JSON's parser without its values: it reports what it sees, without recursion, and we write it down.
#include "text/json_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/basic_parser_impl.hpp>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/error.h"

namespace ingle {
namespace {

constexpr size_t kMaxBytes = size_t{256} << 20;  // the largest real file has 33 MB
constexpr size_t kMaxDepth = 100;
constexpr size_t kMaxValues = size_t{1} << 24;  // the largest real file has 2.3 million

// `large`: what fits no double is an infinity, not a zero.
double nearest_double(std::string_view text, bool large) {
  double number = 0;
  const std::from_chars_result result = std::from_chars(text.data(), text.data() + text.size(), number);
  if (result.ec == std::errc()) return number;
  return std::copysign(large ? std::numeric_limits<double>::infinity() : 0.0, text[0] == '-' ? -1 : 1);
}

}  // namespace

// Called back by the parser. A false return with `ec` set stops it.
class JsonHandler {
 public:
  static constexpr size_t max_object_size = std::numeric_limits<uint32_t>::max();
  static constexpr size_t max_array_size = std::numeric_limits<uint32_t>::max();
  static constexpr size_t max_key_size = kMaxBytes;
  static constexpr size_t max_string_size = kMaxBytes;

  using Ec = boost::json::error_code;
  using Text = boost::json::string_view;

  explicit JsonHandler(JsonDocument& document) : document_(document) {}

  bool on_document_begin(Ec&) { return true; }
  bool on_document_end(Ec&) { return true; }
  bool on_object_begin(Ec& ec) { return open(JsonDocument::Kind::kObject, ec); }
  bool on_object_end(size_t n, Ec&) { return close(n); }
  bool on_array_begin(Ec& ec) { return open(JsonDocument::Kind::kArray, ec); }
  bool on_array_end(size_t n, Ec&) { return close(n); }
  bool on_key_part(Text s, size_t, Ec&) { return append(s); }
  bool on_key(Text s, size_t n, Ec&) {
    append(s);
    key_ = last(n);
    return true;
  }
  bool on_string_part(Text s, size_t, Ec&) { return append(s); }
  bool on_string(Text s, size_t n, Ec& ec) {
    append(s);
    JsonDocument::Node node = fresh(JsonDocument::Kind::kString);
    node.string = last(n);
    return add(node, ec);
  }
  bool on_number_part(Text s, Ec&) {
    number_.append(s.data(), s.size());
    return true;
  }
  bool on_int64(int64_t i, Text, Ec& ec) { return add_integer(i, ec); }
  bool on_uint64(uint64_t, Text s, Ec& ec) {
    number_.append(s.data(), s.size());
    return add_long_integer(ec);
  }
  // Also what is written as an integer and does not fit. The parser's own conversion is not always the nearest double.
  bool on_double(double d, Text s, Ec& ec) {
    number_.append(s.data(), s.size());
    if (number_ == "-0") return add_integer(0, ec);
    if (number_.find_first_of(".eE") == number_.npos) return add_long_integer(ec);
    JsonDocument::Node node = fresh(JsonDocument::Kind::kNumber);
    node.number = nearest_double(number_, std::abs(d) > 1);
    number_.clear();
    return add(node, ec);
  }
  bool on_bool(bool b, Ec& ec) {
    JsonDocument::Node node = fresh(JsonDocument::Kind::kBool);
    node.boolean = b;
    return add(node, ec);
  }
  bool on_null(Ec& ec) { return add(fresh(JsonDocument::Kind::kNull), ec); }
  bool on_comment_part(Text, Ec&) { return true; }
  bool on_comment(Text, Ec&) { return true; }

  bool too_many() const { return document_.nodes_.size() >= kMaxValues; }

 private:
  bool append(Text s) {
    document_.strings_.append(s.data(), s.size());
    return true;
  }
  JsonDocument::Slice last(size_t n) const {
    return {static_cast<uint32_t>(document_.strings_.size() - n), static_cast<uint32_t>(n)};
  }
  JsonDocument::Node fresh(JsonDocument::Kind kind) {
    JsonDocument::Node node{};
    node.kind = kind;
    node.key = key_;
    node.next = static_cast<uint32_t>(document_.nodes_.size() + 1);
    key_ = {};
    return node;
  }
  bool add(const JsonDocument::Node& node, Ec& ec) {
    if (too_many()) ec = boost::json::error::array_too_large;
    document_.nodes_.push_back(node);
    return !ec;
  }
  bool add_integer(int64_t i, Ec& ec) {
    JsonDocument::Node node = fresh(JsonDocument::Kind::kInteger);
    node.integer = i;
    number_.clear();
    return add(node, ec);
  }
  bool add_long_integer(Ec& ec) {
    JsonDocument::Node node = fresh(JsonDocument::Kind::kLongInteger);
    append(number_);
    node.string = last(number_.size());
    number_.clear();
    return add(node, ec);
  }
  bool open(JsonDocument::Kind kind, Ec& ec) {
    open_.push_back(static_cast<uint32_t>(document_.nodes_.size()));
    return add(fresh(kind), ec);
  }
  bool close(size_t n) {
    JsonDocument::Node& node = document_.nodes_[open_.back()];
    node.count = static_cast<int64_t>(n);
    node.next = static_cast<uint32_t>(document_.nodes_.size());
    open_.pop_back();
    return true;
  }

  JsonDocument& document_;
  JsonDocument::Slice key_ = {};
  std::string number_;
  std::vector<uint32_t> open_;
};

JsonDocument::JsonDocument(std::string_view text, std::string name, Strings strings) : name_(std::move(name)) {
  if (text.size() > kMaxBytes) {
    throw_error(ErrorCode::kInvalidFile, "{}: {} bytes, at most {} are read", name_, text.size(), kMaxBytes);
  }
  strings_.reserve(text.size() / 2);
  nodes_.reserve(text.size() / 16);
  boost::json::parse_options options;
  options.max_depth = kMaxDepth;
  options.allow_invalid_utf8 = strings == Strings::kAnyBytes;
  boost::json::basic_parser<JsonHandler> parser(options, *this);
  boost::json::error_code ec;
  const size_t read = parser.write_some(false, text.data(), text.size(), ec);
  if (!ec && read < text.size()) ec = boost::json::error::extra_data;
  if (ec && parser.handler().too_many()) {
    throw_error(ErrorCode::kInvalidFile, "{}: more than {} values", name_, kMaxValues);
  }
  if (ec) {
    throw_error(ErrorCode::kInvalidFile, "{}: not JSON: {} at byte {} of {}", name_, ec.message(), read, text.size());
  }
}

JsonValue JsonDocument::root() const noexcept { return JsonValue(this, 0); }

namespace {

constexpr std::string_view kKindNames[] = {"null",     "true or false", "an integer", "an integer beyond 64 bits",
                                           "a number", "a string",      "an array",   "an object"};

}  // namespace

void JsonValue::expect(JsonDocument::Kind kind) const {
  if (node().kind == kind) return;
  fail(fmt::format("is {}, not {}", kKindNames[static_cast<size_t>(node().kind)],
                   kKindNames[static_cast<size_t>(kind)]));
}

bool JsonValue::boolean() const {
  expect(JsonDocument::Kind::kBool);
  return node().boolean;
}

int64_t JsonValue::integer() const {
  expect(JsonDocument::Kind::kInteger);
  return node().integer;
}

double JsonValue::number() const {
  if (is_integer()) return static_cast<double>(node().integer);
  if (is_long_integer()) return nearest_double(digits(), true);
  expect(JsonDocument::Kind::kNumber);
  return node().number;
}

std::string_view JsonValue::digits() const {
  expect(JsonDocument::Kind::kLongInteger);
  return document_->view(node().string);
}

namespace {

int base64_digit(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  return c == '+' ? 62 : c == '/' ? 63 : -1;
}

}  // namespace

std::string JsonValue::base64() const {
  std::string_view text = string();
  if (text.size() % 4 != 0) fail(fmt::format("{} characters, base64 has fours of them", text.size()));
  std::string out;
  while (!text.empty()) {
    uint32_t bits = 0;
    int digits = 0;
    for (; digits < 4 && text[static_cast<size_t>(digits)] != '='; ++digits) {
      const int digit = base64_digit(text[static_cast<size_t>(digits)]);
      if (digit < 0) fail("not base64");
      bits = bits << 6 | static_cast<uint32_t>(digit);
    }
    const bool last = text.size() == 4;
    if (digits < 4 && (!last || digits < 2 || text[3] != '=')) fail("not base64");
    bits <<= 6 * (4 - digits);
    for (int i = 0; i + 1 < digits; ++i) out += static_cast<char>(bits >> (16 - 8 * i) & 0xFF);
    text.remove_prefix(4);
  }
  return out;
}

std::string_view JsonValue::string() const {
  expect(JsonDocument::Kind::kString);
  return document_->view(node().string);
}

JsonValue::Items JsonValue::items() const {
  expect(JsonDocument::Kind::kArray);
  return Items(document_, index_ + 1, node().next);
}

JsonValue::Items JsonValue::members() const {
  expect(JsonDocument::Kind::kObject);
  return Items(document_, index_ + 1, node().next);
}

size_t JsonValue::size() const {
  if (!is_object()) expect(JsonDocument::Kind::kArray);
  return static_cast<size_t>(node().count);
}

JsonValue JsonValue::find(std::string_view key) const {
  for (JsonValue member : members()) {
    if (member.key() == key) return member;
  }
  return JsonValue();
}

JsonValue JsonValue::at(std::string_view key) const {
  const JsonValue member = find(key);
  if (!member) fail(fmt::format("has no \"{}\"", key));
  return member;
}

void JsonValue::allow_only(std::initializer_list<std::string_view> keys) const {
  uint64_t seen = 0;
  for (JsonValue member : members()) {
    const auto key = std::find(keys.begin(), keys.end(), member.key());
    if (key == keys.end()) member.unsupported("not known here");
    const uint64_t bit = uint64_t{1} << (key - keys.begin());
    if ((seen & bit) != 0) member.fail("given twice");
    seen |= bit;
  }
}

// From the root down, each time into the child that holds this node. Only errors need it.
std::string JsonValue::path() const {
  std::string out;
  for (uint32_t parent = 0; parent != index_;) {
    const bool array = document_->nodes_[parent].kind == JsonDocument::Kind::kArray;
    size_t n = 0;
    uint32_t child = parent + 1;
    for (; document_->nodes_[child].next <= index_; child = document_->nodes_[child].next) ++n;
    if (array) {
      out += fmt::format("[{}]", n);
    } else {
      const std::string_view key = document_->view(document_->nodes_[child].key);
      if (!out.empty()) out += '.';
      out += key.substr(0, 100);
    }
    parent = child;
  }
  return out;
}

std::string JsonValue::described() const {
  const std::string where = path();
  return where.empty() ? document_->name_ : document_->name_ + ": " + where;
}

void JsonValue::fail(std::string_view message) const {
  throw_error(ErrorCode::kInvalidFile, "{}: {}", described(), message);
}

void JsonValue::unsupported(std::string_view message) const {
  throw_error(ErrorCode::kUnsupported, "{}: {}", described(), message);
}

}  // namespace ingle
