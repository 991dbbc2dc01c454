// A JSON text as a flat list of values: vocabularies have a million of them, each is 24 bytes here and nothing is
// copied twice. Errors say where they are as a path: model.merges[12].
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace ingle {

class JsonValue;

// Immutable once parsed; must outlive the values and strings it hands out.
class JsonDocument {
 public:
  enum class Strings { kUtf8, kAnyBytes };

  // `name` stands before every message. Throws Error{kInvalidFile}: syntax, with the byte; strings that are not UTF-8;
  // more than 256 MiB, 100 levels or 2^24 values. Duplicate keys are found by whoever reads the object (see JsonValue).
  JsonDocument(std::string_view text, std::string name, Strings strings = Strings::kUtf8);
  JsonDocument(const JsonDocument&) = delete;

  JsonValue root() const noexcept;

 private:
  friend class JsonValue;
  friend class JsonHandler;

  enum class Kind : uint8_t { kNull, kBool, kInteger, kLongInteger, kNumber, kString, kArray, kObject };
  struct Slice {
    uint32_t offset, size;  // in strings_
  };
  struct Node {
    Slice key;      // of a member of an object
    uint32_t next;  // the node behind this one and all in it
    Kind kind;
    union {
      bool boolean;
      int64_t integer;
      double number;
      Slice string;   // also the digits of a long integer
      int64_t count;  // of an array's or object's children
    };
  };

  std::string_view view(Slice s) const noexcept { return std::string_view(strings_).substr(s.offset, s.size); }

  std::string name_;
  std::string strings_;
  std::vector<Node> nodes_;  // in the text's order: a parent, then its children with all of theirs
};

// A place in a document; cheap to copy. What is read as something it is not throws Error{kInvalidFile} naming the path.
class JsonValue {
 public:
  JsonValue() = default;  // no value: operator bool is false, nothing else may be called

  bool is_null() const noexcept { return node().kind == JsonDocument::Kind::kNull; }
  bool is_boolean() const noexcept { return node().kind == JsonDocument::Kind::kBool; }
  bool is_integer() const noexcept { return node().kind == JsonDocument::Kind::kInteger; }
  bool is_long_integer() const noexcept { return node().kind == JsonDocument::Kind::kLongInteger; }  // beyond 64 bits
  bool is_string() const noexcept { return node().kind == JsonDocument::Kind::kString; }
  bool is_array() const noexcept { return node().kind == JsonDocument::Kind::kArray; }
  bool is_object() const noexcept { return node().kind == JsonDocument::Kind::kObject; }

  bool boolean() const;
  int64_t integer() const;
  double number() const;            // the nearest, an infinity beyond all; also of an integer
  std::string_view digits() const;  // of a long integer, with its sign
  std::string_view string() const;
  std::string base64() const;  // the bytes that a string in base64 stands for

  // Children of an array or object; for (JsonValue v : value.items()) ...
  class Items;
  Items items() const;    // of an array
  Items members() const;  // of an object, each with its key()
  size_t size() const;    // of either
  std::string_view key() const noexcept { return document_->view(node().key); }

  // The member of an object; `find` gives an invalid value (operator bool) for one that is absent.
  JsonValue find(std::string_view key) const;
  JsonValue at(std::string_view key) const;
  explicit operator bool() const noexcept { return document_ != nullptr; }

  // Of an object: no key twice, none but these. (An object of arbitrary keys is checked by whoever makes a map of it.)
  void allow_only(std::initializer_list<std::string_view> keys) const;

  std::string path() const;
  [[noreturn]] void fail(std::string_view message) const;         // kInvalidFile, "NAME: PATH: message"
  [[noreturn]] void unsupported(std::string_view message) const;  // kUnsupported

 private:
  friend class JsonDocument;

  JsonValue(const JsonDocument* document, uint32_t index) : document_(document), index_(index) {}
  const JsonDocument::Node& node() const noexcept { return document_->nodes_[index_]; }
  void expect(JsonDocument::Kind kind) const;
  std::string described() const;  // "NAME: PATH"

  const JsonDocument* document_ = nullptr;
  uint32_t index_ = 0;
};

class JsonValue::Items {
 public:
  class Iterator {
   public:
    Iterator(const JsonDocument* document, uint32_t index) : document_(document), index_(index) {}
    JsonValue operator*() const { return JsonValue(document_, index_); }
    Iterator& operator++() {
      index_ = document_->nodes_[index_].next;
      return *this;
    }
    bool operator!=(const Iterator& other) const { return index_ != other.index_; }

   private:
    const JsonDocument* document_;
    uint32_t index_;
  };

  Iterator begin() const { return {document_, first_}; }
  Iterator end() const { return {document_, end_}; }

 private:
  friend class JsonValue;
  Items(const JsonDocument* document, uint32_t first, uint32_t end) : document_(document), first_(first), end_(end) {}

  const JsonDocument* document_;
  uint32_t first_, end_;
};

}  // namespace ingle
