// Runs a parsed template: evaluates its expressions and writes what its statements print.
#pragma once

#include <chrono>
#include <optional>
#include <unordered_map>

#include "text/template_ast.h"
#include "text/template_value.h"

namespace ingle::jinja {

// The names of one scope; looks up to the scope around it.
class Environment : public Object {
 public:
  explicit Environment(Environment* parent, const Scope* scope = nullptr);
  void set(Heap& heap, int symbol, Value value);
  // As it was when made for `scope`.
  void reset(const Scope& scope);
  // From here on outwards is what a block sees of the template around it: names hidden there do not hide what the
  // template has set or its caller passed.
  void begin_block() { block_ = true; }
  // nullptr when no scope has it, or the innermost that has it hides it.
  const Value* find(int symbol) const;

 private:
  struct Slot {
    int symbol;
    bool hidden;
    Value value;
  };
  const Slot* own(int symbol) const;
  // The template's own scope, or what its caller passed.
  bool is_outermost() const { return parent_ == nullptr || parent_->parent_ == nullptr; }

  Environment* parent_;
  bool block_ = false;
  std::vector<Slot> slots_;
  std::unordered_map<int, size_t> places_;  // symbol -> slot, once there are many
};

struct Macro;

enum class Flow : uint8_t { kNext, kBreak, kContinue };

class Interpreter {
 public:
  Interpreter(const Program& program, Heap& heap) : program_(program), heap_(heap), output_(heap) {}

  // Prints the template with `globals` outside its own scope. Throws Failure; line() then says where.
  Text run(Environment& globals);
  int line() const { return line_; }
  const std::vector<ChatTemplate::Generated>& generated() const { return generated_; }

  // For what a template can call: loops, macros, blocks.
  Value evaluate(const Expr& expr, Environment& env);
  Value render_macro(const Macro& macro, const Arguments& arguments);
  Value render_loop(const Statement& loop, Environment& env, const Value& items, int depth0);
  Value render_block(const Statement& statement, Environment& env);
  void assign(const Target& target, const Value& value, Environment& env);
  Environment& inner(Environment& env, const Scope* scope = nullptr);
  Environment& block(Environment& env, const Scope& scope);
  Heap& heap() { return heap_; }
  const Program& program() const { return program_; }

 private:
  Flow execute(const Body& body, Environment& env);
  Flow execute(const Statement& s, Environment& env);
  Flow execute_if(const Statement& s, Environment& env);
  Flow execute_for(const Statement& s, Environment& env, const Value& items, int depth0);
  void execute_accumulation(const Statement& s, Environment& env);
  Flow execute_set_block(const Statement& s, Environment& env);
  Flow execute_filter(const Statement& s, Environment& env);
  Flow execute_with(const Statement& s, Environment& env);
  void execute_generation(const Statement& s, Environment& env);
  Flow execute_autoescape(const Statement& s, Environment& env);
  void execute_call(const Statement& s, Environment& env);
  void write(const Value& value);
  // Runs `body` with its output going to a text of its own.
  Value capture(const Body& body, Environment& env, Flow* flow = nullptr);
  // Where a body stands decides whether it escapes, not who asks for it.
  Value capture(bool escapes, const Body& body, Environment& env, Flow* flow = nullptr);
  Flow execute_with_escapes(bool escapes, const Body& body, Environment& env);
  Value through_filters(const Expr& filters, const Value& input, Environment& env);

  Value evaluate_items(const Expr& expr, Environment& env);
  Value evaluate_dict(const Expr& expr, Environment& env);
  Value evaluate_conditional(const Expr& expr, Environment& env);
  Value evaluate_logic(const Expr& expr, Environment& env);
  Value evaluate_comparison(const Expr& expr, Environment& env);
  Value evaluate_arithmetic(const Expr& expr, Environment& env);
  Value evaluate_concat(const Expr& expr, Environment& env);
  Value evaluate_slice(const Expr& expr, Environment& env);
  Value evaluate_call(const Expr& expr, Environment& env, const Value* caller = nullptr);
  Value evaluate_filter(const Expr& expr, Environment& env);
  Value evaluate_name(const Expr& expr, Environment& env);
  Arguments arguments_of(const Expr& expr, Environment& env);
  Value call(const Value& callee, const Arguments& arguments);

  const Program& program_;
  Heap& heap_;
  Text output_;
  Text* out_ = &output_;
  std::vector<ChatTemplate::Generated> generated_;
  Environment* top_ = nullptr;
  const Value* block_input_ = nullptr;  // what the filter block at hand captured
  int line_ = 1;
};

// The functions every template sees: range, namespace, dict, cycler, joiner, raise_exception, strftime_now.
void define_functions(const Program& program, Heap& heap, Environment& globals,
                      std::chrono::system_clock::time_point now);

}  // namespace ingle::jinja
