// Filters of lists and the like. Those that give generators in Python compute at once here, but keep a failure for the
// moment somebody iterates, as Python would.
#include <algorithm>

#include "text/template_filters.h"
#include "text/template_methods.h"
#include "text/template_operators.h"
#include "text/template_tests.h"
#include "text/template_unicode.h"

namespace ingle::jinja {

namespace {

// One that Python wants as an integer, not just true or false.
bool whole_flag(std::string_view function, const Value* value) {
  return value != nullptr && int_argument(function, *value) != 0;
}

template <class Fill>
Value generate(Heap& heap, std::string_view name, Fill fill) {
  auto* generator = heap.make<Generator>();
  generator->name = name;
  try {
    fill(generator->items);
  } catch (const Failure& failure) {
    generator->failed = true;
    generator->failure = failure.message;
  }
  return Value(Kind::kGenerator, generator);
}

// What sorting and uniqueness look at: an attribute, in lower case unless told otherwise.
Value key_of(Heap& heap, const Value& item, const Value* attribute, bool case_sensitive,
             const Value* fallback = nullptr) {
  const Value key = given(attribute) ? attribute_path(heap, item, *attribute, fallback) : item;
  if (case_sensitive || !key.is_string()) return key;
  heap.spend_bytes(key.string().text.size() * 8);
  return cased(heap, key.string(), to_lower(key.string().text));
}

struct Keyed {
  Value key, item;
};
void sort_keyed(Heap& heap, std::vector<Keyed>& items, bool reverse) {
  std::stable_sort(items.begin(), items.end(), [&](const Keyed& a, const Keyed& b) {
    return reverse ? less(heap, b.key, a.key) : less(heap, a.key, b.key);
  });
}

Value length(Heap& heap, const Value& v, const Arguments& a) {
  bind("length", a, {});
  return Value::of_int(static_cast<Int>(length_of(heap, v)));
}

Value list(Heap& heap, const Value& v, const Arguments& a) {
  bind("list", a, {});
  return heap.list(iterate(heap, v));
}

Value first(Heap& heap, const Value& v, const Arguments& a) {
  bind("first", a, {});
  if (v.is_sequence() && !v.sequence().items.empty()) return v.sequence().items[0];
  if (v.is(Kind::kGenerator)) {
    auto& generator = v.as<Generator>();
    if (generator.next < generator.items.size()) return generator.items[generator.next++];
  }
  const std::vector<Value> items = iterate(heap, v);
  return items.empty() ? missing(heap, "No first item, sequence was empty.") : items[0];
}

Value last(Heap& heap, const Value& v, const Arguments& a) {
  bind("last", a, {});
  if (v.is(Kind::kGenerator)) fail("'generator' object is not reversible");
  if (v.is_sequence() && !v.sequence().items.empty()) return v.sequence().items.back();
  const std::vector<Value> items = iterate(heap, v);
  return items.empty() ? missing(heap, "No last item, sequence was empty.") : items.back();
}

Value random(Heap& heap, const Value& v, const Arguments& a) {
  bind("random", a, {});
  const std::vector<Value> items = iterate(heap, v);
  // Any item will do; the first keeps a rendering reproducible.
  return items.empty() ? missing(heap, "No random item, sequence was empty.") : items[0];
}

Value join_filter(Heap& heap, const Value& v, const Arguments& a) {
  const auto b = bind("join", a, {"d", "attribute"});
  std::vector<Value> items = iterate(heap, v);
  if (given(b[1]))
    for (Value& item : items) item = attribute_path(heap, item, *b[1]);
  const auto marked = [](const Value& value) { return value.is_string() && value.string().marked; };
  if (heap.autoescape && ((b[0] != nullptr && marked(*b[0])) || std::any_of(items.begin(), items.end(), marked))) {
    for (Value& item : items) item = escape(heap, item);
    return join(heap, escape(heap, b[0] != nullptr ? *b[0] : heap.text("")), items);
  }
  Text separator(heap);
  if (b[0] != nullptr) print(separator, *b[0]);
  return join(heap, separator.finish(), items);
}

Value items(Heap& heap, const Value& v, const Arguments& a) {
  bind("items", a, {});
  return generate(heap, "generator object do_items", [&](std::vector<Value>& out) {
    if (v.is_undefined()) return;
    if (!v.is(Kind::kDict)) fail("Can only get item pairs from a mapping.");
    for (const auto& [key, value] : v.dict().entries) heap.push(out, heap.tuple({key, value}));
  });
}

Value dictsort(Heap& heap, const Value& v, const Arguments& a) {
  const auto b = bind("dictsort", a, {"case_sensitive", "by", "reverse"});
  if (v.is_undefined()) fail_undefined(v);
  if (!v.is(Kind::kDict)) fail("dictsort: '{}' object has no items", type_name(v));
  const std::string by = b[1] == nullptr ? "key" : text_argument("dictsort", *b[1]).text;
  if (by != "key" && by != "value") fail("You can only sort by either \"key\" or \"value\"");
  std::vector<Keyed> pairs;
  for (const auto& [key, value] : v.dict().entries)
    pairs.push_back({key_of(heap, by == "key" ? key : value, nullptr, flag(b[0])), heap.tuple({key, value})});
  sort_keyed(heap, pairs, whole_flag("dictsort", b[2]));
  std::vector<Value> sorted;
  for (const Keyed& pair : pairs) heap.push(sorted, pair.item);
  return heap.list(std::move(sorted));
}

Arguments rest_of(const Arguments& a, size_t from) {
  Arguments rest = a;
  rest.positional.erase(rest.positional.begin(),
                        rest.positional.begin() + static_cast<std::ptrdiff_t>(std::min(from, a.positional.size())));
  return rest;
}

Value map(Heap& heap, const Value& v, const Arguments& a) {
  return generate(heap, "generator object sync_do_map", [&](std::vector<Value>& out) {
    if (!truth(v)) return;
    if (a.positional.empty()) {
      const auto b = bind("map", a, {"attribute", "default"}, 1);
      for (const Value& item : iterate(heap, v)) {
        const Value value = attribute_path(heap, item, *b[0], given(b[1]) ? b[1] : nullptr);
        heap.push(out, value);
      }
      return;
    }
    const FilterEntry* filter = nullptr;
    const Arguments rest = rest_of(a, 1);
    for (const Value& item : iterate(heap, v)) {
      heap.spend(1);
      if (filter == nullptr) {  // an unknown one is no error as long as there is nothing to filter
        const std::string& name = text_argument("map", a.positional[0]).text;
        filter = find_filter(name);
        if (filter == nullptr) fail("No filter named '{}'.", name);
      }
      heap.push(out, filter->apply(heap, item, rest));
    }
  });
}

template <bool kSelect, bool kByAttribute>
Value choose(Heap& heap, const Value& v, const Arguments& a) {
  constexpr size_t kTestAt = kByAttribute ? 1 : 0;
  return generate(heap, "generator object select_or_reject", [&](std::vector<Value>& out) {
    if (!truth(v)) return;
    if (kByAttribute && a.positional.empty()) fail("Missing parameter for attribute name");
    const TestEntry* test = nullptr;
    const Arguments rest = rest_of(a, kTestAt + 1);
    for (const Value& item : iterate(heap, v)) {
      heap.spend(1);
      if (test == nullptr && a.positional.size() > kTestAt) {
        const std::string& name = text_argument("select", a.positional[kTestAt]).text;
        test = find_test(name);
        if (test == nullptr) fail("No test named '{}'.", name);
      }
      const Value subject = kByAttribute ? attribute_path(heap, item, a.positional[0]) : item;
      if ((test != nullptr ? test->holds(heap, subject, rest) : truth(subject)) == kSelect) heap.push(out, item);
    }
  });
}

Value unique(Heap& heap, const Value& v, const Arguments& a) {
  const auto b = bind("unique", a, {"case_sensitive", "attribute"});
  return generate(heap, "generator object sync_do_unique", [&](std::vector<Value>& out) {
    auto* seen = heap.make<Dict>();
    for (const Value& item : iterate(heap, v)) {
      const Value key = key_of(heap, item, b[1], flag(b[0]));
      if (seen->find(heap, key) != nullptr) continue;
      seen->set(heap, key, Value::none());
      heap.push(out, item);
    }
  });
}

Value sort(Heap& heap, const Value& v, const Arguments& a) {
  const auto b = bind("sort", a, {"reverse", "case_sensitive", "attribute"});
  // "a,b" sorts by a, then by b.
  std::vector<Value> attributes;
  if (given(b[2]) && b[2]->is_string()) {
    const std::string& all = b[2]->string().text;
    for (size_t begin = 0; begin <= all.size();) {
      const size_t end = std::min(all.find(',', begin), all.size());
      heap.push(attributes, heap.text(std::string_view(all).substr(begin, end - begin)));
      begin = end + 1;
    }
  } else if (given(b[2])) {
    attributes.push_back(*b[2]);
  }
  std::vector<Keyed> items;
  for (const Value& item : iterate(heap, v)) {
    // Always a list of keys, as in Jinja2: two missing attributes are equal there, though they have no order.
    std::vector<Value> keys;
    if (attributes.empty()) heap.push(keys, key_of(heap, item, nullptr, flag(b[1])));
    for (const Value& attribute : attributes) heap.push(keys, key_of(heap, item, &attribute, flag(b[1])));
    items.push_back({heap.list(std::move(keys)), item});
  }
  heap.charge(items.size() * sizeof(Keyed));
  sort_keyed(heap, items, whole_flag("sort", b[0]));
  std::vector<Value> sorted;
  for (const Keyed& item : items) heap.push(sorted, item.item);
  return heap.list(std::move(sorted));
}

template <bool kMax>
Value extreme(Heap& heap, const Value& v, const Arguments& a) {
  const auto b = bind(kMax ? "max" : "min", a, {"case_sensitive", "attribute"});
  const std::vector<Value> items = iterate(heap, v);
  if (items.empty()) return missing(heap, "No aggregated item, sequence was empty.");
  Value best = items[0], best_key = key_of(heap, best, b[1], flag(b[0]));
  for (size_t i = 1; i < items.size(); ++i) {
    const Value key = key_of(heap, items[i], b[1], flag(b[0]));
    if (kMax ? less(heap, best_key, key) : less(heap, key, best_key)) best = items[i], best_key = key;
  }
  return best;
}

Value sum(Heap& heap, const Value& v, const Arguments& a) {
  const auto b = bind("sum", a, {"attribute", "start"});
  Value total = b[1] != nullptr ? *b[1] : Value::of_int(0);
  if (total.is_string()) fail("sum() can't sum strings [use ''.join(seq) instead]");
  for (const Value& item : iterate(heap, v)) {
    heap.spend(1);
    total = arithmetic(heap, Op::kAdd, total, given(b[0]) ? attribute_path(heap, item, *b[0]) : item);
  }
  return total;
}

Value groupby(Heap& heap, const Value& v, const Arguments& a) {
  const auto b = bind("groupby", a, {"attribute", "default", "case_sensitive"}, 1);
  const Value* fallback = given(b[1]) ? b[1] : nullptr;
  std::vector<Keyed> items;
  for (const Value& item : iterate(heap, v)) items.push_back({key_of(heap, item, b[0], flag(b[2]), fallback), item});
  heap.charge(items.size() * sizeof(Keyed));
  sort_keyed(heap, items, false);
  std::vector<Value> groups;
  for (size_t begin = 0; begin < items.size();) {
    std::vector<Value> group;
    size_t end = begin;
    for (; end < items.size() && equal(heap, items[begin].key, items[end].key); ++end)
      heap.push(group, items[end].item);
    if (end == begin) heap.push(group, items[end++].item);  // NaN: not equal to itself, a group of one
    const Value key = attribute_path(heap, group[0], *b[0], fallback);
    const Value pair = heap.tuple({key, heap.list(std::move(group))});
    pair.sequence().grouped = true;
    heap.push(groups, pair);
    begin = end;
  }
  return heap.list(std::move(groups));
}

std::string_view iterator_name(const Value& reversed) {
  switch (reversed.kind) {
    case Kind::kList:
      return "list_reverseiterator object";
    case Kind::kRange:
      return "range_iterator object";
    case Kind::kDict:
      return "dict_reversekeyiterator object";
    case Kind::kView:
      switch (reversed.as<View>().of) {
        case ViewOf::kKeys:
          return "dict_reversekeyiterator object";
        case ViewOf::kValues:
          return "dict_reversevalueiterator object";
        case ViewOf::kItems:
          return "dict_reverseitemiterator object";
      }
      [[fallthrough]];
    default:
      return "reversed object";
  }
}

Value reverse(Heap& heap, const Value& v, const Arguments& a) {
  bind("reverse", a, {});
  if (v.is_string()) return slice_of(heap, v, Value::none(), Value::none(), Value::of_int(-1));
  std::vector<Value> items = iterate(heap, v);
  std::reverse(items.begin(), items.end());
  if (v.is(Kind::kGenerator) || v.is(Kind::kLoop)) return heap.list(std::move(items));
  auto* generator = heap.make<Generator>();
  generator->name = iterator_name(v);
  generator->items = std::move(items);
  return Value(Kind::kGenerator, generator);
}

Value batch(Heap& heap, const Value& v, const Arguments& a) {
  const auto b = bind("batch", a, {"linecount", "fill_with"}, 1);
  return generate(heap, "generator object do_batch", [&](std::vector<Value>& out) {
    // Whatever a length can be compared with: `batch(none)` never ends a line.
    const auto size = [](const std::vector<Value>& line) { return Value::of_int(static_cast<Int>(line.size())); };
    std::vector<Value> line;
    for (const Value& item : iterate(heap, v)) {
      if (equal(heap, size(line), *b[0])) {
        heap.push(out, heap.list(std::move(line)));
        line.clear();
      }
      heap.push(line, item);
    }
    if (line.empty()) return;
    if (given(b[1]) && less(heap, size(line), *b[0]))
      for (Int n = int_argument("batch", *b[0]) - size(line).integer; n > 0; --n) heap.push(line, *b[1]);
    heap.push(out, heap.list(std::move(line)));
  });
}

Value slice(Heap& heap, const Value& v, const Arguments& a) {
  const auto b = bind("slice", a, {"slices", "fill_with"}, 1);
  return generate(heap, "generator object sync_do_slice", [&](std::vector<Value>& out) {
    const Int slices = int_argument("slice", *b[0]);
    if (slices == 0) fail("integer division or modulo by zero");
    const std::vector<Value> all = iterate(heap, v);
    if (slices < 0) return;
    const Int each = static_cast<Int>(all.size()) / slices, longer = static_cast<Int>(all.size()) % slices;
    size_t at = 0;
    for (Int i = 0; i < slices; ++i) {
      std::vector<Value> part;
      for (Int n = each + (i < longer ? 1 : 0); n > 0; --n) heap.push(part, all[at++]);
      if (given(b[1]) && i >= longer) heap.push(part, *b[1]);
      heap.push(out, heap.list(std::move(part)));
    }
  });
}

constexpr FilterEntry kFilters[] = {
    {"length", length},
    {"count", length},
    {"list", list},
    {"first", first},
    {"last", last},
    {"random", random},
    {"join", join_filter},
    {"items", items},
    {"dictsort", dictsort},
    {"map", map},
    {"select", choose<true, false>},
    {"reject", choose<false, false>},
    {"selectattr", choose<true, true>},
    {"rejectattr", choose<false, true>},
    {"unique", unique},
    {"sort", sort},
    {"min", extreme<false>},
    {"max", extreme<true>},
    {"sum", sum},
    {"groupby", groupby},
    {"reverse", reverse},
    {"batch", batch},
    {"slice", slice},
};

}  // namespace

std::span<const FilterEntry> sequence_filters() { return kFilters; }

}  // namespace ingle::jinja
