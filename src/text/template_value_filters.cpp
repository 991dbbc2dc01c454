// Filters that turn one value into another: numbers, JSON, defaults, marked text.
#include <charconv>
#include <cmath>

#include "text/template_filters.h"
#include "text/template_from_json.h"
#include "text/template_methods.h"
#include "text/template_operators.h"
#include "text/template_unicode.h"

namespace ingle::jinja {

namespace {

Value default_(Heap& heap, const Value& v, const Arguments& a) {
  const auto b = bind("default", a, {"default_value", "boolean"});
  if (!v.is_undefined() && !(flag(b[1]) && !truth(v))) return v;
  return b[0] != nullptr ? *b[0] : heap.text("");
}

Value tojson(Heap& heap, const Value& v, const Arguments& a) {
  const auto b = bind("tojson", a, {"ensure_ascii", "indent", "separators", "sort_keys"});
  JsonStyle style;
  style.ensure_ascii = flag(b[0]);
  style.sort_keys = flag(b[3]);
  std::vector<Value> separators;
  if (given(b[2])) {
    separators = iterate(heap, *b[2]);
    if (separators.size() != 2) fail("tojson: separators are two strings");
  }
  if (v.is_string()) return to_json(heap, v, style);  // the rest, right or wrong, is never looked at
  if (given(b[1])) {
    style.indented = true;
    style.item_separator = std::string(1, ',');
    if (b[1]->is_string()) {
      style.indent = b[1]->string().text;
    } else {
      const Int width = int_argument("tojson", *b[1]);
      heap.check_text(width > Int(heap.limits().output_bytes) ? heap.limits().output_bytes + 1
                                                              : static_cast<size_t>(std::max<Int>(width, 0)));
      style.indent.assign(static_cast<size_t>(std::max<Int>(width, 0)), ' ');
    }
  }
  if (given(b[2])) {
    style.item_separator = text_argument("tojson", separators[0]).text;
    style.key_separator = text_argument("tojson", separators[1]).text;
  }
  return to_json(heap, v, style);
}

Value from_json_filter(Heap& heap, const Value& v, const Arguments& a) {
  bind("from_json", a, {});
  const String& s = text_argument("from_json", v);
  heap.charge(s.text.size() * 4);
  return from_json(heap, s.text, "from_json", s.trusted());
}

std::string_view stripped(std::string_view text) {
  size_t begin = 0, end = text.size();
  while (begin < end) {
    size_t next = begin;
    if (!is_space(next_code_point(text, next))) break;
    begin = next;
  }
  while (end > begin) {
    const size_t last = previous_code_point(text, end);
    size_t next = last;
    if (!is_space(next_code_point(text, next))) break;
    end = last;
  }
  return text.substr(begin, end - begin);
}

// Takes the underscores out; nothing if one does not stand between two digits.
std::optional<std::string> without_underscores(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto digit = [&](size_t at) {
      return at < text.size() && std::isalnum(static_cast<unsigned char>(text[at])) != 0;
    };
    if (text[i] != '_')
      out += text[i];
    else if (i == 0 || !digit(i - 1) || !digit(i + 1))
      return std::nullopt;
  }
  return out;
}

}  // namespace

std::optional<Int> parse_int(std::string_view text, Int base) {
  text = stripped(text);
  bool negative = false;
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
    negative = text[0] == '-';
    text.remove_prefix(1);
  }
  const char mark = text.size() > 1 && text[0] == '0' ? static_cast<char>(text[1] | 0x20) : '\0';
  const Int marked = mark == 'x' ? 16 : mark == 'o' ? 8 : mark == 'b' ? 2 : 0;
  if (marked != 0 && (base == 0 || base == marked)) {
    base = marked;
    text.remove_prefix(2);
    if (!text.empty() && text[0] == '_') text.remove_prefix(1);
  } else if (base == 0) {
    if (text.size() > 1 && text[0] == '0' && text.find_first_not_of("0_") != std::string_view::npos)
      return std::nullopt;
    base = 10;
  }
  const auto digits = without_underscores(text);
  if (!digits || digits->empty()) return std::nullopt;
  Int value = 0;
  for (char c : *digits) {
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'z' ? c - 'a' + 10
                      : c >= 'A' && c <= 'Z' ? c - 'A' + 10
                                             : 99;
    if (digit >= base) return std::nullopt;
    if (__builtin_mul_overflow(value, base, &value) || __builtin_add_overflow(value, Int(digit), &value))
      fail("an integer beyond 127 bits is not supported");
  }
  return negative ? -value : value;
}

