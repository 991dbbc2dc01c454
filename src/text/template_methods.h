// The methods of strings, objects, lists and tuples, as Python names them.
#pragma once

#include "text/template_value.h"

namespace ingle::jinja {

struct MethodEntry {
  std::string_view name;
  NativeFunction function;
  // The sandbox hides it: it prints nothing and is not defined. Where calling it does no harm we allow that (Jinja2
  // does not).
  bool hidden = false;
};
// nullptr when the type has no such method.
const MethodEntry* find_method(Kind kind, std::string_view name);
const MethodEntry* find_string_method(std::string_view name);

// Shared with the filters of the same name.
Value strip(Heap& heap, const String& s, const Value* characters, bool left, bool right);
Value replace(Heap& heap, const String& s, const String& old, const String& fresh, Int count);
Value join(Heap& heap, const Value& separator, const std::vector<Value>& texts);
Value center(Heap& heap, const String& s, Int width, std::string_view fill = " ");
std::vector<Value> split_lines(Heap& heap, const String& s, bool keep_ends);
Value cased(Heap& heap, const String& s, std::string text);  // `text` made from s: its trust and its mark
Value dict_from_keys(Heap& heap, const Value& self, const Arguments& arguments);

// str.format and str.format_map.
Value format_fields(Heap& heap, const Value& self, const Arguments& arguments);
Value format_map(Heap& heap, const Value& self, const Arguments& arguments);

const String& text_argument(std::string_view function, const Value& value);
std::string character(Int code_point);  // chr(); fails beyond Unicode and for surrogates
Int int_argument(std::string_view function, const Value& value);

}  // namespace ingle::jinja
