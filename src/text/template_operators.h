// What Python does with values: truth, equality, order, arithmetic, membership, subscripts, and how they print.
#pragma once

#include "text/template_value.h"

namespace ingle::jinja {

bool truth(const Value& value);
// Of an argument that may be left out, as bind() gives it: neither that nor none; passed and true.
inline bool given(const Value* value) { return value != nullptr && !value->is(Kind::kNone); }
inline bool flag(const Value* value) { return value != nullptr && truth(*value); }
bool equal(Heap& heap, const Value& a, const Value& b);
bool same(const Value& a, const Value& b);              // `is`
int order(Heap& heap, const Value& a, const Value& b);  // <0, 0, >0; 2 for NaN; fails for what has no order
bool less(Heap& heap, const Value& a, const Value& b);
bool contains(Heap& heap, const Value& container, const Value& item);
size_t hash_of(Heap& heap, const Value& value);    // fails for lists, objects and the like
size_t length_of(Heap& heap, const Value& value);  // len()
size_t find_text(std::string_view text, std::string_view part, size_t from = 0);  // linear; npos when absent

enum class Op : uint8_t {
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kFloorDivide,
  kModulo,
  kPower,
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kIn,
  kNotIn,
};
Value arithmetic(Heap& heap, Op op, const Value& a, const Value& b);
bool compare(Heap& heap, Op op, const Value& a, const Value& b);
Value negate(const Value& value);

Value item_of(Heap& heap, const Value& owner, const Value& key);        // a[key], then the attribute
Value attribute_of(Heap& heap, const Value& owner, const Value& name);  // a.name, then the item
Value attribute_path(Heap& heap, Value value, const Value& path,
                     const Value* fallback = nullptr);  // filter(attribute="a.b.0")
Value slice_of(Heap& heap, const Value& owner, const Value& start, const Value& stop, const Value& step);
// A type's own attribute or bound method, nothing else.
std::optional<Value> own_attribute(Heap& heap, const Value& owner, const Value& name);

void print(Text& out, const Value& value);      // str()
void represent(Text& out, const Value& value);  // repr()
Value as_text(Heap& heap, const Value& value);  // str(), the value itself when it is a string
Value pretty(Heap& heap, const Value& value);   // pprint.pformat()
std::string float_text(double value);
std::string int_text(Int value);
std::optional<Int> parse_int(std::string_view text, Int base);  // Python's int(text, base); fails beyond 127 bits
std::string quoted(std::string_view text);                      // repr() of a string
Value escape(Heap& heap, const Value& value);                   // HTML; marked
Value substring(Heap& heap, const String& s, size_t begin, size_t end);  // bytes; keeps the mark
Value concatenate(Heap& heap, const Value& a, const Value& b);           // + : escapes beside marked text

Value format_percent(Heap& heap, const String& format, const Value& arguments);

struct JsonStyle {
  bool ensure_ascii = false;
  bool sort_keys = false;
  bool indented = false;
  std::string indent;
  std::string item_separator = ", ";
  std::string key_separator = ": ";
};
Value to_json(Heap& heap, const Value& value, const JsonStyle& style);

}  // namespace ingle::jinja
