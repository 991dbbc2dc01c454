// The two ways Python fills a pattern: "…" % values and "…".format(values).
#include <algorithm>
#include <cmath>

#include "text/template_methods.h"
#include "text/template_operators.h"
#include "text/template_unicode.h"

namespace ingle::jinja {

namespace {

// How one value is laid out; both mini-languages come down to this.
struct Layout {
  std::string fill = " ";
  char align = 0;  // < > ^ =, or none given
  char sign = '-';
  bool alternate = false;
  bool zero = false;
  Int width = 0;
  int precision = -1;
  char grouping = 0;
  char type = 0;
};

constexpr int kMaxPrecision = 100'000;

// Digits of an integer in a base, without sign.
std::string digits_of(Int value, int base, bool capitals) {
  unsigned __int128 rest = value < 0 ? -static_cast<unsigned __int128>(value) : static_cast<unsigned __int128>(value);
  std::string out;
  do {
    const int digit = static_cast<int>(rest % static_cast<unsigned>(base));
    out += static_cast<char>(digit < 10 ? '0' + digit : (capitals ? 'A' : 'a') + digit - 10);
    rest /= static_cast<unsigned>(base);
  } while (rest != 0);
  std::reverse(out.begin(), out.end());
  return out;
}

// Separators between the digits before the point. Zeros that fill a width are digits too: 00,012,345.
std::string grouped(std::string_view digits, const Layout& layout, size_t every, size_t sign) {
  size_t end = 0;
  while (end < digits.size() && std::isxdigit(static_cast<unsigned char>(digits[end])) != 0) ++end;
  size_t count = end;
  if (layout.zero && layout.align == 0) {
    const Int room = layout.width - static_cast<Int>(sign + digits.size() - end);
    while (static_cast<Int>(count + (count - 1) / every) < room) ++count;
  }
  std::string out;
  for (size_t left = count; left > 0; --left) {
    out += left > end ? '0' : digits[end - left];
    if (left > 1 && (left - 1) % every == 0) out += layout.grouping;
  }
  return out.append(digits, end);
}

// sign + prefix + body padded to the width; numbers go right, texts left, `=` pads behind the sign.
void lay_out(Text& out, const Layout& layout, std::string_view sign, const Text& body, bool number,
             bool trusted = true) {
  const Int size = static_cast<Int>(sign.size()) + count_code_points(body.text());
  const Int pad = std::max<Int>(layout.width - size, 0);
  char align = layout.align != 0 ? layout.align : layout.zero && number ? '=' : number ? '>' : '<';
  const std::string_view fill = layout.zero && layout.align == 0 ? "0" : std::string_view(layout.fill);
  const Int left = align == '>' ? pad : align == '^' ? pad / 2 : 0;
  out.fill(left, fill, trusted);
  out.append(sign, trusted);
  if (align == '=') out.fill(pad, fill, trusted);
  out.append(body);
  if (align == '<' || align == '^') out.fill(pad - left, fill, trusted);
}

std::string sign_of(const Layout& layout, bool negative) {
  return negative ? "-" : layout.sign == '+' ? "+" : layout.sign == ' ' ? " " : "";
}

void check_width(const Text& out, const Layout& layout) {
  const size_t most = out.heap().limits().output_bytes;
  out.heap().check_text(layout.width > static_cast<Int>(most) ? most + 1 : static_cast<size_t>(layout.width));
}

void lay_out_integer(Text& out, const Layout& layout, Int value) {
  check_width(out, layout);
  const char type = layout.type == 0 || layout.type == 'n' ? 'd' : layout.type;
  const int base = type == 'x' || type == 'X' ? 16 : type == 'o' ? 8 : type == 'b' ? 2 : 10;
  std::string digits = digits_of(value, base, type == 'X');
  Text body(out.heap());
  if (layout.precision > static_cast<int>(digits.size()))
    body.fill(layout.precision - static_cast<int>(digits.size()), "0");
  std::string sign = sign_of(layout, value < 0);
  if (layout.alternate && base != 10) sign.append(1, '0').append(1, type);
  if (layout.grouping != 0) digits = grouped(digits, layout, base == 10 ? 3 : 4, sign.size());
  body.append(digits);
  lay_out(out, layout, sign, body, true);
}

void lay_out_float(Text& out, const Layout& layout, double value) {
  check_width(out, layout);
  const char type = layout.type;
  const double magnitude = type == '%' ? std::abs(value) * 100 : std::abs(value);
  out.heap().check_text(static_cast<size_t>(std::max(layout.precision, 0)) + 400);
  const int precision = layout.precision < 0 ? 6 : layout.precision;
  std::string digits;
  const bool capitals = type == 'E' || type == 'F' || type == 'G';
  if (!std::isfinite(magnitude))
    digits = std::isnan(magnitude) ? "nan" : "inf";
  else if (type == 0 && layout.precision < 0)
    digits = float_text(magnitude);
  else if (type == 'e' || type == 'E')
    digits =
        layout.alternate ? fmt::format("{:#.{}e}", magnitude, precision) : fmt::format("{:.{}e}", magnitude, precision);
  else if (type == 'f' || type == 'F' || type == '%')
    digits =
        layout.alternate ? fmt::format("{:#.{}f}", magnitude, precision) : fmt::format("{:.{}f}", magnitude, precision);
  else {
    digits =
        layout.alternate ? fmt::format("{:#.{}g}", magnitude, precision) : fmt::format("{:.{}g}", magnitude, precision);
    // Without a type a float keeps its point.
    if (type == 0 && digits.find_first_of(".e") == std::string::npos) digits += ".0";
  }
  if (capitals) digits = to_upper(digits);
  if (type == '%') digits += '%';
  const std::string sign = sign_of(layout, std::signbit(value) && !std::isnan(value));
  if (layout.grouping != 0 && std::isfinite(value)) digits = grouped(digits, layout, 3, sign.size());
  Text body(out.heap());
  body.append(digits);
  lay_out(out, layout, sign, body, true);
}

void lay_out_text(Text& out, const Layout& layout, const Value& text) {
  const String& s = text.string();
  Text body(out.heap());
  size_t end = s.text.size();
  if (layout.precision >= 0 && layout.precision < s.length) end = byte_of_code_point(s.text, layout.precision);
  body.append(s, 0, end);
  lay_out(out, layout, "", body, false);
}

// Reads decimal digits; -1 when there are none.
Int read_number(std::string_view text, size_t& at) {
  Int number = -1;
  while (at < text.size() && text[at] >= '0' && text[at] <= '9' && number < 1'000'000'000'000)
    number = (number < 0 ? 0 : number) * 10 + (text[at++] - '0');
  return number;
}

int precision_of(Int number) {
  if (number > kMaxPrecision) fail("precision too big");
  return static_cast<int>(number);
}

// Hands out the values of `%`: a tuple one by one, an object by key, anything else once.
class PercentValues {
 public:
  PercentValues(Heap& heap, const Value& values) : heap_(heap), values_(values) {}