namespace {

std::optional<double> parse_float(std::string_view text) {
  const auto digits = without_underscores(stripped(text));
  if (!digits || digits->empty()) return std::nullopt;
  std::string_view number = *digits;
  if (number[0] == '+') number.remove_prefix(1);
  if (number.empty() || number[0] == '+') return std::nullopt;
  double value = 0;
  const auto parsed = std::from_chars(number.data(), number.data() + number.size(), value);
  if (parsed.ptr != number.data() + number.size() || number.find('(') != std::string_view::npos) return std::nullopt;
  if (parsed.ec == std::errc::result_out_of_range) return std::strtod(std::string(number).c_str(), nullptr);
  if (parsed.ec != std::errc()) return std::nullopt;
  return value;
}

std::optional<Value> int_of(double value) {
  if (!std::isfinite(value)) return std::nullopt;
  if (std::abs(value) > 1e37) fail("an integer beyond 127 bits is not supported");
  return Value::of_int(static_cast<Int>(value));
}

Value int_filter(Heap& heap, const Value& v, const Arguments& a) {
  const auto b = bind("int", a, {"default", "base"});
  const Value otherwise = b[0] != nullptr ? *b[0] : Value::of_int(0);
  if (v.is_undefined()) fail_undefined(v);
  if (v.is_integral()) return Value::of_int(v.as_int());
  if (v.is(Kind::kFloat)) return int_of(v.number).value_or(otherwise);
  if (!v.is_string()) return otherwise;
  const Int base = b[1] == nullptr ? 10 : b[1]->is_integral() ? b[1]->as_int() : -1;
  const std::string& text = v.string().text;
  heap.spend_bytes(text.size() * 8);
  if (base == 0 || (base >= 2 && base <= 36))
    if (const auto parsed = parse_int(text, base)) return Value::of_int(*parsed);
  const auto number = parse_float(text);
  return number ? int_of(*number).value_or(otherwise) : otherwise;
}

Value float_filter(Heap& heap, const Value& v, const Arguments& a) {
  const auto b = bind("float", a, {"default"});
  const Value otherwise = b[0] != nullptr ? *b[0] : Value::of_float(0);
  if (v.is_undefined()) fail_undefined(v);
  if (v.is_number()) return Value::of_float(v.as_double());
  if (!v.is_string()) return otherwise;
  heap.spend_bytes(v.string().text.size() * 8);
  const auto number = parse_float(v.string().text);
  return number ? Value::of_float(*number) : otherwise;
}

Value abs(Heap&, const Value& v, const Arguments& a) {
  bind("abs", a, {});
  if (v.is(Kind::kFloat)) return Value::of_float(std::abs(v.number));
  if (!v.is_integral()) fail("bad operand type for abs(): '{}'", type_name(v));
  return v.as_int() < 0 ? negate(v) : Value::of_int(v.as_int());
}

// To `precision` decimal places of the exact binary value, ties to even: the digits printf would print.
double round_float(double value, Int precision) {
  if (!std::isfinite(value) || precision > 330) return value;
  if (precision >= 0) return std::strtod(fmt::format("{:.{}f}", value, static_cast<int>(precision)).c_str(), nullptr);
  if (precision < -308) return std::copysign(0.0, value);
  const double unit = std::pow(10.0, static_cast<double>(-precision));
  return std::nearbyint(value / unit) * unit;
}

Value round_integer(Int value, Int precision) {
  if (precision >= 0) return Value::of_int(value);
  Int unit = 1;
  for (Int i = 0; i > precision; --i)
    if (__builtin_mul_overflow(unit, Int(10), &unit)) return Value::of_int(0);
  Int rest = value % unit;
  if (rest < 0) rest += unit;
  Int down = value - rest;
  const Int half = unit / 2;
  if (rest > half || (rest == half && (down / unit) % 2 != 0)) down += unit;
  return Value::of_int(down);
}

Value round(Heap&, const Value& v, const Arguments& a) {
  const auto b = bind("round", a, {"precision", "method"});
  const std::string method = b[1] == nullptr ? "common" : text_argument("round", *b[1]).text;
  if (method != "common" && method != "ceil" && method != "floor") fail("method must be common, ceil or floor");
  if (v.is_undefined() && method != "common") fail_undefined(v);
  if (!v.is_number()) fail("type {} doesn't define __round__ method", type_name(v));
  if (method == "common" && b[0] != nullptr && b[0]->is(Kind::kNone)) {  // Python's round(x, None): to an integer
    if (v.is_integral()) return Value::of_int(v.as_int());
    if (!std::isfinite(v.number)) fail("cannot convert float {} to integer", float_text(v.number));
    return *int_of(round_float(v.number, 0));
  }
  const Int precision = b[0] == nullptr ? Int(0) : int_argument("round", *b[0]);
  if (method == "common")
    return v.is_integral() ? round_integer(v.as_int(), precision) : Value::of_float(round_float(v.number, precision));
  const double unit = std::pow(10.0, static_cast<double>(precision));
  const double scaled = v.as_double() * unit;
  if (!std::isfinite(scaled)) fail("cannot round {}", float_text(scaled));
  return Value::of_float((method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / unit);
}

Value string(Heap& heap, const Value& v, const Arguments& a) {
  bind("string", a, {});
  return as_text(heap, v);
}

Value pprint(Heap& heap, const Value& v, const Arguments& a) {
  bind("pprint", a, {});
  return pretty(heap, v);
}

Value safe(Heap& heap, const Value& v, const Arguments& a) {
  bind("safe", a, {});
  Text out(heap);
  print(out, v);
  return out.finish(true);
}

Value escape_filter(Heap& heap, const Value& v, const Arguments& a) {
  bind("escape", a, {});
  return escape(heap, v);
}

Value force_escape(Heap& heap, const Value& v, const Arguments& a) {
  bind("forceescape", a, {});
  Text plain(heap);
  print(plain, v);
  return escape(heap, plain.finish());
}

Value attr(Heap& heap, const Value& v, const Arguments& a) {
  const auto b = bind("attr", a, {"name"}, 1);
  if (v.is_undefined()) fail_undefined(v);
  text_argument("attr", *b[0]);
  const auto found = own_attribute(heap, v, *b[0]);
  return found ? *found : missing(heap, v, *b[0]);
}

Value filesizeformat(Heap& heap, const Value& v, const Arguments& a) {
  const auto b = bind("filesizeformat", a, {"binary"});
  const bool binary = flag(b[0]);
  if (v.is_undefined()) fail_undefined(v);
  const auto parsed = v.is_number() ? v.as_double() : v.is_string() ? parse_float(v.string().text) : std::nullopt;
  if (!parsed) fail("filesizeformat: a number is required, not {}", type_name(v));
  const double bytes = *parsed, base = binary ? 1024 : 1000;
  if (bytes == 1) return heap.text("1 Byte");
  if (bytes < base) return heap.text(fmt::format("{} Bytes", int_text(static_cast<Int>(std::max(bytes, -1e37)))));
  static constexpr std::string_view kPrefixes = "kMGTPEZY";
  double unit = base;
  size_t i = 0;
  for (; i + 1 < kPrefixes.size() && bytes >= unit * base; ++i) unit *= base;
  const char prefix = binary && i == 0 ? 'K' : kPrefixes[i];
  return heap.text(fmt::format("{:.1f} {}{}", bytes / unit, prefix, binary ? "iB" : "B"));
}

constexpr FilterEntry kFilters[] = {
    {"default", default_},
    {"d", default_},
    {"tojson", tojson},
    {"int", int_filter},
    {"float", float_filter},
    {"abs", abs},
    {"round", round},
    {"string", string},
    {"pprint", pprint},
    {"safe", safe},
    {"escape", escape_filter},
    {"e", escape_filter},
    {"forceescape", force_escape},
    {"attr", attr},
    {"filesizeformat", filesizeformat},
    // Some templates parse call arguments that come as text; the reference has no such filter and fails there.
    {"from_json", from_json_filter, true},
    {"fromjson", from_json_filter, true},
};

}  // namespace

std::span<const FilterEntry> value_filters() { return kFilters; }

}  // namespace ingle::jinja
