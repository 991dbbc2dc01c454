#include "text/template_operators.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace ingle::jinja {

bool truth(const Value& value) {
  switch (value.kind) {
    case Kind::kUndefined:
    case Kind::kNone:
      return false;
    case Kind::kBool:
      return value.boolean;
    case Kind::kInt:
      return value.integer != 0;
    case Kind::kFloat:
      return value.number != 0;
    case Kind::kString:
      return !value.string().text.empty();
    case Kind::kList:
    case Kind::kTuple:
      return !value.sequence().items.empty();
    case Kind::kDict:
      return !value.dict().entries.empty();
    case Kind::kRange:
      return value.as<Range>().size() > 0;
    case Kind::kView:
      return !value.as<View>().dict->entries.empty();
    default:
      return true;
  }
}

namespace {

// Exact, as Python compares: an int is not rounded to a double first. 2 for NaN.
int order_int_float(Int i, double f) {
  if (std::isnan(f)) return 2;
  constexpr double kBeyond = 1.0e38;  // within the range of Int
  if (f >= kBeyond) return -1;
  if (f <= -kBeyond) return 1;
  const double floor = std::floor(f);
  const Int whole = static_cast<Int>(floor);
  if (i != whole) return i < whole ? -1 : 1;
  return f > floor ? -1 : 0;
}

int order_numbers(const Value& a, const Value& b) {
  if (a.is_integral() && b.is_integral()) return a.as_int() < b.as_int() ? -1 : a.as_int() > b.as_int();
  if (a.is_integral()) return order_int_float(a.as_int(), b.number);
  if (b.is_integral()) {
    const int reversed = order_int_float(b.as_int(), a.number);
    return reversed == 2 ? 2 : -reversed;
  }
  if (std::isnan(a.number) || std::isnan(b.number)) return 2;
  return a.number < b.number ? -1 : a.number > b.number;
}

}  // namespace

bool same(const Value& a, const Value& b) {
  if (a.kind != b.kind) return false;
  switch (a.kind) {
    case Kind::kNone:
      return true;
    case Kind::kBool:
      return a.boolean == b.boolean;
    case Kind::kInt:
      return a.integer == b.integer;
    case Kind::kFloat:
      return a.number == b.number;
    case Kind::kString:
      return a.object == b.object || a.string().text == b.string().text;
    default:
      return a.object == b.object;
  }
}

bool equal(Heap& heap, const Value& a, const Value& b) {
  heap.spend(1);
  if (a.is_number() && b.is_number()) return order_numbers(a, b) == 0;
  if (a.kind != b.kind) return false;
  switch (a.kind) {
    case Kind::kUndefined:
    case Kind::kNone:
      return true;
    case Kind::kString:
      if (a.string().text.size() != b.string().text.size()) return false;
      heap.spend_bytes(a.string().text.size());
      return a.string().text == b.string().text;
    case Kind::kList:
    case Kind::kTuple: {
      const auto &x = a.sequence().items, &y = b.sequence().items;
      if (x.size() != y.size()) return false;
      if (&x == &y) return true;  // also what makes a list that holds itself equal to itself
      const Heap::Level level(heap);
      for (size_t i = 0; i < x.size(); ++i)
        if (!equal(heap, x[i], y[i])) return false;
      return true;
    }
    case Kind::kDict: {
      const Dict &x = a.dict(), &y = b.dict();
      if (x.entries.size() != y.entries.size()) return false;
      const Heap::Level level(heap);
      for (const auto& [key, value] : x.entries) {
        const Value* other = y.find(heap, key);
        if (other == nullptr || !equal(heap, value, *other)) return false;
      }
      return true;
    }
    case Kind::kRange: {
      const Range &x = a.as<Range>(), &y = b.as<Range>();
      const int64_t n = x.size();
      return n == y.size() && (n == 0 || (x.start == y.start && (n == 1 || x.step == y.step)));
    }
    default:
      return a.object == b.object;
  }
}

