#include "text/template_tests.h"

#include <algorithm>
#include <iterator>

#include "text/template_filters.h"
#include "text/template_methods.h"
#include "text/template_operators.h"
#include "text/template_unicode.h"

namespace ingle::jinja {

namespace {

using Holds = bool (*)(Heap&, const Value&, const Arguments&);

// A test that looks at the value alone.
template <bool (*kQuestion)(const Value&)>
bool plain(Heap&, const Value& v, const Arguments& a) {
  bind("test", a, {});
  return kQuestion(v);
}

bool is_undefined(const Value& v) { return v.is_undefined(); }
bool is_defined(const Value& v) { return !v.is_undefined(); }
bool is_none(const Value& v) { return v.is(Kind::kNone); }
bool is_boolean(const Value& v) { return v.is(Kind::kBool); }
bool is_true(const Value& v) { return v.is(Kind::kBool) && v.boolean; }
bool is_false(const Value& v) { return v.is(Kind::kBool) && !v.boolean; }
bool is_string(const Value& v) { return v.is_string(); }
bool is_number(const Value& v) { return v.is_number(); }
bool is_integer(const Value& v) { return v.is(Kind::kInt); }
bool is_float(const Value& v) { return v.is(Kind::kFloat); }
bool is_mapping(const Value& v) { return v.is(Kind::kDict); }
bool is_escaped(const Value& v) { return v.is_string() && v.string().marked; }
bool is_sequence(const Value& v) {
  return v.is_string() || v.is_sequence() || v.is(Kind::kDict) || v.is(Kind::kRange) || v.is_undefined();
}
bool is_callable(const Value& v) {
  switch (v.kind) {
    case Kind::kUndefined:  // Jinja2's undefined has a __call__, one that raises
    case Kind::kMacro:
    case Kind::kMethod:
    case Kind::kFunction:
    case Kind::kBlock:
    case Kind::kLoop:
    case Kind::kJoiner:
      return true;
    default:
      return false;
  }
}

bool odd_even(Heap& heap, const Value& v, Int wanted) {
  const Value rest = arithmetic(heap, Op::kModulo, v, Value::of_int(2));
  return equal(heap, rest, Value::of_int(wanted));
}
bool odd(Heap& heap, const Value& v, const Arguments& a) { return bind("odd", a, {}), odd_even(heap, v, 1); }
bool even(Heap& heap, const Value& v, const Arguments& a) { return bind("even", a, {}), odd_even(heap, v, 0); }
bool divisible_by(Heap& heap, const Value& v, const Arguments& a) {
  const auto b = bind("divisibleby", a, {"num"}, 1);
  return equal(heap, arithmetic(heap, Op::kModulo, v, *b[0]), Value::of_int(0));
}

template <Op kOp>
bool compared(Heap& heap, const Value& v, const Arguments& a) {
  return compare(heap, kOp, v, *bind("comparison", a, {"other"}, 1)[0]);
}
bool same_as(Heap&, const Value& v, const Arguments& a) { return same(v, *bind("sameas", a, {"other"}, 1)[0]); }

template <bool kUpperCase>
bool letter_case(Heap& heap, const Value& v, const Arguments& a) {
  bind("lower", a, {});
  const Value text = as_text(heap, v);
  const MethodEntry* method = find_string_method(kUpperCase ? "isupper" : "islower");
  return truth(method->function(heap, text, {}));
}

bool is_filter(Heap& heap, const Value& v, const Arguments& a) {
  bind("filter", a, {});
  hash_of(heap, v);  // Jinja2 looks any value up in a table: one that cannot be hashed fails
  const FilterEntry* filter = v.is_string() ? find_filter(v.string().text) : nullptr;
  return filter != nullptr && !filter->extra;
}
bool is_test(Heap& heap, const Value& v, const Arguments& a) {
  bind("test", a, {});
  hash_of(heap, v);
  return v.is_string() && find_test(v.string().text) != nullptr;
}

constexpr TestEntry kTests[] = {
    {"!=", compared<Op::kNotEqual>},
    {"<", compared<Op::kLess>},
    {"<=", compared<Op::kLessEqual>},
    {"==", compared<Op::kEqual>},
    {">", compared<Op::kGreater>},
    {">=", compared<Op::kGreaterEqual>},
    {"boolean", plain<is_boolean>},
    {"callable", plain<is_callable>},
    {"defined", plain<is_defined>},
    {"divisibleby", divisible_by},
    {"eq", compared<Op::kEqual>},
    {"equalto", compared<Op::kEqual>},
    {"escaped", plain<is_escaped>},
    {"even", even},
    {"false", plain<is_false>},
    {"filter", is_filter},
    {"float", plain<is_float>},
    {"ge", compared<Op::kGreaterEqual>},
    {"greaterthan", compared<Op::kGreater>},
    {"gt", compared<Op::kGreater>},
    {"in", compared<Op::kIn>},
    {"integer", plain<is_integer>},
    {"iterable", plain<is_iterable>},
    {"le", compared<Op::kLessEqual>},
    {"lessthan", compared<Op::kLess>},
    {"lower", letter_case<false>},
    {"lt", compared<Op::kLess>},
    {"mapping", plain<is_mapping>},
    {"ne", compared<Op::kNotEqual>},
    {"none", plain<is_none>},
    {"number", plain<is_number>},
    {"odd", odd},
    {"sameas", same_as},
    {"sequence", plain<is_sequence>},
    {"string", plain<is_string>},
    {"test", is_test},
    {"true", plain<is_true>},
    {"undefined", plain<is_undefined>},
    {"upper", letter_case<true>},
};

}  // namespace

bool is_iterable(const Value& v) {
  return is_sequence(v) || v.is(Kind::kGenerator) || v.is(Kind::kView) || v.is(Kind::kLoop);
}

const TestEntry* find_test(std::string_view name) {
  const auto it = std::lower_bound(std::begin(kTests), std::end(kTests), name,
                                   [](const TestEntry& e, std::string_view n) { return e.name < n; });
  return it != std::end(kTests) && it->name == name ? &*it : nullptr;
}

}  // namespace ingle::jinja
