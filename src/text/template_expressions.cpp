// The expression half of the parser: one function per level of binding.
#include <algorithm>

#include "text/template_filters.h"
#include "text/template_parser.h"
#include "text/template_tests.h"

namespace ingle::jinja {

Parser::Level::Level(Parser& parser) : parser_(parser) {
  if (++parser_.depth_ > parser_.limits_.depth) {
    --parser_.depth_;
    fail_at(parser_.current().line, fmt::format("nests deeper than {} levels", parser_.limits_.depth));
  }
}

void Parser::measure(Expr& expr) const {
  int height = 0;
  const auto add = [&](const ExprPtr& part) {
    if (part != nullptr) height = std::max(height, part->height);
  };
  for (const ExprPtr& part : expr.parts) add(part);
  for (const auto& [name, value] : expr.named) add(value);
  add(expr.spread);
  add(expr.spread_named);
  expr.height = height + 1;
  if (expr.height > limits_.depth) fail_at(expr.line, fmt::format("nests deeper than {} levels", limits_.depth));
}

ExprPtr Parser::node(ExprKind kind, int line, std::vector<ExprPtr> parts) {
  auto expr = std::make_unique<Expr>();
  expr->kind = kind;
  expr->line = line;
  expr->parts = std::move(parts);
  measure(*expr);
  return expr;
}

namespace {

template <class... Parts>
std::vector<ExprPtr> list_of(Parts... parts) {
  std::vector<ExprPtr> list;
  (list.push_back(std::move(parts)), ...);
  return list;
}

}  // namespace

ExprPtr Parser::expression(bool with_condition) {
  const Level level(*this);
  return with_condition ? conditional() : or_();
}

ExprPtr Parser::conditional() {
  const Level level(*this);
  ExprPtr value = or_();
  while (is_name("if")) {
    const int line = current().line;
    next();
    ExprPtr condition = or_();
    ExprPtr otherwise = skip_name("else") ? conditional() : nullptr;
    value = node(ExprKind::kConditional, line, list_of(std::move(value), std::move(condition), std::move(otherwise)));
  }
  return value;
}

ExprPtr Parser::or_() {
  const int line = current().line;
  std::vector<ExprPtr> parts;
  do parts.push_back(and_());
  while (skip_name("or"));
  return parts.size() == 1 ? std::move(parts[0]) : node(ExprKind::kOr, line, std::move(parts));
}

ExprPtr Parser::and_() {
  const int line = current().line;
  std::vector<ExprPtr> parts;
  do parts.push_back(not_());
  while (skip_name("and"));
  return parts.size() == 1 ? std::move(parts[0]) : node(ExprKind::kAnd, line, std::move(parts));
}

ExprPtr Parser::not_() {
  if (!is_name("not")) return comparison();
  const Level level(*this);
  const int line = current().line;
  next();
  return node(ExprKind::kNot, line, list_of(not_()));
}

ExprPtr Parser::comparison() {
  static constexpr std::pair<std::string_view, Op> kOperators[] = {{"==", Op::kEqual},  {"!=", Op::kNotEqual},
                                                                   {"<", Op::kLess},    {"<=", Op::kLessEqual},
                                                                   {">", Op::kGreater}, {">=", Op::kGreaterEqual}};
  const int line = current().line;
  std::vector<ExprPtr> parts = list_of(sum());
  std::vector<Op> ops;
  for (;;) {
    const auto it = std::find_if(std::begin(kOperators), std::end(kOperators),
                                 [&](const auto& entry) { return is_operator(entry.first); });
    if (it != std::end(kOperators)) {
      next();
      ops.push_back(it->second);
    } else if (skip_name("in")) {
      ops.push_back(Op::kIn);
    } else if (is_name("not") && look().type == TokenType::kName && look().text == "in") {
      next();
      next();
      ops.push_back(Op::kNotIn);
    } else {
      break;
    }
    parts.push_back(sum());
  }
  if (ops.empty()) return std::move(parts[0]);
  ExprPtr expr = node(ExprKind::kCompare, line, std::move(parts));
  expr->ops = std::move(ops);
  return expr;
}

template <class Operand>
ExprPtr Parser::fold(ExprKind kind, Operand operand, std::initializer_list<std::pair<std::string_view, Op>> operators) {
  const int line = current().line;
  std::vector<ExprPtr> parts = list_of(operand());
  std::vector<Op> ops;
  for (;;) {
    const auto it =
        std::find_if(operators.begin(), operators.end(), [&](const auto& entry) { return is_operator(entry.first); });
    if (it == operators.end()) break;
    next();
    ops.push_back(it->second);
    parts.push_back(operand());
  }
  if (ops.empty()) return std::move(parts[0]);
  ExprPtr expr = node(kind, line, std::move(parts));
  expr->ops = std::move(ops);
  return expr;
}

ExprPtr Parser::sum() {
  return fold(ExprKind::kArithmetic, [this] { return concat(); }, {{"+", Op::kAdd}, {"-", Op::kSubtract}});
}

ExprPtr Parser::concat() {
  const int line = current().line;
  std::vector<ExprPtr> parts;
  do parts.push_back(product());
  while (skip_operator("~"));
  return parts.size() == 1 ? std::move(parts[0]) : node(ExprKind::kConcat, line, std::move(parts));
}

ExprPtr Parser::product() {
  return fold(ExprKind::kArithmetic, [this] { return power(); },
              {{"*", Op::kMultiply}, {"/", Op::kDivide}, {"//", Op::kFloorDivide}, {"%", Op::kModulo}});
}

ExprPtr Parser::power() {
  return fold(ExprKind::kArithmetic, [this] { return unary(); }, {{"**", Op::kPower}});
}

ExprPtr Parser::unary(bool with_filter) {
  const Level level(*this);
  const int line = current().line;
  ExprPtr expr;
  if (skip_operator("-"))
    expr = node(ExprKind::kNegate, line, list_of(unary(false)));
  else if (skip_operator("+"))
    expr = node(ExprKind::kPlus, line, list_of(unary(false)));
  else
    expr = primary();
  expr = postfix(std::move(expr));
  return with_filter ? filters_and_tests(std::move(expr)) : std::move(expr);
}

ExprPtr Parser::primary() {
  const Token& token = current();
  const int line = token.line;
  ExprPtr expr;
  switch (token.type) {
    case TokenType::kName: {
      const std::string& name = token.text;
      expr = node(ExprKind::kLiteral, line);
      if (name == "true" || name == "True") {
        expr->literal = Value::of(true);
      } else if (name == "false" || name == "False") {
        expr->literal = Value::of(false);
      } else if (name == "none" || name == "None") {
        expr->literal = Value::none();
      } else {
        expr->kind = ExprKind::kName;
        expr->symbol = program_.symbol(name);
        mentions_.varargs |= name == "varargs";
        mentions_.kwargs |= name == "kwargs";
        mentions_.caller |= name == "caller";
      }
      next();
      return expr;
    }
    case TokenType::kString: {
      std::string text;
      for (; current().type == TokenType::kString; next()) text += current().text;
      expr = node(ExprKind::kLiteral, line);
      expr->literal = program_.string(text);
      return expr;
    }
    case TokenType::kInteger:
    case TokenType::kFloat:
      expr = node(ExprKind::kLiteral, line);
      expr->literal = token.type == TokenType::kInteger ? Value::of_int(token.integer) : Value::of_float(token.number);
      next();
      return expr;
    default:
      break;
  }
  if (skip_operator("(")) {
    expr = tuple(true, true);
    expect_operator(")");
    return expr;
  }
  if (skip_operator("[")) {
    std::vector<ExprPtr> items;
    while (!is_operator("]")) {
      if (!items.empty()) expect_operator(",");
      if (is_operator("]")) break;
      items.push_back(expression());
    }
    expect_operator("]");
    return node(ExprKind::kList, line, std::move(items));
  }
  if (is_operator("{")) return dict();
  unexpected("an expression");
}

ExprPtr Parser::dict() {
  const int line = current().line;
  next();
  std::vector<ExprPtr> items;
  while (!is_operator("}")) {
    if (!items.empty()) expect_operator(",");
    if (is_operator("}")) break;
    items.push_back(expression());
    expect_operator(":");
    items.push_back(expression());
  }
  expect_operator("}");
  return node(ExprKind::kDict, line, std::move(items));
}

ExprPtr Parser::tuple(bool with_condition, bool in_parentheses, TupleEnd end) {
  const int line = current().line;
  const auto at_end = [&] {
    return current().type == TokenType::kVariableEnd || current().type == TokenType::kBlockEnd || is_operator(")") ||
           (end == TupleEnd::kRecursive && is_name("recursive"));
  };
  std::vector<ExprPtr> items;
  bool is_tuple = false;
  while (!at_end()) {
    items.push_back(expression(with_condition));
    if (!skip_operator(",")) break;
    is_tuple = true;
  }
  if (!is_tuple && items.size() == 1) return std::move(items[0]);
  if (!is_tuple && !in_parentheses) unexpected("an expression");
  return node(ExprKind::kTuple, line, std::move(items));
}

ExprPtr Parser::postfix(ExprPtr expr) {
  for (;;) {
    if (is_operator(".") || is_operator("["))
      expr = subscript(std::move(expr));
    else if (is_operator("("))
      expr = call(std::move(expr));
    else
      return expr;
  }
}

ExprPtr Parser::filters_and_tests(ExprPtr expr) {
  for (;;) {
    if (is_operator("|"))
      expr = filter_chain(std::move(expr), false);
    else if (is_name("is"))
      expr = test(std::move(expr));
    else if (is_operator("("))
      expr = call(std::move(expr));
    else
      return expr;
  }
}

ExprPtr Parser::subscript(ExprPtr owner) {
  const int line = current().line;
  if (skip_operator(".")) {
    const Token token = current();
    if (token.type != TokenType::kName && token.type != TokenType::kInteger) unexpected("a name or number");
    next();
    if (token.type == TokenType::kName) {
      ExprPtr expr = node(ExprKind::kAttribute, line, list_of(std::move(owner)));
      expr->literal = program_.string(token.text);
      return expr;
    }
    ExprPtr key = node(ExprKind::kLiteral, line);
    key->literal = Value::of_int(token.integer);
    return node(ExprKind::kItem, line, list_of(std::move(owner), std::move(key)));
  }
  expect_operator("[");
  ExprPtr start = is_operator(":") ? nullptr : is_operator("]") ? node(ExprKind::kTuple, line) : expression();
  if (skip_operator(":")) {
    const auto bound = [&]() -> ExprPtr { return is_operator(":") || is_operator("]") ? nullptr : expression(); };
    ExprPtr stop = bound();
    ExprPtr step = skip_operator(":") ? bound() : nullptr;
    expect_operator("]");
    return node(ExprKind::kSlice, line, list_of(std::move(owner), std::move(start), std::move(stop), std::move(step)));
  }
  if (is_operator(",")) {  // a[1, 2]: the key is a tuple
    std::vector<ExprPtr> items = list_of(std::move(start));
    while (skip_operator(",")) {
      if (is_operator("]")) break;
      items.push_back(expression());
    }
    start = node(ExprKind::kTuple, line, std::move(items));
  }
  expect_operator("]");
  return node(ExprKind::kItem, line, list_of(std::move(owner), std::move(start)));
}

ExprPtr Parser::call(ExprPtr callee) {
  ExprPtr expr = node(ExprKind::kCall, current().line, list_of(std::move(callee)));
  arguments(*expr);
  return expr;
}

void Parser::arguments(Expr& call) {
  const auto require = [&](bool condition) {
    if (!condition) fail_at(current().line, "invalid syntax for function call expression");
  };
  expect_operator("(");
  for (bool first = true; !is_operator(")"); first = false) {
    if (!first) expect_operator(",");
    if (is_operator(")")) break;
    if (skip_operator("*")) {
      require(call.spread == nullptr && call.spread_named == nullptr);
      call.spread = expression();
    } else if (skip_operator("**")) {
      require(call.spread_named == nullptr);
      call.spread_named = expression();
    } else if (current().type == TokenType::kName && look().type == TokenType::kOperator && look().text == "=") {
      require(call.spread_named == nullptr);
      const Value name = program_.string(current().text);
      for (const auto& [known, value] : call.named)
        if (known.string().text == name.string().text)
          fail_at(current().line, fmt::format("keyword argument repeated: {}", name.string().text));
      next();
      next();
      call.named.emplace_back(name, expression());
    } else {
      require(call.spread == nullptr && call.spread_named == nullptr && call.named.empty());
      call.parts.push_back(expression());
    }
  }
  expect_operator(")");
  measure(call);
}

std::string Parser::dotted_name() {
  std::string name = expect_any_name();
  while (skip_operator(".")) name.append(1, '.').append(expect_any_name());
  return name;
}

ExprPtr Parser::filter_chain(ExprPtr input, bool start_inline) {
  while (start_inline || is_operator("|")) {
    if (!start_inline) next();
    start_inline = false;
    const int line = current().line;
    const std::string name = dotted_name();
    ExprPtr expr = node(ExprKind::kFilter, line, list_of(std::move(input)));
    expr->literal = program_.string(name);
    expr->filter = find_filter(name);
    if (is_operator("(")) arguments(*expr);
    input = std::move(expr);
  }
  return input;
}

ExprPtr Parser::test(ExprPtr input) {
  const int line = current().line;
  next();
  const bool negated = skip_name("not");
  const std::string name = dotted_name();
  ExprPtr expr = node(ExprKind::kTest, line, list_of(std::move(input)));
  expr->literal = program_.string(name);
  expr->test = find_test(name);
  const Token& token = current();
  const bool begins_primary = token.type == TokenType::kName || token.type == TokenType::kString ||
                              token.type == TokenType::kInteger || token.type == TokenType::kFloat ||
                              is_operator("[") || is_operator("{");
  if (is_operator("(")) {
    arguments(*expr);
  } else if (begins_primary && !is_name("else") && !is_name("or") && !is_name("and")) {
    if (is_name("is")) fail_at(token.line, "You cannot chain multiple tests with is");
    const Level level(*this);
    expr->parts.push_back(postfix(primary()));
    measure(*expr);
  }
  return negated ? node(ExprKind::kNot, line, list_of(std::move(expr))) : std::move(expr);
}

}  // namespace ingle::jinja