int order(Heap& heap, const Value& a, const Value& b) {
  heap.spend(1);
  if (a.is_number() && b.is_number()) return order_numbers(a, b);
  if (a.is_undefined()) fail_undefined(a);
  if (b.is_undefined()) fail_undefined(b);
  if (a.is_string() && b.is_string()) {  // UTF-8 sorts as its code points do
    heap.spend_bytes(std::min(a.string().text.size(), b.string().text.size()));
    const int c = a.string().text.compare(b.string().text);
    return c < 0 ? -1 : c > 0;
  }
  if (a.is_sequence() && a.kind == b.kind) {
    const Heap::Level level(heap);
    const auto &x = a.sequence().items, &y = b.sequence().items;
    for (size_t i = 0; i < std::min(x.size(), y.size()); ++i)
      if (!equal(heap, x[i], y[i])) return order(heap, x[i], y[i]);
    return x.size() < y.size() ? -1 : x.size() > y.size();
  }
  fail("'<' not supported between instances of '{}' and '{}'", type_name(a), type_name(b));
}

bool less(Heap& heap, const Value& a, const Value& b) { return order(heap, a, b) == -1; }

bool compare(Heap& heap, Op op, const Value& a, const Value& b) {
  switch (op) {
    case Op::kEqual:
      return equal(heap, a, b);
    case Op::kNotEqual:
      return !equal(heap, a, b);
    case Op::kIn:
      return contains(heap, b, a);
    case Op::kNotIn:
      return !contains(heap, b, a);
    case Op::kLess:
      return order(heap, a, b) == -1;
    case Op::kGreater:
      return order(heap, a, b) == 1;
    case Op::kLessEqual: {
      const int o = order(heap, a, b);
      return o == -1 || o == 0;
    }
    default: {
      const int o = order(heap, a, b);
      return o == 1 || o == 0;
    }
  }
}

size_t find_text(std::string_view text, std::string_view part, size_t from) {
  if (from > text.size()) return std::string_view::npos;
  if (part.empty()) return from;
  // memmem is linear in the worst case, std::string_view::find is not.
  const void* found = memmem(text.data() + from, text.size() - from, part.data(), part.size());
  return found == nullptr ? std::string_view::npos : static_cast<size_t>(static_cast<const char*>(found) - text.data());
}

bool contains(Heap& heap, const Value& container, const Value& item) {
  switch (container.kind) {
    case Kind::kString: {
      if (!item.is_string()) fail("'in <string>' requires string as left operand, not {}", type_name(item));
      const std::string& text = container.string().text;
      heap.spend_bytes(text.size());
      return find_text(text, item.string().text) != std::string_view::npos;
    }
    case Kind::kDict:
      return container.dict().find(heap, item) != nullptr;
    case Kind::kView:
      if (container.as<View>().of == ViewOf::kKeys) return container.as<View>().dict->find(heap, item) != nullptr;
      break;
    case Kind::kUndefined:
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kRange:
    case Kind::kGenerator:
      break;
    default:
      fail("argument of type '{}' is not iterable", type_name(container));
  }
  if (container.is_sequence()) {  // no copy of what may be long
    for (const Value& value : container.sequence().items)
      if (same(value, item) || equal(heap, value, item)) return true;
    return false;
  }
  if (container.is(Kind::kGenerator)) {  // uses up what it has seen
    auto& generator = container.as<Generator>();
    while (generator.next < generator.items.size())
      if (equal(heap, generator.items[generator.next++], item)) return true;
  }
  for (const Value& value : iterate(heap, container))
    if (equal(heap, value, item)) return true;
  return false;
}

size_t hash_of(Heap& heap, const Value& value) {
  heap.spend(1);
  switch (value.kind) {
    case Kind::kUndefined:
    case Kind::kNone:
      return static_cast<size_t>(value.kind) + 1;
    case Kind::kBool:
    case Kind::kInt:
      return std::hash<int64_t>()(static_cast<int64_t>(value.as_int()));
    case Kind::kFloat:
      // Equal numbers hash alike, whatever their type.
      if (std::abs(value.number) < 1e37 && std::floor(value.number) == value.number)
        return std::hash<int64_t>()(static_cast<int64_t>(static_cast<Int>(value.number)));
      return std::hash<double>()(value.number);
    case Kind::kString:
      heap.spend_bytes(value.string().text.size());
      return std::hash<std::string_view>()(value.string().text);
    case Kind::kTuple: {
      const Heap::Level level(heap);
      size_t hash = 77;
      for (const Value& item : value.sequence().items) hash = hash * 1000003 ^ hash_of(heap, item);
      return hash;
    }
    case Kind::kList:
    case Kind::kDict:
    case Kind::kView:
      fail("unhashable type: '{}'", type_name(value));
    case Kind::kRange:
      return static_cast<size_t>(value.as<Range>().size());
    default:
      return std::hash<const void*>()(value.object);
  }
}

