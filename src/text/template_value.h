// The values a template computes with, and the heap of one rendering that owns them and counts what they cost.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "text/chat_template.h"

namespace ingle::jinja {

// Python's int without its size: wide enough that JSON's numbers and their sums fit; arithmetic checks for overflow.
__extension__ typedef __int128 Int;

enum class Kind : uint8_t {
  kUndefined,
  kNone,
  kBool,
  kInt,
  kFloat,
  kString,
  kList,
  kTuple,
  kDict,
  kRange,
  kGenerator,
  kView,
  kNamespace,
  kMacro,
  kMethod,
  kFunction,
  kBlock,
  kLoop,
  kCycler,
  kJoiner,
  kSelf,
};

// A template's own failure (not a limit): the interpreter adds the line and makes it an ingle::Error.
struct Failure {
  std::string message;
  bool verbatim = false;  // raise_exception's text: no line is added
};
template <class... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  throw Failure{fmt::format(format, std::forward<Args>(args)...)};
}

struct Object {
  virtual ~Object() = default;
};
struct String;
struct Sequence;
struct Dict;
struct Range;
struct Generator;
struct View;
struct Undefined;

// Plain and copied freely; what it points at belongs to the Heap (or, for a literal, to the parsed template).
struct Value {
  Kind kind = Kind::kUndefined;
  union {
    bool boolean;
    Int integer;
    double number;
    Object* object;
  };

  Value() : integer(0) {}
  static Value none() { return Value(Kind::kNone, nullptr); }
  static Value of(bool b) {
    Value v(Kind::kBool, nullptr);
    v.boolean = b;
    return v;
  }
  static Value of_int(Int i) {
    Value v(Kind::kInt, nullptr);
    v.integer = i;
    return v;
  }
  static Value of_float(double f) {
    Value v(Kind::kFloat, nullptr);
    v.number = f;
    return v;
  }
  Value(Kind k, Object* o) : kind(k), object(o) {}
  inline Value(String* s);

  bool is(Kind k) const { return kind == k; }
  bool is_undefined() const { return kind == Kind::kUndefined; }
  bool is_string() const { return kind == Kind::kString; }
  bool is_sequence() const { return kind == Kind::kList || kind == Kind::kTuple; }
  bool is_integral() const { return kind == Kind::kInt || kind == Kind::kBool; }
  bool is_number() const { return is_integral() || kind == Kind::kFloat; }
  Int as_int() const { return kind == Kind::kBool ? Int(boolean) : integer; }  // of an integral value
  double as_double() const { return kind == Kind::kFloat ? number : double(as_int()); }

  inline const String& string() const;
  inline Sequence& sequence() const;
  inline Dict& dict() const;
  template <class T>
  T& as() const {
    return static_cast<T&>(*object);
  }
};

// Costs of one rendering. Everything a template builds lives until the rendering ends: no cycles to collect, no
// recursion when a deep value goes, and the sum of it is the limit.
class Heap {
 public:
  explicit Heap(const TemplateLimits& limits) : limits_(limits) {}
  Heap(const Heap&) = delete;

  // Inside {% autoescape true %}: what prints is escaped, and texts that are put together come out marked.
  bool autoescape = false;

  const TemplateLimits& limits() const { return limits_; }
  void spend(int64_t steps) {
    if ((steps_ += steps) > limits_.steps) out_of_steps();
  }
  // Work done by walking over so many bytes.
  void spend_bytes(size_t bytes) { spend(static_cast<int64_t>(bytes / 64)); }
  // Memory is also work: somebody fills it.
  void charge(size_t bytes);
  // Before a text grows to so many bytes.
  void check_text(size_t bytes) const {
    if (bytes > limits_.output_bytes) text_too_long(bytes);
  }

  template <class T, class... Args>
  T* make(Args&&... args) {
    charge(sizeof(T) + 16);
    auto owned = std::make_unique<T>(std::forward<Args>(args)...);
    T* object = owned.get();
    objects_.push_back(std::move(owned));
    return object;
  }

  Value text(std::string_view text, bool trusted = true);
  Value list(std::vector<Value> items);
  Value tuple(std::vector<Value> items);
  // Of a missing name or attribute: templates ask for them all the time (`x is defined`), so one is made for each.
  Value missing(std::string_view owner, const Value& name);
  void push(std::vector<Value>& items, Value value) {
    charge(sizeof(Value));
    items.push_back(value);
  }

  // Held while one level deeper: expressions, statements, calls, and walks into values.
  class Level {
   public:
    explicit Level(Heap& heap) : heap_(heap) {
      if (++heap_.depth_ > heap_.limits_.depth) {
        --heap_.depth_;
        heap_.too_deep();
      }
    }
    ~Level() { --heap_.depth_; }
    Level(const Level&) = delete;

   private:
    Heap& heap_;
  };

 private:
  [[noreturn]] void out_of_steps() const;
  [[noreturn]] void too_deep() const;
  [[noreturn]] void text_too_long(size_t bytes) const;

  TemplateLimits limits_;
  int64_t steps_ = 0;
  size_t bytes_ = 0;
  int depth_ = 0;
  std::vector<std::unique_ptr<Object>> objects_;
  std::map<std::pair<const char*, const Object*>, Value> missing_;
};

// A stretch of text from one origin: the template itself, or what the conversation brought along.
struct Run {
  size_t length;
  bool trusted;
};

