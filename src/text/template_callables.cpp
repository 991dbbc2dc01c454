#include "text/template_callables.h"

namespace ingle::jinja {

std::optional<Value> Macro::attribute(Heap& heap, std::string_view attribute) {
  if (attribute == "name") return name;
  if (attribute == "caller") return Value::of(statement.uses_caller);
  if (attribute == "catch_kwargs") return Value::of(statement.uses_kwargs);
  if (attribute == "catch_varargs") return Value::of(statement.uses_varargs);
  if (attribute != "arguments") return std::nullopt;
  std::vector<Value> names;
  for (int symbol : statement.parameters.names) heap.push(names, interpreter.program().name_of(symbol));
  return heap.tuple(std::move(names));
}

Value BlockReference::call(Heap&, const Arguments& arguments) {
  bind("block", arguments, {});
  return interpreter.render_block(statement, env);
}

std::optional<Value> Self::attribute(Heap& heap, std::string_view name) {
  const int symbol = interpreter.program().find_symbol(name);
  const auto& blocks = interpreter.program().blocks;
  const auto it = blocks.find(symbol);
  if (it == blocks.end()) return std::nullopt;
  return Value(Kind::kBlock, heap.make<BlockReference>(interpreter, *it->second, env));
}

// The next item the loop's condition accepts.
std::optional<Value> Loop::take() {
  while (next < items.size()) {
    const Value item = items[next++];
    const ExprPtr& condition = statement.exprs[1];
    if (condition == nullptr) return item;
    Environment& scope = interpreter.inner(env);
    interpreter.assign(statement.targets[0], item, scope);
    if (truth(interpreter.evaluate(*condition, scope))) {
      const Target& target = statement.targets[0];
      return target.kind == Target::Kind::kTuple ? repacked(target, scope) : item;
    }
  }
  return std::nullopt;
}

// Jinja2's condition takes an item apart and puts it together again: whatever it was, behind it it is a tuple.
Value Loop::repacked(const Target& target, const Environment& scope) {
  if (target.kind == Target::Kind::kName) return *scope.find(target.symbol);
  std::vector<Value> items;
  for (const Target& item : target.items) interpreter.heap().push(items, repacked(item, scope));
  return interpreter.heap().tuple(std::move(items));
}

bool Loop::has_next() {
  if (!ahead.empty()) return true;
  const auto item = take();
  if (item) ahead.push_back(*item);
  return item.has_value();
}

bool Loop::advance() {
  previous = current;
  current.reset();
  ++index0;
  if (!has_next()) return false;
  current = ahead.front();
  ahead.pop_front();
  return true;
}

Int Loop::length() {
  if (statement.exprs[1] == nullptr) return static_cast<Int>(items.size());
  while (auto item = take()) {  // to be counted, the rest has to be filtered now
    interpreter.heap().charge(sizeof(Value));
    ahead.push_back(*item);
  }
  return index0 + 1 + static_cast<Int>(ahead.size());
}

namespace {

Value cycle(Heap&, const Value& self, const Arguments& a) {
  if (a.positional.empty()) fail("no items for cycling given");
  const Int index = self.as<Loop>().index0 % static_cast<Int>(a.positional.size());
  return a.positional[static_cast<size_t>(index)];
}

Value changed(Heap& heap, const Value& self, const Arguments& a) {
  auto& loop = self.as<Loop>();
  bool same = loop.last_changed.has_value() && loop.last_changed->size() == a.positional.size();
  for (size_t i = 0; same && i < a.positional.size(); ++i) same = equal(heap, (*loop.last_changed)[i], a.positional[i]);
  loop.last_changed = a.positional;
  return Value::of(!same);
}

}  // namespace

std::optional<Value> Loop::attribute(Heap& heap, std::string_view name) {
  const Value self(Kind::kLoop, this);
  if (name == "index") return Value::of_int(index0 + 1);
  if (name == "index0") return Value::of_int(index0);
  if (name == "first") return Value::of(index0 == 0);
  if (name == "last") return Value::of(!has_next());
  if (name == "length") return Value::of_int(length());
  if (name == "revindex") return Value::of_int(length() - index0);
  if (name == "revindex0") return Value::of_int(length() - index0 - 1);
  if (name == "depth") return Value::of_int(depth0 + 1);
  if (name == "depth0") return Value::of_int(depth0);
  if (name == "previtem") return previous ? *previous : missing(heap, "there is no previous item");
  if (name == "nextitem") return has_next() ? ahead.front() : missing(heap, "there is no next item");
  if (name == "cycle") return Value(Kind::kMethod, heap.make<Method>(self, "cycle", cycle));
  if (name == "changed") return Value(Kind::kMethod, heap.make<Method>(self, "changed", changed));
  return std::nullopt;
}

Value Loop::call(Heap&, const Arguments& a) {
  const auto b = bind("loop", a, {"iterable"}, 1);
  if (!statement.recursive) fail("The loop must have the 'recursive' marker to be called recursively.");
  return interpreter.render_loop(statement, env, *b[0], depth0 + 1);
}

}  // namespace ingle::jinja
