// How values print: Python's str() and repr(), and the HTML escapes of marked text.
#include <charconv>
#include <cmath>

#include "text/template_operators.h"
#include "text/template_unicode.h"

namespace ingle::jinja {

std::string int_text(Int value) { return fmt::format("{}", value); }

// Python's repr: the shortest digits that read back as the same number, laid out by the size of the exponent.
std::string float_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[40];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific).ptr;
  const std::string_view all(buffer, static_cast<size_t>(end - buffer));  // [-]d[.ddd]e[+-]xx
  const size_t e = all.find('e');
  const int exponent = std::atoi(std::string(all.substr(e + 1)).c_str());
  std::string digits;
  for (char c : all.substr(0, e))
    if (c >= '0' && c <= '9') digits += c;
  const std::string sign = std::signbit(value) ? "-" : "";
  if (exponent < -4 || exponent >= 16) {
    std::string mantissa = digits.substr(0, 1);
    if (digits.size() > 1) mantissa.append(1, '.').append(digits, 1);
    return fmt::format("{}{}e{}{:02}", sign, mantissa, exponent < 0 ? '-' : '+', std::abs(exponent));
  }
  if (exponent < 0) return fmt::format("{}0.{:0>{}}{}", sign, "", -exponent - 1, digits);
  const size_t whole = static_cast<size_t>(exponent) + 1;
  if (digits.size() <= whole) return sign + digits + std::string(whole - digits.size(), '0') + ".0";
  return sign + digits.substr(0, whole) + "." + digits.substr(whole);
}

std::string quoted(std::string_view text) {
  const bool single = text.find('\'') != text.npos, twice = text.find('"') != text.npos;
  const char quote = single && !twice ? '"' : '\'';
  std::string out(1, quote);
  for (size_t at = 0; at < text.size();) {
    const uint32_t c = next_code_point(text, at);
    if (c == static_cast<uint32_t>(quote) || c == '\\') {
      out += '\\';
      out += static_cast<char>(c);
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c >= ' ' && c < 0x7f) {
      out += static_cast<char>(c);
    } else if ((properties_of(c) & kPrintable) != 0) {
      append_code_point(out, c);
    } else {
      out += c < 0x100     ? fmt::format("\\x{:02x}", c)
             : c < 0x10000 ? fmt::format("\\u{:04x}", c)
                           : fmt::format("\\U{:08x}", c);
    }
  }
  return out + quote;
}

namespace {

// Where Python says where an object lies. Ours says always the same: a rendering depends on its input alone.
constexpr std::string_view kAddress = "0x7f0000000000";

void represent_items(Text& out, const std::vector<Value>& items, std::string_view open, std::string_view close) {
  out.append(open);
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out.append(", ");
    represent(out, items[i]);
  }
  out.append(close);
}

void represent_dict(Text& out, const Dict& dict) {
  out.append("{");
  bool first = true;
  for (const auto& [key, value] : dict.entries) {
    if (!first) out.append(", ");
    first = false;
    represent(out, key);
    out.append(": ");
    represent(out, value);
  }
  out.append("}");
}

void represent_container(Text& out, const Value& value) {
  const Heap::Level level(out.heap());
  switch (value.kind) {
    case Kind::kList:
      return represent_items(out, value.sequence().items, "[", "]");
    case Kind::kTuple:
      return represent_items(out, value.sequence().items, "(", value.sequence().items.size() == 1 ? ",)" : ")");
    case Kind::kDict:
      return represent_dict(out, value.dict());
    case Kind::kNamespace:
      out.append("<Namespace ");
      represent_dict(out, *value.as<Namespace>().attributes);
      return out.append(">");
    default:
      out.append(type_name(value));
      return represent_items(out, iterate(out.heap(), value), "([", "])");
  }
}

}  // namespace

