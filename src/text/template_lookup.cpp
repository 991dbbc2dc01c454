// Attributes, items and slices: which of them a value has, in Jinja's order, inside its sandbox.
#include <algorithm>

#include "text/template_methods.h"
#include "text/template_operators.h"
#include "text/template_unicode.h"

namespace ingle::jinja {

namespace {

Value unsafe(Heap& heap, const Value& owner, std::string_view name) {
  auto* undefined = heap.make<Undefined>();
  undefined->unsafe = true;
  undefined->message = fmt::format("access to attribute '{}' of '{}' object is unsafe.", name, type_name(owner));
  return Value(Kind::kUndefined, undefined);
}

// Python's a[key]; nothing where it would raise.
std::optional<Value> own_item(Heap& heap, const Value& owner, const Value& key) {
  if (owner.is(Kind::kDict)) {
    try {
      const Value* found = owner.dict().find(heap, key);
      return found == nullptr ? std::nullopt : std::optional(*found);
    } catch (const Failure&) {  // a key that cannot be hashed
      return std::nullopt;
    }
  }
  if (!key.is_integral()) return std::nullopt;
  if (!owner.is_string() && !owner.is_sequence() && !owner.is(Kind::kRange)) return std::nullopt;
  const Int size = static_cast<Int>(length_of(heap, owner));
  const Int index = key.as_int() < 0 ? key.as_int() + size : key.as_int();
  if (index < 0 || index >= size) return std::nullopt;
  if (owner.is_sequence()) return owner.sequence().items[static_cast<size_t>(index)];
  if (owner.is(Kind::kRange)) return Value::of_int(owner.as<Range>().start + index * owner.as<Range>().step);
  const String& s = owner.string();
  size_t begin = static_cast<size_t>(index);
  if (!s.ascii()) {
    heap.spend_bytes(s.text.size());
    begin = byte_of_code_point(s.text, static_cast<int64_t>(index));
  }
  size_t end = begin;
  next_code_point(s.text, end);
  return substring(heap, s, begin, end);
}

}  // namespace

std::optional<Value> own_attribute(Heap& heap, const Value& owner, const Value& key) {
  const std::string_view name = key.string().text;
  if (name.size() > 4 && name.starts_with("__") && name.ends_with("__")) return unsafe(heap, owner, name);
  switch (owner.kind) {
    case Kind::kString:
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kDict:
    case Kind::kRange: {
      if (owner.is(Kind::kRange)) {
        const Range& range = owner.as<Range>();
        if (name == "start") return Value::of_int(range.start);
        if (name == "stop") return Value::of_int(range.stop);
        if (name == "step") return Value::of_int(range.step);
      }
      if (owner.is(Kind::kTuple) && owner.sequence().grouped && owner.sequence().items.size() == 2) {
        if (name == "grouper") return owner.sequence().items[0];
        if (name == "list") return owner.sequence().items[1];
      }
      const MethodEntry* entry = find_method(owner.kind, name);
      if (entry == nullptr) return std::nullopt;
      Value method;
      if (entry->function != nullptr)
        method = Value(Kind::kMethod, heap.make<Method>(owner, entry->name, entry->function));
      if (!entry->hidden) return method;
      const Value hidden = unsafe(heap, owner, name);
      hidden.as<Undefined>().method = method;
      return hidden;
    }
    case Kind::kBool:
    case Kind::kInt:
      if (name == "real" || name == "numerator") return Value::of_int(owner.as_int());
      if (name == "imag") return Value::of_int(0);
      if (name == "denominator") return Value::of_int(1);
      return std::nullopt;
    case Kind::kFloat:
      if (name == "real") return owner;
      if (name == "imag") return Value::of_float(0);
      return std::nullopt;
    case Kind::kNamespace: {
      const Value* found = owner.as<Namespace>().attributes->find(heap, name);
      if (found == nullptr) return std::nullopt;
      if (found->is_string()) found->as<String>().growable = false;  // somebody else knows it now
      return name.starts_with("_") ? unsafe(heap, owner, name) : *found;
    }
    case Kind::kMacro:
    case Kind::kMethod:
    case Kind::kFunction:
    case Kind::kBlock:
    case Kind::kLoop:
    case Kind::kCycler:
    case Kind::kJoiner:
    case Kind::kSelf:
      return owner.as<Callable>().attribute(heap, name);
    default:
      return std::nullopt;
  }
}

Value attribute_of(Heap& heap, const Value& owner, const Value& name) {
  if (owner.is_undefined()) fail_undefined(owner);
  if (auto attribute = own_attribute(heap, owner, name)) return *attribute;
  if (auto item = own_item(heap, owner, name)) return *item;
  return missing(heap, owner, name);
}

Value item_of(Heap& heap, const Value& owner, const Value& key) {
  if (owner.is_undefined()) fail_undefined(owner);
  if (auto item = own_item(heap, owner, key)) return *item;
  if (key.is_string())
    if (auto attribute = own_attribute(heap, owner, key)) return *attribute;
  return missing(heap, owner, key);
}

Value attribute_path(Heap& heap, Value value, const Value& path, const Value* fallback) {
  const auto step = [&](const Value& key) {
    value = item_of(heap, value, key);
    if (fallback != nullptr && value.is_undefined()) value = *fallback;
  };
  if (path.is(Kind::kNone)) return value;
  if (!path.is_string()) {
    step(path);
    return value;
  }
  const std::string& text = path.string().text;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find('.', begin), text.size());
    const std::string part = text.substr(begin, end - begin);
    heap.spend(1);
    const bool digits = !part.empty() && part.size() < 18 && part.find_first_not_of("0123456789") == part.npos;
    step(digits ? Value::of_int(std::stoll(part)) : heap.text(part, path.string().trusted()));
    begin = end + 1;
  }
  return value;
}