  Value next() {
    if (values_.is(Kind::kTuple)) {
      if (next_ >= values_.sequence().items.size()) fail("not enough arguments for format string");
      return values_.sequence().items[next_++];
    }
    if (next_++ > 0) fail("not enough arguments for format string");
    return values_;
  }
  Value named(std::string_view key) {
    if (!values_.is(Kind::kDict)) fail("format requires a mapping");
    const Value* found = values_.dict().find(heap_, key);
    if (found == nullptr) fail("format: no key '{}'", key);
    by_name_ = true;
    return *found;
  }
  void finish() const {
    const bool all =
        values_.is(Kind::kTuple) ? next_ == values_.sequence().items.size() : next_ > 0 || by_name_ || has_items();
    if (!all) fail("not all arguments converted during string formatting");
  }

 private:
  // Python takes whatever can be subscripted for a mapping, and does not mind if nobody looks into it.
  bool has_items() const {
    return values_.is(Kind::kDict) || values_.is(Kind::kList) || values_.is(Kind::kRange) || values_.is_undefined();
  }

  Heap& heap_;
  Value values_;
  size_t next_ = 0;
  bool by_name_ = false;
};

void percent_number(Text& out, const Layout& layout, const Value& value) {
  const bool whole = std::string_view("diuxXo").find(layout.type) != std::string_view::npos;
  if (!value.is_number()) fail("%{} format: a number is required, not {}", layout.type, type_name(value));
  if (!whole) return lay_out_float(out, layout, value.as_double());
  Layout plain = layout;
  if (plain.type == 'i' || plain.type == 'u') plain.type = 'd';
  if (value.is_integral()) return lay_out_integer(out, plain, value.as_int());
  if (plain.type != 'd') fail("%{} format: an integer is required, not float", layout.type);
  if (!(std::abs(value.number) < 1e37)) fail("cannot convert {} to integer", float_text(value.number));
  lay_out_integer(out, plain, static_cast<Int>(value.number));
}

// ascii(): what repr() left as it is beyond ASCII is escaped.
Value ascii_only(const Text& text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const uint32_t c = next_code_point(text.text(), at);
    if (c < 0x80)
      out += static_cast<char>(c);
    else
      out += c < 0x100     ? fmt::format("\\x{:02x}", c)
             : c < 0x10000 ? fmt::format("\\u{:04x}", c)
                           : fmt::format("\\U{:08x}", c);
  }
  return text.heap().text(out, text.trusted());
}

void percent_value(Text& out, Layout layout, const Value& value, bool marked) {
  Heap& heap = out.heap();
  switch (layout.type) {
    case 's': {
      Value text = as_text(heap, value);
      if (marked) text = escape(heap, text);
      layout.zero = false;
      return lay_out_text(out, layout, text);
    }
    case 'r':
    case 'a': {
      Text text(heap);
      represent(text, value);
      Value done = layout.type == 'a' ? ascii_only(text) : text.finish();
      if (marked) done = escape(heap, done);
      layout.zero = false;
      return lay_out_text(out, layout, done);
    }
    case 'c': {
      layout.zero = false;
      layout.precision = -1;
      if (value.is_string() && value.string().length == 1) return lay_out_text(out, layout, value);
      if (!value.is_integral()) fail("%c requires int or char");
      return lay_out_text(out, layout, heap.text(character(value.as_int())));
    }
    default:
      return percent_number(out, layout, value);
  }
}

}  // namespace

