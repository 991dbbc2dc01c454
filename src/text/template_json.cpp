// The filter tojson: Python's json.dumps.
#include <algorithm>
#include <cmath>

#include "text/template_operators.h"
#include "text/template_unicode.h"

namespace ingle::jinja {

namespace {

std::string json_string(std::string_view text, bool ensure_ascii) {
  std::string out = "\"";
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    const uint32_t c = next_code_point(text, at);
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\b':
        out += "\\b";
        break;
      case '\f':
        out += "\\f";
        break;
      default:
        if (c >= 0x20 && (c < 0x7f || !ensure_ascii))
          out += text.substr(begin, at - begin);
        else if (c < 0x10000)
          out += fmt::format("\\u{:04x}", c);
        else
          out += fmt::format("\\u{:04x}\\u{:04x}", 0xd800 + ((c - 0x10000) >> 10), 0xdc00 + ((c - 0x10000) & 0x3ff));
    }
  }
  return out + '"';
}

std::string json_float(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
  return float_text(value);
}

class JsonWriter {
 public:
  JsonWriter(Text& out, const JsonStyle& style) : out_(out), heap_(out.heap()), style_(style) {}

  void write(const Value& value) {
    heap_.spend(1);
    switch (value.kind) {
      case Kind::kNone:
        return out_.append("null");
      case Kind::kBool:
        return out_.append(value.boolean ? "true" : "false");
      case Kind::kInt:
        return out_.append(int_text(value.integer));
      case Kind::kFloat:
        return out_.append(json_float(value.number));
      case Kind::kString:
        return write_string(value);
      case Kind::kList:
      case Kind::kTuple:
        return write_array(value.sequence().items);
      case Kind::kDict:
        return write_object(value.dict());
      // Jinja2 refuses these; what is meant is plain: `tools|map(attribute="function")|tojson` is seen in the wild.
      case Kind::kGenerator:
      case Kind::kView:
        return write_array(iterate(heap_, value));
      default:
        fail("Object of type {} is not JSON serializable", type_name(value));
    }
  }

 private:
  void write_string(const Value& value) {
    const String& s = value.string();
    heap_.spend_bytes(s.text.size());
    out_.append(json_string(s.text, style_.ensure_ascii), s.trusted());
  }

  void new_line() {
    if (!style_.indented) return;
    out_.append("\n");
    out_.fill(depth_, style_.indent);
  }

  void write_array(const std::vector<Value>& items) {
    if (items.empty()) return out_.append("[]");
    const Heap::Level level(heap_);
    out_.append("[");
    ++depth_;
    for (size_t i = 0; i < items.size(); ++i) {
      if (i > 0) out_.append(style_.item_separator);
      new_line();
      write(items[i]);
    }
    --depth_;
    new_line();
    out_.append("]");
  }

  void write_object(const Dict& dict) {
    if (dict.entries.empty()) return out_.append("{}");
    const Heap::Level level(heap_);
    std::vector<std::pair<Value, Value>> entries = dict.entries;
    heap_.charge(entries.size() * sizeof(entries[0]));
    if (style_.sort_keys)
      std::stable_sort(entries.begin(), entries.end(),
                       [&](const auto& a, const auto& b) { return less(heap_, a.first, b.first); });
    out_.append("{");
    ++depth_;
    for (size_t i = 0; i < entries.size(); ++i) {
      if (i > 0) out_.append(style_.item_separator);
      new_line();
      write_key(entries[i].first);
      out_.append(style_.key_separator);
      write(entries[i].second);
    }
    --depth_;
    new_line();
    out_.append("}");
  }

  void write_key(const Value& key) {
    switch (key.kind) {
      case Kind::kString:
        return write_string(key);
      case Kind::kNone:
        return out_.append("\"null\"");
      case Kind::kBool:
        return out_.append(key.boolean ? "\"true\"" : "\"false\"");
      case Kind::kInt:
        return out_.append(fmt::format("\"{}\"", int_text(key.integer)));
      case Kind::kFloat:
        return out_.append(fmt::format("\"{}\"", json_float(key.number)));
      default:
        fail("keys must be str, int, float, bool or None, not {}", type_name(key));
    }
  }

  Text& out_;
  Heap& heap_;
  const JsonStyle& style_;
  int depth_ = 0;
};

}  // namespace

Value to_json(Heap& heap, const Value& value, const JsonStyle& style) {
  Text json(heap);
  JsonWriter(json, style).write(value);
  if (json.trusted()) return json.finish();
  // Braces and quotes go with the text inside them: the whole is untrusted, one run.
  Text out(heap);
  out.append(json.text(), false);
  return out.finish();
}

}  // namespace ingle::jinja
