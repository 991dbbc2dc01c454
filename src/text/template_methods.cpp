#include "text/template_methods.h"

#include <algorithm>
#include <span>

#include "text/template_operators.h"
#include "text/template_unicode.h"

namespace ingle::jinja {

const String& text_argument(std::string_view function, const Value& value) {
  if (!value.is_string()) fail("{}() argument must be str, not {}", function, type_name(value));
  return value.string();
}

Int int_argument(std::string_view function, const Value& value) {
  if (!value.is_integral()) fail("{}(): '{}' object cannot be interpreted as an integer", function, type_name(value));
  return value.as_int();
}

std::string character(Int code_point) {
  if (code_point < 0 || code_point > 0x10ffff)
    fail("{} is no code point: not in range(0x110000)", int_text(code_point));
  if (code_point >= 0xd800 && code_point < 0xe000) fail("a surrogate cannot be written as UTF-8");
  std::string out;
  append_code_point(out, static_cast<uint32_t>(code_point));
  return out;
}

namespace {

Value view(Heap& heap, const Value& self, ViewOf of) { return Value(Kind::kView, heap.make<View>(&self.dict(), of)); }
Value dict_items(Heap& heap, const Value& self, const Arguments& a) {
  bind("items", a, {});
  return view(heap, self, ViewOf::kItems);
}
Value dict_keys(Heap& heap, const Value& self, const Arguments& a) {
  bind("keys", a, {});
  return view(heap, self, ViewOf::kKeys);
}
Value dict_values(Heap& heap, const Value& self, const Arguments& a) {
  bind("values", a, {});
  return view(heap, self, ViewOf::kValues);
}

Value dict_get(Heap& heap, const Value& self, const Arguments& a) {
  const auto b = bind("get", a, {"key", "default"}, 1);
  if (const Value* found = self.dict().find(heap, *b[0])) return *found;
  return b[1] != nullptr ? *b[1] : Value::none();
}

Value dict_copy(Heap& heap, const Value& self, const Arguments& a) {
  bind("copy", a, {});
  auto* copy = heap.make<Dict>();
  for (const auto& [key, value] : self.dict().entries) copy->set(heap, key, value);
  return Value(Kind::kDict, copy);
}

Value dict_pop(Heap& heap, const Value& self, const Arguments& a) {
  const auto b = bind("pop", a, {"key", "default"}, 1);
  if (const Value* found = self.dict().find(heap, *b[0])) {
    const Value value = *found;
    self.dict().erase(heap, *b[0]);
    return value;
  }
  if (b[1] == nullptr) fail("pop(): the key is not there");
  return *b[1];
}

Value dict_update(Heap& heap, const Value& self, const Arguments& a) {
  for (const Value& other : a.positional) {
    if (!other.is(Kind::kDict)) fail("update() takes an object, not {}", type_name(other));
    const auto entries = other.dict().entries;  // a copy: it may be the same object
    heap.charge(entries.size() * sizeof(entries[0]));
    for (const auto& [key, value] : entries) self.dict().set(heap, key, value);
  }
  for (const auto& [key, value] : a.named) self.dict().set(heap, key, value);
  return Value::none();
}

Value list_copy(Heap& heap, const Value& self, const Arguments& a) {
  bind("copy", a, {});
  return heap.list(iterate(heap, self));
}

Int count_in(Heap& heap, const std::vector<Value>& items, const Value& wanted) {
  Int count = 0;
  for (const Value& item : items) count += same(item, wanted) || equal(heap, item, wanted);
  return count;
}
Value list_count(Heap& heap, const Value& self, const Arguments& a) {
  return Value::of_int(count_in(heap, self.sequence().items, *bind("count", a, {"value"}, 1)[0]));
}
Value range_count(Heap& heap, const Value& self, const Arguments& a) {
  return Value::of_int(count_in(heap, iterate(heap, self), *bind("count", a, {"value"}, 1)[0]));
}
Value range_index(Heap& heap, const Value& self, const Arguments& a) {
  const Value& wanted = *bind("index", a, {"value"}, 1)[0];
  const std::vector<Value> items = iterate(heap, self);
  for (size_t i = 0; i < items.size(); ++i)
    if (equal(heap, items[i], wanted)) return Value::of_int(static_cast<Int>(i));
  fail("index(): the value is not in the range");
}

Value list_index(Heap& heap, const Value& self, const Arguments& a) {
  const auto b = bind("index", a, {"value", "start", "stop"}, 1);
  const auto& items = self.sequence().items;
  const Int size = static_cast<Int>(items.size());
  const auto bound = [&](const Value* v, Int otherwise) {
    if (v == nullptr) return otherwise;
    const Int n = int_argument("index", *v);
    return std::clamp<Int>(n < 0 ? n + size : n, 0, size);
  };
  for (Int i = bound(b[1], 0), end = bound(b[2], size); i < end; ++i)
    if (equal(heap, items[static_cast<size_t>(i)], *b[0])) return Value::of_int(i);
  fail("index(): the value is not in the {}", type_name(self));
}

Value list_append(Heap& heap, const Value& self, const Arguments& a) {
  const auto b = bind("append", a, {"object"}, 1);
  heap.push(self.sequence().items, *b[0]);
  return Value::none();
}

Value list_extend(Heap& heap, const Value& self, const Arguments& a) {
  const auto b = bind("extend", a, {"iterable"}, 1);
  for (const Value& item : iterate(heap, *b[0])) heap.push(self.sequence().items, item);
  return Value::none();
}

Value list_insert(Heap& heap, const Value& self, const Arguments& a) {
  const auto b = bind("insert", a, {"index", "object"}, 2);
  auto& items = self.sequence().items;
  const Int size = static_cast<Int>(items.size()), n = int_argument("insert", *b[0]);
  heap.charge(sizeof(Value));
  heap.spend(static_cast<int64_t>(size) / 16);
  items.insert(items.begin() + static_cast<std::ptrdiff_t>(std::clamp<Int>(n < 0 ? n + size : n, 0, size)), *b[1]);
  return Value::none();
}

Value list_pop(Heap& heap, const Value& self, const Arguments& a) {
  const auto b = bind("pop", a, {"index"});
  auto& items = self.sequence().items;
  const Int size = static_cast<Int>(items.size()), n = b[0] == nullptr ? -1 : int_argument("pop", *b[0]);
  const Int at = n < 0 ? n + size : n;
  if (at < 0 || at >= size) fail("pop index out of range");
  heap.spend(static_cast<int64_t>(size) / 16);
  const Value value = items[static_cast<size_t>(at)];
  items.erase(items.begin() + static_cast<std::ptrdiff_t>(at));
  return value;
}

constexpr MethodEntry kDictMethods[] = {
    {"clear", nullptr, true},      {"copy", dict_copy},
    {"fromkeys", dict_from_keys},  {"get", dict_get},
    {"items", dict_items},         {"keys", dict_keys},
    {"pop", dict_pop, true},       {"popitem", nullptr, true},
    {"setdefault", nullptr, true}, {"update", dict_update, true},
    {"values", dict_values},
};
constexpr MethodEntry kListMethods[] = {
    {"append", list_append, true}, {"clear", nullptr, true},   {"copy", list_copy},           {"count", list_count},
    {"extend", list_extend, true}, {"index", list_index},      {"insert", list_insert, true}, {"pop", list_pop, true},
    {"remove", nullptr, true},     {"reverse", nullptr, true}, {"sort", nullptr, true},
};
constexpr MethodEntry kTupleMethods[] = {{"count", list_count}, {"index", list_index}};
constexpr MethodEntry kRangeMethods[] = {{"count", range_count}, {"index", range_index}};

const MethodEntry* find(std::span<const MethodEntry> table, std::string_view name) {
  const auto it = std::find_if(table.begin(), table.end(), [&](const MethodEntry& e) { return e.name == name; });
  return it == table.end() ? nullptr : &*it;
}

}  // namespace

Value dict_from_keys(Heap& heap, const Value& self, const Arguments& a) {
  const auto b = bind("fromkeys", a, {"iterable", "value"}, 1);
  auto* dict = heap.make<Dict>();
  for (const Value& key : iterate(heap, *b[0])) dict->set(heap, key, b[1] != nullptr ? *b[1] : Value::none());
  return Value(Kind::kDict, dict);
}

const MethodEntry* find_method(Kind kind, std::string_view name) {
  switch (kind) {
    case Kind::kString:
      return find_string_method(name);
    case Kind::kDict:
      return find(kDictMethods, name);
    case Kind::kList:
      return find(kListMethods, name);
    case Kind::kTuple:
      return find(kTupleMethods, name);
    case Kind::kRange:
      return find(kRangeMethods, name);
    default:
      return nullptr;
  }
}

}  // namespace ingle::jinja
