// What the interpreter hands to a template to call or to ask: macros, loops, blocks.
#pragma once

#include <deque>

#include "text/template_interpreter.h"

namespace ingle::jinja {

struct Macro : Callable {
  Interpreter& interpreter;
  const Statement& statement;
  Environment& closure;
  Value name;
  bool autoescape;  // where it is defined: that decides what its body escapes

  Macro(Interpreter& i, const Statement& s, Environment& closure, Value name)
      : interpreter(i), statement(s), closure(closure), name(name), autoescape(i.heap().autoescape) {}
  std::optional<Value> attribute(Heap& heap, std::string_view attribute) override;
  Value call(Heap&, const Arguments& arguments) override { return interpreter.render_macro(*this, arguments); }
};

struct BlockReference : Callable {
  Interpreter& interpreter;
  const Statement& statement;
  Environment& env;
  BlockReference(Interpreter& i, const Statement& s, Environment& env) : interpreter(i), statement(s), env(env) {}
  Value call(Heap& heap, const Arguments& arguments) override;
};

// `self`: the template's blocks by name.
struct Self : Callable {
  Interpreter& interpreter;
  Environment& env;
  Self(Interpreter& i, Environment& env) : interpreter(i), env(env) {}
  std::optional<Value> attribute(Heap& heap, std::string_view name) override;
  Value call(Heap&, const Arguments&) override { fail("'TemplateReference' object is not callable"); }
};

// A running `for`. Takes its items one by one, since the loop's condition may depend on what the body did before; looks
// ahead only when the template asks for it.
struct Loop : Callable {
  Interpreter& interpreter;
  const Statement& statement;
  Environment& env;
  std::vector<Value> items;
  size_t next = 0;
  int depth0;
  Int index0 = -1;
  std::optional<Value> previous, current;
  std::deque<Value> ahead;  // accepted by the condition, not yet run
  std::optional<std::vector<Value>> last_changed;

  Loop(Interpreter& i, const Statement& s, Environment& env, std::vector<Value> items, int depth0)
      : interpreter(i), statement(s), env(env), items(std::move(items)), depth0(depth0) {}

  bool advance();
  std::optional<Value> attribute(Heap& heap, std::string_view name) override;
  Value call(Heap& heap, const Arguments& arguments) override;

 private:
  std::optional<Value> take();
  Value repacked(const Target& target, const Environment& scope);
  bool has_next();
  Int length();
};

}  // namespace ingle::jinja