namespace {

// Python's slice.indices: from start, `count` items, each `step` on, before stop.
struct Cut {
  int64_t start, stop, step, count;
};

Cut cut_of(int64_t size, const Value& start, const Value& stop, const Value& step) {
  const auto number = [](const Value& v) {
    if (!v.is_integral()) fail("slice indices must be integers or None or have an __index__ method");
    // Clamped so that the sums below cannot overflow; far beyond any size.
    constexpr Int kFar = Int(1) << 60;
    return static_cast<int64_t>(std::clamp<Int>(v.as_int(), -kFar, kFar));
  };
  const int64_t by = step.is(Kind::kNone) ? 1 : number(step);
  if (by == 0) fail("slice step cannot be zero");
  const int64_t low = by > 0 ? 0 : -1, high = by > 0 ? size : size - 1;
  const auto bound = [&](const Value& v, int64_t otherwise) {
    if (v.is(Kind::kNone)) return otherwise;
    const int64_t n = number(v);
    return std::clamp(n < 0 ? n + size : n, low, high);
  };
  const int64_t from = bound(start, by > 0 ? low : high), to = bound(stop, by > 0 ? high : low);
  int64_t count = 0;
  if (by > 0 && from < to) count = (to - from - 1) / by + 1;
  if (by < 0 && from > to) count = (from - to - 1) / -by + 1;
  return {from, to, by, count};
}

Value slice_string(Heap& heap, const String& s, const Cut& cut) {
  if (cut.count == 0) return substring(heap, s, 0, 0);
  heap.spend(cut.count / 16);
  if (!s.ascii()) heap.spend_bytes(s.text.size());
  if (cut.step == 1) {
    const size_t begin = s.ascii() ? static_cast<size_t>(cut.start) : byte_of_code_point(s.text, cut.start);
    const std::string_view rest = std::string_view(s.text).substr(begin);
    const size_t bytes = s.ascii() ? static_cast<size_t>(cut.count) : byte_of_code_point(rest, cut.count);
    return substring(heap, s, begin, begin + bytes);
  }
  heap.charge(static_cast<size_t>(s.length) * sizeof(size_t));
  std::vector<size_t> starts;
  for (size_t at = 0; at < s.text.size(); next_code_point(s.text, at)) starts.push_back(at);
  starts.push_back(s.text.size());
  Text out(heap);
  for (int64_t i = 0; i < cut.count; ++i) {
    const size_t at = static_cast<size_t>(cut.start + i * cut.step);
    out.append(s, starts[at], starts[at + 1]);
  }
  return out.finish(s.marked);
}

}  // namespace

Value slice_of(Heap& heap, const Value& owner, const Value& start, const Value& stop, const Value& step) {
  switch (owner.kind) {
    case Kind::kUndefined:
      fail_undefined(owner);
    case Kind::kString:
      return slice_string(heap, owner.string(), cut_of(owner.string().length, start, stop, step));
    case Kind::kList:
    case Kind::kTuple: {
      const std::vector<Value>& all = owner.sequence().items;
      const Cut cut = cut_of(static_cast<int64_t>(all.size()), start, stop, step);
      std::vector<Value> items;
      heap.charge(static_cast<size_t>(cut.count) * sizeof(Value));
      for (int64_t i = 0; i < cut.count; ++i) items.push_back(all[static_cast<size_t>(cut.start + i * cut.step)]);
      return owner.is(Kind::kList) ? heap.list(std::move(items)) : heap.tuple(std::move(items));
    }
    case Kind::kRange: {
      const Range& r = owner.as<Range>();
      const Cut cut = cut_of(r.size(), start, stop, step);
      const Int by = Int(r.step) * cut.step, from = r.start + Int(cut.start) * r.step,
                to = r.start + Int(cut.stop) * r.step;
      for (Int n : {by, from, to})
        if (n != static_cast<int64_t>(n)) fail("a slice of a range beyond 64 bits");
      return Value(Kind::kRange,
                   heap.make<Range>(static_cast<int64_t>(from), static_cast<int64_t>(to), static_cast<int64_t>(by)));
    }
    default:
      fail("'{}' object is not subscriptable by a slice", type_name(owner));
  }
}

}  // namespace ingle::jinja
