// The expression half of the interpreter.
#include <algorithm>

#include "text/template_callables.h"
#include "text/template_filters.h"
#include "text/template_tests.h"

namespace ingle::jinja {

Value Interpreter::evaluate(const Expr& expr, Environment& env) {
  const Heap::Level level(heap_);
  heap_.spend(1);
  line_ = expr.line;
  switch (expr.kind) {
    case ExprKind::kLiteral:
      return expr.literal;
    case ExprKind::kName:
      return evaluate_name(expr, env);
    case ExprKind::kTuple:
    case ExprKind::kList:
      return evaluate_items(expr, env);
    case ExprKind::kDict:
      return evaluate_dict(expr, env);
    case ExprKind::kConditional:
      return evaluate_conditional(expr, env);
    case ExprKind::kOr:
    case ExprKind::kAnd:
      return evaluate_logic(expr, env);
    case ExprKind::kNot:
      return Value::of(!truth(evaluate(*expr.parts[0], env)));
    case ExprKind::kCompare:
      return evaluate_comparison(expr, env);
    case ExprKind::kArithmetic:
      return evaluate_arithmetic(expr, env);
    case ExprKind::kConcat:
      return evaluate_concat(expr, env);
    case ExprKind::kNegate:
      return negate(evaluate(*expr.parts[0], env));
    case ExprKind::kPlus: {
      const Value value = evaluate(*expr.parts[0], env);
      if (value.is(Kind::kFloat)) return value;
      return negate(negate(value));
    }
    case ExprKind::kAttribute: {
      const Value owner = evaluate(*expr.parts[0], env);
      line_ = expr.line;
      return attribute_of(heap_, owner, expr.literal);
    }
    case ExprKind::kItem: {
      const Value owner = evaluate(*expr.parts[0], env);
      const Value key = evaluate(*expr.parts[1], env);
      line_ = expr.line;
      return item_of(heap_, owner, key);
    }
    case ExprKind::kSlice:
      return evaluate_slice(expr, env);
    case ExprKind::kCall:
      return evaluate_call(expr, env);
    case ExprKind::kFilter:
    case ExprKind::kTest:
      return evaluate_filter(expr, env);
  }
  return Value();
}

Value Interpreter::evaluate_name(const Expr& expr, Environment& env) {
  const Value* found = env.find(expr.symbol);
  return found != nullptr ? *found : heap_.missing({}, program_.name_of(expr.symbol));
}

Value Interpreter::evaluate_items(const Expr& expr, Environment& env) {
  std::vector<Value> items;
  for (const auto& part : expr.parts) heap_.push(items, evaluate(*part, env));
  return expr.kind == ExprKind::kList ? heap_.list(std::move(items)) : heap_.tuple(std::move(items));
}

Value Interpreter::evaluate_dict(const Expr& expr, Environment& env) {
  auto* dict = heap_.make<Dict>();
  for (size_t i = 0; i < expr.parts.size(); i += 2) {
    const Value key = evaluate(*expr.parts[i], env);
    dict->set(heap_, key, evaluate(*expr.parts[i + 1], env));
  }
  return Value(Kind::kDict, dict);
}

Value Interpreter::evaluate_conditional(const Expr& expr, Environment& env) {
  if (truth(evaluate(*expr.parts[1], env))) return evaluate(*expr.parts[0], env);
  if (expr.parts[2] != nullptr) return evaluate(*expr.parts[2], env);
  return missing(heap_, fmt::format("the inline if-expression on line {} evaluated to false and no else section was "
                                    "defined.",
                                    expr.line));
}

Value Interpreter::evaluate_logic(const Expr& expr, Environment& env) {
  Value value;
  for (const auto& part : expr.parts) {
    value = evaluate(*part, env);
    if (truth(value) == (expr.kind == ExprKind::kOr)) break;
  }
  return value;
}

Value Interpreter::evaluate_comparison(const Expr& expr, Environment& env) {
  Value left = evaluate(*expr.parts[0], env);
  for (size_t i = 0; i < expr.ops.size(); ++i) {
    const Value right = evaluate(*expr.parts[i + 1], env);
    if (!compare(heap_, expr.ops[i], left, right)) return Value::of(false);
    left = right;
  }
  return Value::of(true);
}

Value Interpreter::evaluate_arithmetic(const Expr& expr, Environment& env) {
  Value left = evaluate(*expr.parts[0], env);
  for (size_t i = 0; i < expr.ops.size(); ++i) {
    const Value right = evaluate(*expr.parts[i + 1], env);
    left = arithmetic(heap_, expr.ops[i], left, right);
  }
  return left;
}

Value Interpreter::evaluate_concat(const Expr& expr, Environment& env) {
  std::vector<Value> values;
  for (const auto& part : expr.parts) heap_.push(values, evaluate(*part, env));
  const bool marked = heap_.autoescape && std::any_of(values.begin(), values.end(), [](const Value& v) {
                        return v.is_string() && v.string().marked;
                      });
  Text out(heap_);
  for (const Value& value : values) {
    if (marked)
      out.append(escape(heap_, value).string());
    else
      print(out, value);
  }
  return out.finish(marked);
}

Value Interpreter::evaluate_slice(const Expr& expr, Environment& env) {
  const Value owner = evaluate(*expr.parts[0], env);
  Value bounds[3];
  for (size_t i = 0; i < 3; ++i)
    bounds[i] = expr.parts[i + 1] == nullptr ? Value::none() : evaluate(*expr.parts[i + 1], env);
  return slice_of(heap_, owner, bounds[0], bounds[1], bounds[2]);
}

Arguments Interpreter::arguments_of(const Expr& expr, Environment& env) {
  Arguments arguments;
  for (size_t i = 1; i < expr.parts.size(); ++i) arguments.positional.push_back(evaluate(*expr.parts[i], env));
  if (expr.spread != nullptr)
    for (const Value& item : iterate(heap_, evaluate(*expr.spread, env))) heap_.push(arguments.positional, item);
  for (const auto& [name, value] : expr.named) arguments.named.emplace_back(name, evaluate(*value, env));
  if (expr.spread_named != nullptr) {
    const Value spread = evaluate(*expr.spread_named, env);
    if (!spread.is(Kind::kDict)) fail("argument after ** must be a mapping, not {}", type_name(spread));
    for (const auto& [key, value] : spread.dict().entries) {
      if (!key.is_string()) fail("keywords must be strings");
      for (const auto& [known, other] : expr.named)
        if (known.string().text == key.string().text)
          fail("got multiple values for keyword argument '{}'", key.string().text);
      heap_.charge(2 * sizeof(Value));
      heap_.spend(static_cast<int64_t>(expr.named.size()));
      arguments.named.emplace_back(key, value);
    }
  }
  return arguments;
}

Value Interpreter::evaluate_call(const Expr& expr, Environment& env, const Value* caller) {
  const Value callee = evaluate(*expr.parts[0], env);
  Arguments arguments = arguments_of(expr, env);
  if (caller != nullptr) arguments.named.emplace_back(heap_.text("caller"), *caller);
  line_ = expr.line;
  return call(callee, arguments);
}

Value Interpreter::call(const Value& callee, const Arguments& arguments) {
  switch (callee.kind) {
    case Kind::kMacro:
    case Kind::kMethod:
    case Kind::kFunction:
    case Kind::kBlock:
    case Kind::kLoop:
    case Kind::kCycler:
    case Kind::kJoiner:
    case Kind::kSelf:
      return callee.as<Callable>().call(heap_, arguments);
    case Kind::kUndefined: {
      if (callee.object == nullptr || !callee.as<Undefined>().unsafe) fail_undefined(callee);
      // Jinja2 refuses to call what its sandbox hides. Where we know it to be harmless we do it: some templates append.
      const Value& method = callee.as<Undefined>().method;
      if (!method.is(Kind::kMethod)) fail_undefined(callee);
      return method.as<Callable>().call(heap_, arguments);
    }
    default:
      fail("'{}' object is not callable", type_name(callee));
  }
}

Value Interpreter::evaluate_filter(const Expr& expr, Environment& env) {
  const Value input = expr.parts[0] != nullptr ? evaluate(*expr.parts[0], env) : *block_input_;
  const Arguments arguments = arguments_of(expr, env);
  line_ = expr.line;
  if (expr.kind == ExprKind::kFilter) {
    if (expr.filter == nullptr) fail("No filter named '{}'.", expr.literal.string().text);
    return expr.filter->apply(heap_, input, arguments);
  }
  if (expr.test == nullptr) fail("No test named '{}'.", expr.literal.string().text);
  return Value::of(expr.test->holds(heap_, input, arguments));
}

}  // namespace ingle::jinja