void represent(Text& out, const Value& value) {
  out.heap().spend(1);
  switch (value.kind) {
    case Kind::kUndefined:
      return out.append("Undefined");
    case Kind::kNone:
      return out.append("None");
    case Kind::kBool:
      return out.append(value.boolean ? "True" : "False");
    case Kind::kInt:
      return out.append(int_text(value.integer));
    case Kind::kFloat:
      return out.append(float_text(value.number));
    case Kind::kString: {
      const String& s = value.string();
      out.heap().spend_bytes(s.text.size() * 8);
      return out.append(s.marked ? fmt::format("Markup({})", quoted(s.text)) : quoted(s.text), s.trusted());
    }
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kDict:
    case Kind::kNamespace:
    case Kind::kView: {
      // Its punctuation goes with the text inside: a container of untrusted text is untrusted as a whole.
      Text inner(out.heap());
      represent_container(inner, value);
      return out.append(inner.text(), inner.trusted());
    }
    case Kind::kRange: {
      const Range& r = value.as<Range>();
      return out.append(r.step == 1 ? fmt::format("range({}, {})", r.start, r.stop)
                                    : fmt::format("range({}, {}, {})", r.start, r.stop, r.step));
    }
    case Kind::kGenerator: {
      const Generator& g = value.as<Generator>();
      return out.append(fmt::format("<{} at {}>", g.name, kAddress));
    }
    case Kind::kMacro: {
      const Value name = *value.as<Callable>().attribute(out.heap(), "name");
      if (!name.is_string()) return out.append("<Macro anonymous>");  // the body of a call block
      out.append("<Macro '");
      print(out, name);
      return out.append("'>");
    }
    case Kind::kLoop: {
      auto& loop = value.as<Callable>();
      out.append("<LoopContext ");
      represent(out, *loop.attribute(out.heap(), "index"));
      out.append("/");
      represent(out, *loop.attribute(out.heap(), "length"));
      return out.append(">");
    }
    case Kind::kMethod: {
      const Method& method = value.as<Method>();
      if (!method.self.is_string() && !method.self.is_sequence() && !method.self.is(Kind::kDict)) break;
      return out.append(
          fmt::format("<built-in method {} of {} object at {}>", method.name, type_name(method.self), kAddress));
    }
    default:
      break;
  }
  out.append(fmt::format("<{}>", type_name(value)));
}

void print(Text& out, const Value& value) {
  if (value.is_string()) return out.append(value.string());
  if (!value.is_undefined()) represent(out, value);
}

Value as_text(Heap& heap, const Value& value) {
  if (value.is_string()) return value;
  Text out(heap);
  print(out, value);
  return out.finish();
}

Value escape(Heap& heap, const Value& value) {
  if (value.is_string() && value.string().marked) return value;
  const Value text = as_text(heap, value);
  const String& s = text.string();
  Text out(heap);
  size_t begin = 0;
  for (size_t at = 0; at < s.text.size(); ++at) {
    const char c = s.text[at];
    const std::string_view entity = c == '&'    ? "&amp;"
                                    : c == '<'  ? "&lt;"
                                    : c == '>'  ? "&gt;"
                                    : c == '\'' ? "&#39;"
                                    : c == '"'  ? "&#34;"
                                                : "";
    if (entity.empty()) continue;
    out.append(s, begin, at);
    out.append(entity, s.trusted());
    begin = at + 1;
  }
  out.append(s, begin, s.text.size());
  return out.finish(true);
}

Value substring(Heap& heap, const String& s, size_t begin, size_t end) {
  Text out(heap);
  out.append(s, begin, end);
  return out.finish(s.marked);
}

Value concatenate(Heap& heap, const Value& a, const Value& b) {
  const bool marked = a.string().marked || b.string().marked;
  Text out(heap);
  out.append(marked ? escape(heap, a).string() : a.string());
  out.append(marked ? escape(heap, b).string() : b.string());
  return out.finish(marked);
}

}  // namespace ingle::jinja