Value format_percent(Heap& heap, const String& format, const Value& arguments) {
  Text out(heap);
  PercentValues values(heap, arguments);
  const std::string& f = format.text;
  for (size_t at = 0; at < f.size();) {
    const size_t percent = std::min(f.find('%', at), f.size());
    out.append(format, at, percent);
    if ((at = percent) == f.size()) break;
    ++at;
    heap.spend(1);
    if (at < f.size() && f[at] == '%') {  // only as it stands: "%5%" is no format
      out.append(format, at, at + 1);
      ++at;
      continue;
    }
    Layout layout;
    std::optional<Value> named;
    if (at < f.size() && f[at] == '(') {
      size_t depth = 1, end = at + 1;
      for (; end < f.size() && depth > 0; ++end) depth += f[end] == '(' ? 1 : f[end] == ')' ? -1 : 0;
      if (depth > 0) fail("incomplete format key");
      named = values.named(std::string_view(f).substr(at + 1, end - at - 2));
      at = end;
    }
    for (; at < f.size() && std::string_view("#0- +").find(f[at]) != std::string_view::npos; ++at) {
      if (f[at] == '#') layout.alternate = true;
      if (f[at] == '0') layout.zero = true;
      if (f[at] == '-') layout.align = '<';
      if (f[at] == '+') layout.sign = '+';
      if (f[at] == ' ' && layout.sign != '+') layout.sign = ' ';
    }
    if (at < f.size() && f[at] == '*') {
      layout.width = int_argument("%*", values.next());
      if (layout.width < 0) layout.align = '<', layout.width = -layout.width;
      ++at;
    } else {
      layout.width = std::max<Int>(read_number(f, at), 0);
    }
    if (at < f.size() && f[at] == '.') {
      ++at;
      if (at < f.size() && f[at] == '*')
        ++at, layout.precision = precision_of(std::max<Int>(int_argument("%.*", values.next()), 0));
      else
        layout.precision = precision_of(std::max<Int>(read_number(f, at), 0));
    }
    while (at < f.size() && (f[at] == 'h' || f[at] == 'l' || f[at] == 'L')) ++at;  // C's sizes mean nothing here
    if (at >= f.size()) fail("incomplete format");
    layout.type = f[at++];
    if (std::string_view("srcadiuxXoeEfFgG").find(layout.type) == std::string_view::npos)
      fail("unsupported format character '{}'", layout.type);
    if (layout.align == 0 && std::string_view("srac").find(layout.type) != std::string_view::npos) layout.align = '>';
    // What is not text pads with spaces unless a number asks for zeros; %-05d ignores the zero.
    if (layout.align == '<') layout.zero = false;
    percent_value(out, layout, named ? *named : values.next(), format.marked);
  }
  values.finish();
  return out.finish(format.marked);
}

