// The functions every template sees.
#include <ctime>

#include "text/template_callables.h"
#include "text/template_methods.h"

namespace ingle::jinja {

namespace {

struct Function : Callable {
  std::string_view name;
  NativeFunction function;
  Function(std::string_view name, NativeFunction function) : name(name), function(function) {}
  Value call(Heap& heap, const Arguments& arguments) override { return function(heap, Value(), arguments); }
  std::optional<Value> attribute(Heap& heap, std::string_view attribute) override {
    if (name != "dict" || attribute != "fromkeys") return std::nullopt;
    return Value(Kind::kMethod, heap.make<Method>(Value(), "fromkeys", dict_from_keys));
  }
};

struct Cycler : Callable {
  std::vector<Value> items;
  size_t position = 0;
  explicit Cycler(std::vector<Value> items) : items(std::move(items)) {}
  Value call(Heap&, const Arguments&) override { fail("'Cycler' object is not callable"); }
  std::optional<Value> attribute(Heap& heap, std::string_view name) override {
    const Value self(Kind::kCycler, this);
    if (name == "current") return items[position];
    if (name == "next") return Value(Kind::kMethod, heap.make<Method>(self, "next", next));
    if (name == "reset") return Value(Kind::kMethod, heap.make<Method>(self, "reset", reset));
    return std::nullopt;
  }
  static Value next(Heap&, const Value& self, const Arguments&) {
    auto& cycler = self.as<Cycler>();
    const Value item = cycler.items[cycler.position];
    cycler.position = (cycler.position + 1) % cycler.items.size();
    return item;
  }
  static Value reset(Heap&, const Value& self, const Arguments&) {
    self.as<Cycler>().position = 0;
    return Value::none();
  }
};

struct Joiner : Callable {
  Value separator;
  bool used = false;
  explicit Joiner(Value separator) : separator(separator) {}
  Value call(Heap& heap, const Arguments&) override { return std::exchange(used, true) ? separator : heap.text(""); }
};

constexpr Int kMaxRange = 100'000;  // Jinja2's sandbox

Value range(Heap& heap, const Value&, const Arguments& a) {
  if (a.positional.empty() || a.positional.size() > 3 || !a.named.empty()) fail("range expects 1 to 3 arguments");
  Int numbers[3] = {0, 0, 1};
  for (size_t i = 0; i < a.positional.size(); ++i) {
    numbers[i] = int_argument("range", a.positional[i]);
    if (numbers[i] != static_cast<int64_t>(numbers[i])) fail("range: a number beyond 64 bits");
  }
  if (a.positional.size() == 1) std::swap(numbers[0], numbers[1]);
  if (numbers[2] == 0) fail("range() arg 3 must not be zero");
  const Int distance = numbers[2] > 0 ? numbers[1] - numbers[0] : numbers[0] - numbers[1];
  if (distance > 0 && (distance - 1) / (numbers[2] > 0 ? numbers[2] : -numbers[2]) + 1 > kMaxRange)
    fail("Range too big. The sandbox blocks ranges larger than MAX_RANGE ({}).", int_text(kMaxRange));
  return Value(Kind::kRange, heap.make<Range>(static_cast<int64_t>(numbers[0]), static_cast<int64_t>(numbers[1]),
                                              static_cast<int64_t>(numbers[2])));
}

// dict(pairs or object, k=v): also what namespace() takes.
Dict* dict_of(Heap& heap, const Arguments& a) {
  if (a.positional.size() > 1) fail("dict expected at most 1 argument, got {}", a.positional.size());
  auto* dict = heap.make<Dict>();
  if (!a.positional.empty()) {
    const Value& from = a.positional[0];
    if (from.is(Kind::kDict)) {
      for (const auto& [key, value] : from.dict().entries) dict->set(heap, key, value);
    } else if (from.is(Kind::kNamespace)) {
      fail("'Namespace' object is not iterable");
    } else {
      for (const Value& pair : iterate(heap, from)) {
        const std::vector<Value> items = iterate(heap, pair);
        if (items.size() != 2) fail("dictionary update sequence element has length {}; 2 is required", items.size());
        dict->set(heap, items[0], items[1]);
      }
    }
  }
  for (const auto& [key, value] : a.named) dict->set(heap, key, value);
  return dict;
}

Value dict(Heap& heap, const Value&, const Arguments& a) { return Value(Kind::kDict, dict_of(heap, a)); }

Value namespace_(Heap& heap, const Value&, const Arguments& a) {
  Dict* attributes = dict_of(heap, a);
  for (const auto& [key, value] : attributes->entries)
    if (key.is_string()) check_namespace_name(key.string().text);
  return Value(Kind::kNamespace, heap.make<Namespace>(attributes));
}

Value cycler(Heap& heap, const Value&, const Arguments& a) {
  if (a.positional.empty()) fail("at least one item has to be provided");
  return Value(Kind::kCycler, heap.make<Cycler>(a.positional));
}

Value joiner(Heap& heap, const Value&, const Arguments& a) {
  const auto b = bind("joiner", a, {"sep"});
  return Value(Kind::kJoiner, heap.make<Joiner>(b[0] != nullptr ? *b[0] : heap.text(", ")));
}

Value raise_exception(Heap& heap, const Value&, const Arguments& a) {
  const auto b = bind("raise_exception", a, {"message"}, 1);
  throw Failure{as_text(heap, *b[0]).string().text, true};
}

// strftime_now: knows what time it is.
struct Clock : Callable {
  std::chrono::system_clock::time_point now;
  explicit Clock(std::chrono::system_clock::time_point now) : now(now) {}