size_t length_of(Heap& heap, const Value& value) {
  switch (value.kind) {
    case Kind::kUndefined:
      return 0;
    case Kind::kString:
      return static_cast<size_t>(value.string().length);
    case Kind::kList:
    case Kind::kTuple:
      return value.sequence().items.size();
    case Kind::kDict:
      return value.dict().entries.size();
    case Kind::kRange:
      return static_cast<size_t>(value.as<Range>().size());
    case Kind::kView:
      return value.as<View>().dict->entries.size();
    case Kind::kLoop:
      return static_cast<size_t>(value.as<Callable>().attribute(heap, "length")->integer);
    default:
      fail("object of type '{}' has no len()", type_name(value));
  }
}

namespace {

[[noreturn]] void fail_operands(std::string_view op, const Value& a, const Value& b) {
  fail("unsupported operand type(s) for {}: '{}' and '{}'", op, type_name(a), type_name(b));
}

[[noreturn]] void fail_too_large() { fail("an integer beyond 127 bits is not supported"); }

double python_floor_divide(double a, double b, double* modulo) {
  double mod = std::fmod(a, b);
  double quotient = (a - mod) / b;
  if (mod != 0) {
    if ((b < 0) != (mod < 0)) mod += b, quotient -= 1;
  } else {
    mod = std::copysign(0.0, b);
  }
  *modulo = mod;
  if (quotient == 0) return std::copysign(0.0, a / b);
  const double floor = std::floor(quotient);
  return quotient - floor > 0.5 ? floor + 1 : floor;
}

Value integer_power(Int base, Int exponent) {
  Int result = 1;
  while (exponent > 0) {
    if ((exponent & 1) != 0 && __builtin_mul_overflow(result, base, &result)) fail_too_large();
    exponent >>= 1;
    if (exponent > 0 && __builtin_mul_overflow(base, base, &base)) fail_too_large();
  }
  return Value::of_int(result);
}

// a / b rounded once, as Python does; two roundings to double first could be off by a bit.
double true_divide(Int a, Int b) {
  constexpr Int kExact = Int(1) << 53;
  if (a >= -kExact && a <= kExact && b >= -kExact && b <= kExact) return double(a) / double(b);
  using Unsigned = unsigned __int128;
  const auto magnitude = [](Int v) { return v < 0 ? -static_cast<Unsigned>(v) : static_cast<Unsigned>(v); };
  const Unsigned divisor = magnitude(b);
  Unsigned quotient = magnitude(a) / divisor, rest = magnitude(a) % divisor;
  int shift = 0;
  // Bits behind the point until there are more than a double holds; then one that says whether anything follows.
  for (; quotient < static_cast<Unsigned>(kExact) * 8 && (quotient != 0 || rest != 0) && shift < 400; ++shift) {
    const bool one = rest >= divisor - rest;
    rest = one ? rest - (divisor - rest) : rest + rest;
    quotient = quotient << 1 | static_cast<Unsigned>(one);
  }
  const double rounded = static_cast<double>(quotient | static_cast<Unsigned>(rest != 0));
  return std::ldexp((a < 0) != (b < 0) ? -rounded : rounded, -shift);
}

Value integer_arithmetic(Op op, Int a, Int b) {
  Int result = 0;
  switch (op) {
    case Op::kAdd:
      if (__builtin_add_overflow(a, b, &result)) fail_too_large();
      return Value::of_int(result);
    case Op::kSubtract:
      if (__builtin_sub_overflow(a, b, &result)) fail_too_large();
      return Value::of_int(result);
    case Op::kMultiply:
      if (__builtin_mul_overflow(a, b, &result)) fail_too_large();
      return Value::of_int(result);
    case Op::kDivide:
      if (b == 0) fail("division by zero");
      return Value::of_float(true_divide(a, b));
    case Op::kFloorDivide:
    case Op::kModulo: {
      if (b == 0) fail("integer division or modulo by zero");
      if (b == -1) {  // the only quotient that can overflow
        if (op == Op::kModulo) return Value::of_int(0);
        if (__builtin_sub_overflow(Int(0), a, &result)) fail_too_large();
        return Value::of_int(result);
      }
      Int quotient = a / b, modulo = a % b;
      if (modulo != 0 && (modulo < 0) != (b < 0)) modulo += b, quotient -= 1;
      return Value::of_int(op == Op::kModulo ? modulo : quotient);
    }
    default:
      if (b >= 0)
        return (a >= -1 && a <= 1) ? Value::of_int(a == -1 ? (b % 2 == 0 ? 1 : -1) : (b == 0 ? 1 : a))
                                   : integer_power(a, b);
      if (a == 0) fail("0.0 cannot be raised to a negative power");
      return Value::of_float(std::pow(double(a), double(b)));
  }
}

Value float_arithmetic(Op op, double a, double b) {
  double modulo = 0;
  switch (op) {
    case Op::kAdd:
      return Value::of_float(a + b);
    case Op::kSubtract:
      return Value::of_float(a - b);
    case Op::kMultiply:
      return Value::of_float(a * b);
    case Op::kDivide:
      if (b == 0) fail("float division by zero");
      return Value::of_float(a / b);
    case Op::kFloorDivide:
      if (b == 0) fail("float floor division by zero");
      return Value::of_float(python_floor_divide(a, b, &modulo));
    case Op::kModulo:
      if (b == 0) fail("float modulo");
      python_floor_divide(a, b, &modulo);
      return Value::of_float(modulo);
    default: {
      if (a == 0 && b < 0) fail("0.0 cannot be raised to a negative power");
      const double result = std::pow(a, b);
      if (std::isnan(result) && !std::isnan(a) && !std::isnan(b)) fail("complex numbers are not supported");
      if (std::isinf(result) && !std::isinf(a) && !std::isinf(b)) fail("numerical result out of range");
      return Value::of_float(result);
    }
  }
}

Value repeat(Heap& heap, const Value& value, Int count) {
  if (count != static_cast<int64_t>(count)) fail("cannot fit {} into an index-sized integer", int_text(count));
  if (value.is_string()) {
    const String& s = value.string();
    Text out(heap);
    if (s.runs.size() <= 1) {
      out.fill(count, s.text, s.trusted());
    } else {
      heap.check_text(count > Int(heap.limits().output_bytes)
                          ? heap.limits().output_bytes + 1
                          : s.text.size() * static_cast<size_t>(std::max<Int>(count, 0)));
      for (Int i = 0; i < count; ++i) out.append(s);
    }
    return out.finish(s.marked);
  }
  std::vector<Value> items;
  if (!value.sequence().items.empty())
    for (Int i = 0; i < count; ++i)
      for (const Value& item : std::vector<Value>(value.sequence().items)) heap.push(items, item);
  return value.is(Kind::kList) ? heap.list(std::move(items)) : heap.tuple(std::move(items));
}

constexpr std::string_view kNames[] = {"+", "-", "*", "/", "//", "%", "** or pow()"};

}  // namespace