// Immutable, unless growable. The lengths of `runs` add up to text.size(); an empty text has no run.
struct String : Object {
  std::string text;
  std::vector<Run> runs;
  int64_t length = 0;   // code points
  bool marked = false;  // safe for HTML, in Jinja's words: adding to it escapes the other side
  // Only one namespace attribute knows this string, so `set ns.x = ns.x ~ y` may grow it in place (Interpreter).
  bool growable = false;

  String(std::string text, std::vector<Run> runs, bool marked);
  bool trusted() const { return runs.empty() || (runs.size() == 1 && runs[0].trusted); }
  bool ascii() const { return length == static_cast<int64_t>(text.size()); }
};

// Text under construction that remembers where each part came from; respects the heap's limits as it grows.
class Text {
 public:
  explicit Text(Heap& heap) : heap_(&heap) {}

  void append(std::string_view text, bool trusted = true);
  void append(const String& string) { append(string, 0, string.text.size()); }
  void append(const String& string, size_t begin, size_t end);  // bytes
  void append(const Text& text);
  void fill(Int count, std::string_view unit, bool trusted = true);

  // Grows a growable string by this text.
  void append_to(String& string) const;

  const std::string& text() const { return text_; }
  const std::vector<Run>& runs() const { return runs_; }
  size_t size() const { return text_.size(); }
  bool trusted() const;
  Heap& heap() const { return *heap_; }
  Value finish(bool marked = false);  // leaves this empty

 private:
  void add_run(size_t length, bool trusted);

  Heap* heap_;
  std::string text_;
  std::vector<Run> runs_;
};

// A list or a tuple. `grouped`: a pair of the groupby filter, with the names grouper and list.
struct Sequence : Object {
  std::vector<Value> items;
  bool grouped = false;
  explicit Sequence(std::vector<Value> items) : items(std::move(items)) {}
};

// Keeps the order in which keys first came.
struct Dict : Object {
  std::vector<std::pair<Value, Value>> entries;

  const Value* find(Heap& heap, const Value& key) const;
  const Value* find(Heap& heap, std::string_view key) const;
  void set(Heap& heap, const Value& key, const Value& value);  // fails for a key that cannot be hashed
  bool erase(Heap& heap, const Value& key);

 private:
  size_t position(Heap& heap, const Value& key, size_t hash) const;
  std::unordered_multimap<size_t, size_t> index_;  // hash -> place in entries; kept once there are many
};

void check_namespace_name(std::string_view name);  // fails for one that begins with _, as the reference does
struct Namespace : Object {
  Dict* attributes;
  explicit Namespace(Dict* attributes) : attributes(attributes) {}
};

struct Range : Object {
  int64_t start, stop, step;
  Range(int64_t start, int64_t stop, int64_t step) : start(start), stop(stop), step(step) {}
  int64_t size() const;
};

// Computed when it is made, but used up as Python's are: one pass, and a failure only when the pass gets there.
struct Generator : Object {
  std::string_view name;  // what it prints as: "generator object do_items"
  std::vector<Value> items;
  size_t next = 0;
  std::string failure;
  bool failed = false;
};

enum class ViewOf : uint8_t { kKeys, kValues, kItems };
struct View : Object {
  Dict* dict;
  ViewOf of;
  View(Dict* dict, ViewOf of) : dict(dict), of(of) {}
};

// Why a value is missing. Without one it is just undefined.
struct Undefined : Object {
  std::string_view owner;  // type of what it would be an attribute or item of; empty: a variable
  Value key;               // a string: the name; else an item
  std::string message;     // said instead, when not empty
  bool unsafe = false;     // an attribute the sandbox hides; calling it is an error
  Value method;            // of an unsafe one we can call nevertheless (append, pop)
};

// What a call passes. Names are strings of the template, or keys of an object spread with **.
struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<Value, Value>> named;
};

// The values of a function's parameters in order, nullptr where none was passed; fails with Python's complaints for too
// many, unknown, repeated or missing ones. The pointers go into `arguments`.
std::vector<const Value*> bind(std::string_view function, const Arguments& arguments,
                               std::initializer_list<std::string_view> names, size_t required = 0);

// The kinds from kMacro on: things with attributes of their own, most of which can be called.
struct Callable : Object {
  virtual std::optional<Value> attribute(Heap& heap, std::string_view name) { return std::nullopt; }
  virtual Value call(Heap& heap, const Arguments& arguments) = 0;
};

using NativeFunction = Value (*)(Heap& heap, const Value& self, const Arguments& arguments);

// A method of a built-in type, bound to its value.
struct Method : Callable {
  Value self;
  std::string_view name;
  NativeFunction function;
  Method(Value self, std::string_view name, NativeFunction function) : self(self), name(name), function(function) {}
  Value call(Heap& heap, const Arguments& arguments) override { return function(heap, self, arguments); }
};

inline Value::Value(String* s) : Value(Kind::kString, s) {}
inline const String& Value::string() const { return as<String>(); }
inline Sequence& Value::sequence() const { return as<Sequence>(); }
inline Dict& Value::dict() const { return as<Dict>(); }

std::string_view type_name(const Value& value);  // Python's: 'str', 'dict', 'NoneType', ...
Value missing(Heap& heap, const Value& owner, const Value& key);
Value missing(Heap& heap, std::string_view message);
[[noreturn]] void fail_undefined(const Value& undefined);
std::string undefined_message(const Value& undefined);

// The values of an iteration; fails for what cannot be iterated. Uses a generator up.
std::vector<Value> iterate(Heap& heap, const Value& value);

}  // namespace ingle::jinja