  Value call(Heap& heap, const Arguments& a) override {
    const String& format = text_argument("strftime_now", *bind("strftime_now", a, {"format"}, 1)[0]);
    heap.spend_bytes(format.text.size() * 64);
    // Python answers %f itself and, for a time without a zone, leaves %z and %Z empty, whatever flags they have.
    const auto micros =
        std::chrono::duration_cast<std::chrono::microseconds>(now.time_since_epoch()).count() % 1'000'000;
    std::string pattern;
    const size_t end = std::min(format.text.find('\0'), format.text.size());  // C's
    for (size_t i = 0; i < end; ++i) {
      const char c = format.text[i], d = i + 1 < end ? format.text[i + 1] : '\0';
      if (c != '%' || d == '\0') {
        pattern += c;
        continue;
      }
      ++i;
      if (d == 'f')
        pattern += fmt::format("{:06}", (micros + 1'000'000) % 1'000'000);
      else if (d != 'z' && d != 'Z')
        pattern.append({'%', d});
    }
    const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
    std::tm local{};
    localtime_r(&seconds, &local);
    local.tm_isdst = -1;
    local.tm_zone = "";
    // strftime says nothing about the room it needs. Python doubles it until there is a text, or 256 times the format's
    // length gave none: a width may ask for any.
    std::string text;
    size_t written = 0;
    for (size_t room = 1024; written == 0; room *= 2) {
      heap.check_text(room);
      heap.charge(room);
      text.resize(room);
      written = std::strftime(text.data(), room, pattern.c_str(), &local);
      if (room / 256 >= pattern.size()) break;
    }
    return heap.text(std::string_view(text).substr(0, written), format.trusted());
  }
};

}  // namespace

void define_functions(const Program& program, Heap& heap, Environment& globals,
                      std::chrono::system_clock::time_point now) {
  static constexpr std::pair<std::string_view, NativeFunction> kFunctions[] = {
      {"range", range},   {"dict", dict},     {"namespace", namespace_},
      {"cycler", cycler}, {"joiner", joiner}, {"raise_exception", raise_exception}};
  for (const auto& [name, function] : kFunctions)
    if (const int symbol = program.find_symbol(name); symbol >= 0)
      globals.set(heap, symbol, Value(Kind::kFunction, heap.make<Function>(name, function)));
  if (const int symbol = program.find_symbol("strftime_now"); symbol >= 0)
    globals.set(heap, symbol, Value(Kind::kFunction, heap.make<Clock>(now)));
}

}  // namespace ingle::jinja