Value arithmetic(Heap& heap, Op op, const Value& a, const Value& b) {
  if (op == Op::kModulo && a.is_string()) return format_percent(heap, a.string(), b);
  if (a.is_undefined()) fail_undefined(a);
  if (b.is_undefined()) fail_undefined(b);
  if (a.is_integral() && b.is_integral()) return integer_arithmetic(op, a.as_int(), b.as_int());
  if (a.is_number() && b.is_number()) return float_arithmetic(op, a.as_double(), b.as_double());
  if (op == Op::kAdd && a.is_string() && b.is_string()) return concatenate(heap, a, b);
  if (op == Op::kAdd && a.is_sequence() && a.kind == b.kind) {
    std::vector<Value> items = iterate(heap, a);
    for (const Value& item : b.sequence().items) heap.push(items, item);
    return a.is(Kind::kList) ? heap.list(std::move(items)) : heap.tuple(std::move(items));
  }
  if (op == Op::kMultiply) {
    if (b.is_integral() && (a.is_string() || a.is_sequence())) return repeat(heap, a, b.as_int());
    if (a.is_integral() && (b.is_string() || b.is_sequence())) return repeat(heap, b, a.as_int());
  }
  if (op == Op::kAdd && a.is_string()) fail("can only concatenate str (not \"{}\") to str", type_name(b));
  fail_operands(kNames[static_cast<int>(op)], a, b);
}

Value negate(const Value& value) {
  if (value.is_undefined()) fail_undefined(value);
  if (value.is(Kind::kFloat)) return Value::of_float(-value.number);
  if (value.is_integral()) return integer_arithmetic(Op::kSubtract, 0, value.as_int());
  fail("bad operand type for unary -: '{}'", type_name(value));
}

}  // namespace ingle::jinja