namespace {

Layout parse_layout(std::string_view spec) {
  Layout layout;
  size_t at = 0;
  const auto is_align = [](char c) { return c == '<' || c == '>' || c == '^' || c == '='; };
  if (!spec.empty()) {
    size_t second = 0;
    next_code_point(spec, second);
    if (second < spec.size() && is_align(spec[second])) {
      layout.fill = spec.substr(0, second);
      layout.align = spec[second];
      at = second + 1;
    } else if (is_align(spec[0])) {
      layout.align = spec[0];
      at = 1;
    }
  }
  const auto accept = [&](char c) { return at < spec.size() && spec[at] == c ? (++at, true) : false; };
  for (char c : {'+', '-', ' '})
    if (accept(c)) {
      layout.sign = c;
      break;
    }
  layout.alternate = accept('#');
  if (accept('0')) {
    layout.zero = layout.align == 0;
    if (layout.align != 0 && layout.fill == " " && spec[0] != ' ') layout.fill = "0";
  }
  layout.width = std::max<Int>(read_number(spec, at), 0);
  if (accept(',')) layout.grouping = ',';
  if (accept('_')) layout.grouping = '_';
  if (accept('.')) {
    const Int precision = read_number(spec, at);
    if (precision < 0) fail("Format specifier missing precision");
    layout.precision = precision_of(precision);
  }
  if (at < spec.size()) layout.type = spec[at++];
  if (at < spec.size()) fail("Invalid format specifier '{}'", spec);
  return layout;
}

void format_value(Text& out, const Value& value, std::string_view spec) {
  if (spec.empty()) return print(out, value);
  const Layout layout = parse_layout(spec);
  const auto check_type = [&](std::string_view allowed) {
    if (layout.type != 0 && allowed.find(layout.type) == std::string_view::npos)
      fail("Unknown format code '{}' for object of type '{}'", layout.type, type_name(value));
  };
  if (value.is_string()) {
    check_type("s");
    if (layout.sign != '-' || layout.align == '=' || layout.alternate || layout.grouping != 0)
      fail("a string takes no sign, '=' or grouping in its format");
    return lay_out_text(out, layout, value);
  }
  if (value.is_integral()) {
    check_type("bcdoxXneEfFgG%");
    if (layout.type == 'c') return percent_value(out, layout, value, false);
    if (layout.type != 0 && std::string_view("eEfFgG%").find(layout.type) != std::string_view::npos)
      return lay_out_float(out, layout, value.as_double());
    if (layout.precision >= 0) fail("Precision not allowed in integer format specifier");
    return lay_out_integer(out, layout, value.as_int());
  }
  if (value.is(Kind::kFloat)) {
    check_type("eEfFgGn%");
    return lay_out_float(out, layout, value.number);
  }
  fail("unsupported format string passed to {}.__format__", type_name(value));
}

// One call of str.format: which argument comes next, and where fields look theirs up.
class FieldFormatter {
 public:
  FieldFormatter(Heap& heap, const Arguments& arguments, bool marked)
      : heap_(heap), arguments_(arguments), marked_(marked) {}

  // `nesting`: a format specifier may hold fields, but theirs may not.
  void format(Text& out, const String& pattern, size_t begin, size_t end, int nesting) {
    const std::string_view p = std::string_view(pattern.text).substr(0, end);
    for (size_t at = begin; at < end;) {
      const size_t brace = std::min(p.find_first_of("{}", at), end);
      out.append(pattern, at, brace);
      if ((at = brace) == end) return;
      heap_.spend(1);
      if (at + 1 < end && p[at + 1] == p[at]) {
        out.append(pattern, at, at + 1);
        at += 2;
        continue;
      }
      if (p[at] == '}') fail("Single '}}' encountered in format string");
      size_t close = at + 1;
      for (int open = 1; close < end; ++close) {
        open += p[close] == '{' ? 1 : p[close] == '}' ? -1 : 0;
        if (open == 0) break;
      }
      if (close >= end) fail("Single '{{' encountered in format string");
      field(out, pattern, at + 1, close, nesting);
      at = close + 1;
    }
  }

