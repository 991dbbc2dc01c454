#include "text/template_value.h"

#include <algorithm>

#include "base/error.h"
#include "text/template_operators.h"
#include "text/template_unicode.h"

namespace ingle::jinja {

void Heap::charge(size_t bytes) {
  bytes_ += bytes;
  if (bytes_ > limits_.value_bytes)
    throw_error(ErrorCode::kOutOfMemory, "template: builds more than {} bytes of values", limits_.value_bytes);
  spend_bytes(bytes);
}

void Heap::out_of_steps() const {
  throw_error(ErrorCode::kOutOfMemory, "template: takes more than {} steps", limits_.steps);
}
void Heap::too_deep() const {
  throw_error(ErrorCode::kOutOfMemory, "template: nests deeper than {} levels", limits_.depth);
}
void Heap::text_too_long(size_t bytes) const {
  throw_error(ErrorCode::kOutOfMemory, "template: a text of {} bytes, the limit is {}", bytes, limits_.output_bytes);
}

Value Heap::text(std::string_view text, bool trusted) {
  Text out(*this);
  out.append(text, trusted);
  return out.finish();
}
Value Heap::list(std::vector<Value> items) { return Value(Kind::kList, make<Sequence>(std::move(items))); }
Value Heap::tuple(std::vector<Value> items) { return Value(Kind::kTuple, make<Sequence>(std::move(items))); }

String::String(std::string t, std::vector<Run> r, bool m)
    : text(std::move(t)), runs(std::move(r)), length(count_code_points(text)), marked(m) {}

void Text::add_run(size_t length, bool trusted) {
  if (length == 0) return;
  if (!runs_.empty() && runs_.back().trusted == trusted) {
    runs_.back().length += length;
  } else {
    heap_->charge(sizeof(Run));
    runs_.push_back({length, trusted});
  }
}

void Text::append(std::string_view text, bool trusted) {
  heap_->check_text(text_.size() + text.size());
  heap_->charge(text.size());
  text_ += text;
  add_run(text.size(), trusted);
}

void Text::append(const String& string, size_t begin, size_t end) {
  if (begin >= end) return;
  const std::string_view all = string.text;
  if (string.runs.size() == 1) return append(all.substr(begin, end - begin), string.runs[0].trusted);
  heap_->spend(static_cast<int64_t>(string.runs.size() / 8));
  size_t run_begin = 0;
  for (const Run& run : string.runs) {
    const size_t from = std::max(begin, run_begin), to = std::min(end, run_begin + run.length);
    if (from < to) append(all.substr(from, to - from), run.trusted);
    run_begin += run.length;
    if (run_begin >= end) break;
  }
}

void Text::append(const Text& other) {
  size_t at = 0;
  for (const Run& run : other.runs_) {
    append(std::string_view(other.text_).substr(at, run.length), run.trusted);
    at += run.length;
  }
}

void Text::append_to(String& string) const {
  heap_->check_text(string.text.size() + text_.size());
  heap_->charge(text_.size() + runs_.size() * sizeof(Run));
  string.text += text_;
  string.length += count_code_points(text_);
  auto run = runs_.begin();
  if (run != runs_.end() && !string.runs.empty() && string.runs.back().trusted == run->trusted)
    string.runs.back().length += (run++)->length;
  string.runs.insert(string.runs.end(), run, runs_.end());
}

void Text::fill(Int count, std::string_view unit, bool trusted) {
  if (count <= 0 || unit.empty()) return;
  // Checked before the product is formed: a template may ask for any width.
  const Int most = static_cast<Int>(heap_->limits().output_bytes);
  const size_t bytes = count > most ? heap_->limits().output_bytes + 1 : static_cast<size_t>(count) * unit.size();
  heap_->check_text(text_.size() + bytes);
  heap_->charge(bytes);
  text_.reserve(text_.size() + bytes);
  if (unit.size() == 1)
    text_.append(bytes, unit[0]);
  else
    for (Int i = 0; i < count; ++i) text_ += unit;
  add_run(bytes, trusted);
}

bool Text::trusted() const {
  return std::all_of(runs_.begin(), runs_.end(), [](const Run& run) { return run.trusted; });
}

Value Text::finish(bool marked) {
  heap_->charge(sizeof(String));
  Value value(heap_->make<String>(std::move(text_), std::move(runs_), marked));
  text_.clear();
  runs_.clear();
  return value;
}

// A dictionary of a few keys is searched from the front; beyond that an index is built.
constexpr size_t kFewEntries = 8;

size_t Dict::position(Heap& heap, const Value& key, size_t hash) const {
  if (index_.empty()) {
    for (size_t i = 0; i < entries.size(); ++i)
      if (equal(heap, entries[i].first, key)) return i;
    return entries.size();
  }
  const auto [first, last] = index_.equal_range(hash);
  for (auto it = first; it != last; ++it)
    if (equal(heap, entries[it->second].first, key)) return it->second;
  return entries.size();
}

const Value* Dict::find(Heap& heap, const Value& key) const {
  const size_t i = position(heap, key, hash_of(heap, key));
  return i < entries.size() ? &entries[i].second : nullptr;
}

const Value* Dict::find(Heap& heap, std::string_view key) const {
  const size_t hash = index_.empty() ? 0 : std::hash<std::string_view>()(key);
  const auto matches = [&](const Value& v) { return v.is_string() && v.string().text == key; };
  if (index_.empty()) {
    for (const auto& [name, value] : entries)
      if (matches(name)) return &value;
    return nullptr;
  }
  const auto [first, last] = index_.equal_range(hash);
  for (auto it = first; it != last; ++it)
    if (matches(entries[it->second].first)) return &entries[it->second].second;
  return nullptr;
}

void Dict::set(Heap& heap, const Value& key, const Value& value) {
  const size_t hash = hash_of(heap, key);
  const size_t i = position(heap, key, hash);
  if (i < entries.size()) {
    entries[i].second = value;
    return;
  }
  heap.charge(sizeof(entries[0]) + 64);
  entries.emplace_back(key, value);
  if (!index_.empty()) {
    index_.emplace(hash, i);
  } else if (entries.size() > kFewEntries) {
    for (size_t j = 0; j < entries.size(); ++j) index_.emplace(hash_of(heap, entries[j].first), j);
  }
}

bool Dict::erase(Heap& heap, const Value& key) {
  const size_t i = position(heap, key, hash_of(heap, key));
  if (i >= entries.size()) return false;
  heap.spend(static_cast<int64_t>(entries.size()));
  entries.erase(entries.begin() + static_cast<std::ptrdiff_t>(i));
  index_.clear();
  if (entries.size() > kFewEntries)
    for (size_t j = 0; j < entries.size(); ++j) index_.emplace(hash_of(heap, entries[j].first), j);
  return true;
}

void check_namespace_name(std::string_view name) {
  if (name.starts_with('_')) fail("access to attribute '{}' of 'Namespace' object is unsafe.", name);
}

int64_t Range::size() const {
  const Int distance = Int(stop) - start;  // may not fit 64 bits
  if ((step > 0) != (distance > 0) || distance == 0) return 0;
  return static_cast<int64_t>(((distance > 0 ? distance : -distance) - 1) / (step > 0 ? Int(step) : -Int(step)) + 1);
}

std::string_view type_name(const Value& value) {
  switch (value.kind) {
    case Kind::kUndefined:
      return "Undefined";
    case Kind::kNone:
      return "NoneType";
    case Kind::kBool:
      return "bool";
    case Kind::kInt:
      return "int";
    case Kind::kFloat:
      return "float";
    case Kind::kString:
      return value.string().marked ? "Markup" : "str";
    case Kind::kList:
      return "list";
    case Kind::kTuple:
      return "tuple";
    case Kind::kDict:
      return "dict";
    case Kind::kRange:
      return "range";
    case Kind::kGenerator: {
      const std::string_view name = value.as<Generator>().name;
      return name.substr(0, name.find(' '));
    }
    case Kind::kView:
      switch (value.as<View>().of) {
        case ViewOf::kKeys:
          return "dict_keys";
        case ViewOf::kValues:
          return "dict_values";
        case ViewOf::kItems:
          return "dict_items";
      }
      break;
    case Kind::kNamespace:
      return "Namespace";
    case Kind::kMacro:
      return "Macro";
    case Kind::kMethod:
      return "builtin_function_or_method";
    case Kind::kFunction:
      return "function";
    case Kind::kBlock:
      return "BlockReference";
    case Kind::kLoop:
      return "LoopContext";
    case Kind::kCycler:
      return "Cycler";
    case Kind::kJoiner:
      return "Joiner";
    case Kind::kSelf:
      return "TemplateReference";
  }
  return "object";
}

Value Heap::missing(std::string_view owner, const Value& name) {
  auto& known = missing_[{owner.data(), name.object}];
  if (known.object == nullptr) {
    charge(64);
    auto* undefined = make<Undefined>();
    undefined->owner = owner;
    undefined->key = name;
    known = Value(Kind::kUndefined, undefined);
  }
  return known;
}

Value missing(Heap& heap, const Value& owner, const Value& key) {
  if (key.is_string()) return heap.missing(type_name(owner), key);
  auto* undefined = heap.make<Undefined>();
  undefined->owner = type_name(owner);
  undefined->key = key;
  return Value(Kind::kUndefined, undefined);
}

Value missing(Heap& heap, std::string_view message) {
  auto* undefined = heap.make<Undefined>();
  undefined->message = message;
  return Value(Kind::kUndefined, undefined);
}

std::string undefined_message(const Value& value) {
  if (value.object == nullptr) return "an undefined value is used";
  const auto& undefined = value.as<Undefined>();
  if (!undefined.message.empty()) return undefined.message;
  if (undefined.owner.empty()) return fmt::format("'{}' is undefined", undefined.key.string().text);
  const std::string owner = undefined.owner == "NoneType" ? "None"
                            : undefined.owner == "Markup" ? "markupsafe.Markup object"
                                                          : fmt::format("{} object", undefined.owner);
  if (undefined.key.is_string()) return fmt::format("'{}' has no attribute '{}'", owner, undefined.key.string().text);
  if (undefined.key.is(Kind::kInt)) return fmt::format("{} has no element {}", owner, int_text(undefined.key.integer));
  switch (undefined.key.kind) {
    case Kind::kNone:
      return fmt::format("{} has no element None", owner);
    case Kind::kBool:
      return fmt::format("{} has no element {}", owner, undefined.key.boolean ? "True" : "False");
    case Kind::kFloat:
      return fmt::format("{} has no element {}", owner, float_text(undefined.key.number));
    default:
      return fmt::format("{} has no such element", owner);
  }
}

std::vector<const Value*> bind(std::string_view function, const Arguments& arguments,
                               std::initializer_list<std::string_view> names, size_t required) {
  if (arguments.positional.size() > names.size())
    fail("{}() takes at most {} arguments, {} given", function, names.size(), arguments.positional.size());
  std::vector<const Value*> bound(names.size(), nullptr);
  for (size_t i = 0; i < arguments.positional.size(); ++i) bound[i] = &arguments.positional[i];
  for (const auto& [name, value] : arguments.named) {
    const auto it = std::find(names.begin(), names.end(), name.string().text);
    if (it == names.end()) fail("{}() has no argument '{}'", function, name.string().text);
    const Value*& place = bound[static_cast<size_t>(it - names.begin())];
    if (place != nullptr) fail("{}() got '{}' twice", function, name.string().text);
    place = &value;
  }
  for (size_t i = 0; i < required; ++i)
    if (bound[i] == nullptr) fail("{}() misses its argument '{}'", function, names.begin()[i]);
  return bound;
}

void fail_undefined(const Value& undefined) { throw Failure{undefined_message(undefined)}; }

std::vector<Value> iterate(Heap& heap, const Value& value) {
  std::vector<Value> items;
  switch (value.kind) {
    case Kind::kUndefined:
      break;
    case Kind::kList:
    case Kind::kTuple:
      heap.charge(value.sequence().items.size() * sizeof(Value));
      return value.sequence().items;
    case Kind::kString: {
      const String& s = value.string();
      for (size_t at = 0; at < s.text.size();) {
        const size_t begin = at;
        next_code_point(s.text, at);
        Text character(heap);  // plain also when the whole is marked, as in Python
        character.append(s, begin, at);
        heap.push(items, character.finish());
      }
      break;
    }
    case Kind::kDict:
      for (const auto& [key, item] : value.dict().entries) heap.push(items, key);
      break;
    case Kind::kView: {
      const View& view = value.as<View>();
      for (const auto& [key, item] : view.dict->entries) {
        const Value v = view.of == ViewOf::kKeys ? key : view.of == ViewOf::kValues ? item : heap.tuple({key, item});
        heap.push(items, v);
      }
      break;
    }
    case Kind::kRange: {
      const Range& range = value.as<Range>();
      for (int64_t i = 0, n = range.size(); i < n; ++i)
        heap.push(items, Value::of_int(Int(range.start) + Int(i) * range.step));
      break;
    }
    case Kind::kGenerator: {
      auto& generator = value.as<Generator>();
      for (; generator.next < generator.items.size(); ++generator.next)
        heap.push(items, generator.items[generator.next]);
      if (generator.failed) {
        generator.failed = false;
        throw Failure{generator.failure};
      }
      break;
    }
    default:
      fail("'{}' object is not iterable", type_name(value));
  }
  return items;
}

}  // namespace ingle::jinja
