// The statement half of the interpreter.
#include "text/template_interpreter.h"

#include "text/template_callables.h"

namespace ingle::jinja {

Environment::Environment(Environment* parent, const Scope* scope) : parent_(parent) {
  if (scope != nullptr) reset(*scope);
}

void Environment::reset(const Scope& scope) {
  slots_.clear();
  places_.clear();
  for (int symbol : scope.hidden) slots_.push_back({symbol, true, Value()});
}

const Environment::Slot* Environment::own(int symbol) const {
  if (!places_.empty()) {
    const auto place = places_.find(symbol);
    return place == places_.end() ? nullptr : &slots_[place->second];
  }
  for (const Slot& slot : slots_)
    if (slot.symbol == symbol) return &slot;
  return nullptr;
}

void Environment::set(Heap& heap, int symbol, Value value) {
  if (const Slot* slot = own(symbol)) {
    const_cast<Slot&>(*slot) = {symbol, false, value};
    return;
  }
  heap.charge(sizeof(Slot));
  slots_.push_back({symbol, false, value});
  constexpr size_t kFew = 16;  // are searched from the front
  if (slots_.size() <= kFew) return;
  heap.charge(64);
  for (size_t i = places_.empty() ? 0 : slots_.size() - 1; i < slots_.size(); ++i) places_[slots_[i].symbol] = i;
}

const Value* Environment::find(int symbol) const {
  bool in_block = false, hidden = false;
  for (const Environment* env = this; env != nullptr; env = env->parent_) {
    const Slot* slot = hidden && !env->is_outermost() ? nullptr : env->own(symbol);
    if (slot != nullptr) {
      if (!slot->hidden) return &slot->value;
      if (!in_block) return nullptr;
      hidden = true;
    }
    in_block = in_block || env->block_;
  }
  return nullptr;
}

Environment& Interpreter::inner(Environment& env, const Scope* scope) { return *heap_.make<Environment>(&env, scope); }

Environment& Interpreter::block(Environment& env, const Scope& scope) {
  Environment& made = inner(env, &scope);
  made.begin_block();
  return made;
}

Text Interpreter::run(Environment& globals) {
  top_ = &inner(globals, &program_.scope);
  const int self = program_.find_symbol("self");
  if (self >= 0) globals.set(heap_, self, Value(Kind::kSelf, heap_.make<Self>(*this, *top_)));
  execute(program_.scope.body, *top_);
  return std::move(output_);
}

void Interpreter::write(const Value& value) {
  if (heap_.autoescape)
    out_->append(escape(heap_, value).string());
  else
    print(*out_, value);
}

Value Interpreter::capture(const Body& body, Environment& env, Flow* flow) {
  return capture(heap_.autoescape, body, env, flow);
}

Value Interpreter::capture(bool escapes, const Body& body, Environment& env, Flow* flow) {
  Text text(heap_);
  Text* outer = std::exchange(out_, &text);
  const Flow ended = execute_with_escapes(escapes, body, env);
  out_ = outer;
  if (flow != nullptr) *flow = ended;
  return text.finish(heap_.autoescape);
}

Flow Interpreter::execute_with_escapes(bool escapes, const Body& body, Environment& env) {
  const bool outer = std::exchange(heap_.autoescape, escapes);
  const Flow flow = execute(body, env);
  heap_.autoescape = outer;
  return flow;
}

Flow Interpreter::execute(const Body& body, Environment& env) {
  for (const auto& statement : body) {
    const Flow flow = execute(*statement, env);
    if (flow != Flow::kNext) return flow;
  }
  return Flow::kNext;
}

Flow Interpreter::execute(const Statement& s, Environment& env) {
  heap_.spend(1);
  line_ = s.line;
  switch (s.kind) {
    case StatementKind::kText:
      out_->append(s.text.string());
      return Flow::kNext;
    case StatementKind::kPrint:
      write(evaluate(*s.exprs[0], env));
      return Flow::kNext;
    case StatementKind::kSet:
      if (s.accumulates && !heap_.autoescape) {
        execute_accumulation(s, env);
        return Flow::kNext;
      }
      assign(s.targets[0], evaluate(*s.exprs[0], env), env);
      return Flow::kNext;
    case StatementKind::kMacro:
      env.set(heap_, s.symbol, Value(Kind::kMacro, heap_.make<Macro>(*this, s, env, program_.name_of(s.symbol))));
      return Flow::kNext;
    case StatementKind::kBreak:
      return Flow::kBreak;
    case StatementKind::kContinue:
      return Flow::kContinue;
    default:
      break;
  }
  const Heap::Level level(heap_);
  switch (s.kind) {
    case StatementKind::kIf:
      return execute_if(s, env);
    case StatementKind::kFor: {
      const Value items = evaluate(*s.exprs[0], env);
      return execute_for(s, env, items, 0);
    }
    case StatementKind::kSetBlock:
      return execute_set_block(s, env);
    case StatementKind::kCall:
      execute_call(s, env);
      return Flow::kNext;
    case StatementKind::kFilter:
      return execute_filter(s, env);
    case StatementKind::kWith:
      return execute_with(s, env);
    case StatementKind::kBlock:
      execute_with_escapes(false, s.scope.body, block(s.scoped ? env : *top_, s.scope));
      return Flow::kNext;
    case StatementKind::kAutoescape:
      return execute_autoescape(s, env);
    case StatementKind::kGeneration:
      execute_generation(s, env);
      return Flow::kNext;
    default:
      return Flow::kNext;
  }
}

Flow Interpreter::execute_if(const Statement& s, Environment& env) {
  for (size_t i = 0; i < s.exprs.size(); ++i)
    if (truth(evaluate(*s.exprs[i], env))) return execute(s.branches[i], env);
  return s.branches.size() > s.exprs.size() ? execute(s.branches.back(), env) : Flow::kNext;
}

Flow Interpreter::execute_for(const Statement& s, Environment& env, const Value& items, int depth0) {
  auto* loop = heap_.make<Loop>(*this, s, env, iterate(heap_, items), depth0);
  const int loop_symbol = program_.find_symbol("loop");
  Environment* scope = nullptr;
  bool completed = false;  // one iteration got to the end of the body
  while (loop->advance()) {
    heap_.spend(1);
    if (scope == nullptr || !s.plain)
      scope = &inner(env, &s.scope);
    else
      scope->reset(s.scope);
    Environment& body = *scope;
    assign(s.targets[0], *loop->current, body);
    if (loop_symbol >= 0) body.set(heap_, loop_symbol, Value(Kind::kLoop, loop));
    const Flow flow = execute(s.scope.body, body);
    if (flow == Flow::kBreak) break;
    completed = completed || flow == Flow::kNext;
  }
  if (!completed && s.otherwise != nullptr) return execute(s.otherwise->body, inner(env, s.otherwise.get()));
  return Flow::kNext;
}

Value Interpreter::render_loop(const Statement& s, Environment& env, const Value& items, int depth0) {
  const Heap::Level level(heap_);
  Text text(heap_);
  Text* outer = std::exchange(out_, &text);
  execute_for(s, env, items, depth0);
  out_ = outer;
  return text.finish(heap_.autoescape);
}

void Interpreter::assign(const Target& target, const Value& value, Environment& env) {
  switch (target.kind) {
    case Target::Kind::kName:
      return env.set(heap_, target.symbol, value);
    case Target::Kind::kAttribute: {
      const Value* owner = env.find(target.symbol);
      if (owner == nullptr || !owner->is(Kind::kNamespace)) fail("cannot assign attribute on non-namespace object");
      check_namespace_name(target.attribute.string().text);
      return owner->as<Namespace>().attributes->set(heap_, target.attribute, value);
    }
    case Target::Kind::kTuple: {
      const std::vector<Value> items = iterate(heap_, value);
      if (items.size() != target.items.size())
        fail("cannot unpack {} values into {} names", items.size(), target.items.size());
      for (size_t i = 0; i < items.size(); ++i) assign(target.items[i], items[i], env);
    }
  }
}

// set ns.x = ns.x ~ a ~ b, or with +. Templates build a whole conversation that way: copying what is there for every
// piece would cost the square of its length in time, and in memory, since nothing is freed before the end. So the text
// grows in place as long as nobody but the namespace knows it.
void Interpreter::execute_accumulation(const Statement& s, Environment& env) {
  const Expr& sum = *s.exprs[0];
  const Target& target = s.targets[0];
  const Value* owner = env.find(target.symbol);
  const Value* known = owner != nullptr && owner->is(Kind::kNamespace)
                           ? owner->as<Namespace>().attributes->find(heap_, target.attribute.string().text)
                           : nullptr;
  if (known == nullptr || !known->is_string() || !known->string().growable) {
    const Value fresh = evaluate(sum, env);
    assign(target, fresh, env);
    if (fresh.is_string() && !fresh.string().marked) fresh.as<String>().growable = true;
    return;
  }

  // What is added is evaluated after the text itself, and may read it or add to it.
  const Value left = *known;
  const size_t bytes = left.string().text.size();
  std::vector<Value> right;
  for (size_t i = 1; i < sum.parts.size(); ++i) heap_.push(right, evaluate(*sum.parts[i], env));
  Text added(heap_);
  bool texts = true;
  for (const Value& value : right) {
    texts = texts && (sum.kind == ExprKind::kConcat || (value.is_string() && !value.string().marked));
    if (texts) print(added, value);
  }
  if (texts && left.string().growable && left.string().text.size() == bytes) return added.append_to(left.as<String>());

  Value result = substring(heap_, left.string(), 0, bytes);
  if (sum.kind == ExprKind::kConcat) {
    Text out(heap_);
    out.append(result.string());
    out.append(added);
    result = out.finish();
  } else {
    for (const Value& value : right) result = arithmetic(heap_, Op::kAdd, result, value);
  }
  assign(target, result, env);
  result.as<String>().growable = !result.string().marked;
}

Flow Interpreter::execute_set_block(const Statement& s, Environment& env) {
  Flow flow = Flow::kNext;
  Environment& scope = inner(env, &s.scope);
  Value value = capture(s.scope.body, scope, &flow);
  if (flow != Flow::kNext) return flow;
  if (s.exprs[0] != nullptr) {
    value = through_filters(*s.exprs[0], value, scope);
    if (heap_.autoescape) {
      Text marked(heap_);
      print(marked, value);
      value = marked.finish(true);
    }
  }
  assign(s.targets[0], value, env);
  return Flow::kNext;
}

Value Interpreter::through_filters(const Expr& filters, const Value& input, Environment& env) {
  const Value* outer = std::exchange(block_input_, &input);
  const Value result = evaluate(filters, env);
  block_input_ = outer;
  return result;
}

Flow Interpreter::execute_filter(const Statement& s, Environment& env) {
  Flow flow = Flow::kNext;
  Environment& scope = inner(env, &s.scope);
  const Value text = capture(s.scope.body, scope, &flow);
  if (flow != Flow::kNext) return flow;
  const Value filtered = through_filters(*s.exprs[0], text, scope);
  // Unlike {{ }}, which prints anything: Jinja2 joins what a filter block gives to the output as it is.
  if (!filtered.is_string()) fail("filter block: the filters give {}, not text", type_name(filtered));
  out_->append(filtered.string());
  return flow;
}

Flow Interpreter::execute_with(const Statement& s, Environment& env) {
  Environment& scope = inner(env, &s.scope);
  std::vector<Value> values;
  for (const auto& expr : s.exprs) values.push_back(evaluate(*expr, env));
  for (size_t i = 0; i < values.size(); ++i) assign(s.targets[i], values[i], scope);
  return execute(s.scope.body, scope);
}

Flow Interpreter::execute_autoescape(const Statement& s, Environment& env) {
  return execute_with_escapes(truth(evaluate(*s.exprs[0], env)), s.scope.body, inner(env, &s.scope));
}

void Interpreter::execute_generation(const Statement& s, Environment& env) {
  const Value body = capture(s.scope.body, inner(env, &s.scope));
  const std::string& text = body.string().text;
  heap_.charge(sizeof(ChatTemplate::Generated));
  generated_.push_back({output_.size(), output_.size() + text.size()});
  out_->append(body.string());
}

void Interpreter::execute_call(const Statement& s, Environment& env) {
  const Value caller(Kind::kMacro, heap_.make<Macro>(*this, s, env, Value::none()));
  write(evaluate_call(*s.exprs[0], env, &caller));
}

Value Interpreter::render_block(const Statement& statement, Environment& env) {
  const Heap::Level level(heap_);
  return capture(false, statement.scope.body, block(env, statement.scope));
}

Value Interpreter::render_macro(const Macro& called, const Arguments& arguments) {
  const Heap::Level level(heap_);
  const Statement& macro = called.statement;
  Environment& env = inner(called.closure, &macro.scope);
  const Parameters& p = macro.parameters;
  const std::string name = macro.kind == StatementKind::kMacro
                               ? fmt::format("macro '{}'", program_.name_of(macro.symbol).string().text)
                               : std::string("caller");
  std::vector<bool> used(arguments.named.size(), false);
  const auto take_named = [&](std::string_view wanted) -> const Value* {
    heap_.spend(static_cast<int64_t>(arguments.named.size() / 4));
    for (size_t i = 0; i < arguments.named.size(); ++i) {
      if (used[i] || arguments.named[i].first.string().text != wanted) continue;
      used[i] = true;
      return &arguments.named[i].second;
    }
    return nullptr;
  };
  bool caller_is_parameter = false;
  std::vector<bool> defaulted(p.names.size(), false);
  for (size_t i = 0; i < p.names.size(); ++i) {
    const Value parameter = program_.name_of(p.names[i]);
    caller_is_parameter = caller_is_parameter || parameter.string().text == "caller";
    const Value* given =
        i < arguments.positional.size() ? &arguments.positional[i] : take_named(parameter.string().text);
    env.set(heap_, p.names[i],
            given != nullptr ? *given
                             : missing(heap_, fmt::format("parameter '{}' was not provided", parameter.string().text)));
    defaulted[i] = given == nullptr;
  }
  // Defaults see all parameters, their own included (which is undefined then).
  const size_t first_default = p.names.size() - p.defaults.size();
  for (size_t i = first_default; i < p.names.size(); ++i)
    if (defaulted[i]) env.set(heap_, p.names[i], evaluate(*p.defaults[i - first_default], env));
  if (macro.uses_caller && !caller_is_parameter) {
    const Value* caller = take_named("caller");
    env.set(heap_, program_.find_symbol("caller"), caller != nullptr ? *caller : missing(heap_, "No caller defined"));
  }
  if (macro.uses_kwargs) {
    auto* rest = heap_.make<Dict>();
    for (size_t i = 0; i < used.size(); ++i)
      if (!used[i]) rest->set(heap_, arguments.named[i].first, arguments.named[i].second);
    env.set(heap_, program_.find_symbol("kwargs"), Value(Kind::kDict, rest));
  } else {
    for (size_t i = 0; i < used.size(); ++i)
      if (!used[i]) fail("{} takes no keyword argument '{}'", name, arguments.named[i].first.string().text);
  }
  if (macro.uses_varargs) {
    std::vector<Value> rest;
    for (size_t i = p.names.size(); i < arguments.positional.size(); ++i) heap_.push(rest, arguments.positional[i]);
    env.set(heap_, program_.find_symbol("varargs"), heap_.tuple(std::move(rest)));
  } else if (arguments.positional.size() > p.names.size()) {
    fail("{} takes not more than {} argument(s)", name, p.names.size());
  }
  return capture(called.autoescape, macro.scope.body, env);
}

}  // namespace ingle::jinja