 private:
  void field(Text& out, const String& pattern, size_t begin, size_t end, int nesting) {
    if (nesting > 1) fail("Max string recursion exceeded");
    const std::string_view all = std::string_view(pattern.text).substr(0, end);
    size_t name_end = begin;
    for (int open = 0; name_end < end; ++name_end) {
      if (all[name_end] == '[') open = 1;
      if (all[name_end] == ']') open = 0;
      if (open == 0 && (all[name_end] == '!' || all[name_end] == ':')) break;
    }
    Value value = look_up(all.substr(begin, name_end - begin));
    size_t at = name_end;
    if (at < end && all[at] == '!') {
      const char conversion = at + 1 < end ? all[at + 1] : '\0';
      at += 2;
      if (at < end && all[at] != ':') fail("expected ':' after conversion specifier");
      if (conversion != 's' && conversion != 'r' && conversion != 'a') fail("Unknown conversion specifier");
      Text text(heap_);
      conversion == 's' ? print(text, value) : represent(text, value);
      value = conversion == 'a' ? ascii_only(text) : text.finish();
    }
    Text spec(heap_);
    if (at < end) format(spec, pattern, at + 1, end, nesting + 1);
    Text formatted(heap_);
    format_value(formatted, value, spec.text());
    const Value done = formatted.finish(value.is_string() && value.string().marked);
    out.append(marked_ ? escape(heap_, done).string() : done.string());
  }

  // "0.name[key]": an argument, then attributes and items as the sandbox allows them.
  Value look_up(std::string_view path) {
    size_t at = std::min(path.find_first_of(".["), path.size());
    Value value = argument(path.substr(0, at), at == path.size());
    while (at < path.size()) {
      heap_.spend(1);
      const bool attribute = path[at] == '.';
      if (!attribute && path[at] != '[') fail("Only '.' or '[' may follow ']' in format field specifier");
      const size_t begin = at + 1;
      const size_t end = attribute ? std::min(path.find_first_of(".[", begin), path.size()) : path.find(']', begin);
      if (end == std::string_view::npos) fail("Missing ']' in format string");
      const std::string_view part = path.substr(begin, end - begin);
      if (part.empty()) fail("Empty attribute in format string");
      const Value key = heap_.text(part);
      value = attribute ? attribute_of(heap_, value, key) : item_of(heap_, value, as_index(part, key));
      at = attribute ? end : end + 1;
    }
    return value;
  }

  static Value as_index(std::string_view part, const Value& key) {
    size_t at = 0;
    const Int number = read_number(part, at);
    return number >= 0 && at == part.size() ? Value::of_int(number) : key;
  }

  // `whole`: no attribute or item follows. Only then Python minds whether fields count themselves.
  Value argument(std::string_view name, bool whole) {
    size_t at = 0;
    Int index = read_number(name, at);
    if ((name.empty() && whole) || (index >= 0 && at == name.size())) {
      const int style = name.empty() ? 1 : 2;
      if (whole && numbering_ != 0 && numbering_ != style)
        fail("cannot switch between automatic field numbering and manual field specification");
      if (whole) numbering_ = style;
      if (name.empty()) index = next_++;
      if (index >= static_cast<Int>(arguments_.positional.size()))
        fail("Replacement index {} out of range for positional args tuple", int_text(index));
      return arguments_.positional[static_cast<size_t>(index)];
    }
    for (const auto& [key, value] : arguments_.named)
      if (key.string().text == name) return value;
    fail("format(): no argument '{}'", name);
  }

  Heap& heap_;
  const Arguments& arguments_;
  bool marked_;
  Int next_ = 0;
  int numbering_ = 0;  // 1: {}, 2: {0}
};

}  // namespace

Value format_fields(Heap& heap, const Value& self, const Arguments& arguments) {
  const String& pattern = self.string();
  Text out(heap);
  FieldFormatter(heap, arguments, pattern.marked).format(out, pattern, 0, pattern.text.size(), 0);
  return out.finish(pattern.marked);
}

Value format_map(Heap& heap, const Value& self, const Arguments& arguments) {
  const auto b = bind("format_map", arguments, {"mapping"}, 1);
  if (!b[0]->is(Kind::kDict)) fail("format_map() takes an object, not {}", type_name(*b[0]));
  Arguments named;
  for (const auto& [key, value] : b[0]->dict().entries)
    if (key.is_string()) named.named.emplace_back(key, value);
  heap.charge(named.named.size() * sizeof(named.named[0]));
  return format_fields(heap, self, named);
}

}  // namespace ingle::jinja
