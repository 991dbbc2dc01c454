#include "text/template_parser.h"

#include <algorithm>

namespace ingle::jinja {

int Program::symbol(std::string_view name) {
  const auto [it, added] = symbol_numbers.emplace(name, static_cast<int>(symbols.size()));
  if (added)
    symbols.push_back(std::make_unique<String>(std::string(name), std::vector<Run>{{name.size(), true}}, false));
  return it->second;
}

int Program::find_symbol(std::string_view name) const {
  const auto it = symbol_numbers.find(name);
  return it == symbol_numbers.end() ? -1 : it->second;
}

Value Program::string(std::string_view text) {
  std::vector<Run> runs;
  if (!text.empty()) runs.push_back({text.size(), true});
  strings.push_back(std::make_unique<String>(std::string(text), std::move(runs), false));
  return Value(strings.back().get());
}

std::unique_ptr<Program> parse_program(std::string_view source, const TemplateLimits& limits) {
  auto program = std::make_unique<Program>();
  Parser parser(*program, tokenize(source), limits);
  program->scope.body = parser.template_body();
  resolve_scopes(*program);
  return program;
}

bool Parser::skip_operator(std::string_view text) {
  if (!is_operator(text)) return false;
  next();
  return true;
}

bool Parser::skip_name(std::string_view text) {
  if (!is_name(text)) return false;
  next();
  return true;
}

void Parser::unexpected(std::string_view expected) const {
  const Token& token = current();
  std::string_view what = token.text;
  switch (token.type) {
    case TokenType::kEnd:
      what = "end of template";
      break;
    case TokenType::kBlockEnd:
      what = "end of statement block";
      break;
    case TokenType::kVariableEnd:
      what = "end of print statement";
      break;
    case TokenType::kInteger:
      what = "integer";
      break;
    case TokenType::kFloat:
      what = "float";
      break;
    case TokenType::kString:
      what = "string";
      break;
    default:
      break;
  }
  fail_at(token.line, fmt::format("expected {}, got '{}'", expected, what));
}

void Parser::expect_operator(std::string_view text) {
  if (!skip_operator(text)) unexpected(fmt::format("'{}'", text));
}

void Parser::expect_name(std::string_view text) {
  if (!skip_name(text)) unexpected(fmt::format("'{}'", text));
}

std::string Parser::expect_any_name() {
  if (current().type != TokenType::kName) unexpected("a name");
  std::string name = current().text;
  next();
  return name;
}

void Parser::expect_block_end() {
  if (current().type != TokenType::kBlockEnd) unexpected("end of statement block");
  next();
}

Body Parser::template_body() { return body({}); }

// Up to a tag named in `ends`; stands on that name afterwards.
Body Parser::body(std::initializer_list<std::string_view> ends, int opened) {
  // "'endfor' for the tag of line 3"
  const auto wanted = [&] { return fmt::format("'{}' for the tag of line {}", *(ends.end() - 1), opened); };
  const Level level(*this);
  Body statements;
  for (;;) {
    const Token& token = current();
    switch (token.type) {
      case TokenType::kData: {
        auto text = make(StatementKind::kText);
        text->text = program_.string(token.text);
        statements.push_back(std::move(text));
        next();
        break;
      }
      case TokenType::kVariableBegin: {
        auto print = make(StatementKind::kPrint);
        next();
        print->exprs.push_back(tuple());
        if (current().type != TokenType::kVariableEnd) unexpected("end of print statement");
        next();
        statements.push_back(std::move(print));
        break;
      }
      case TokenType::kBlockBegin: {
        next();
        if (current().type != TokenType::kName) unexpected("a tag name");
        if (std::find(ends.begin(), ends.end(), current().text) != ends.end()) return statements;
        if (current().text.starts_with("end") || is_name("else") || is_name("elif"))
          fail_at(current().line, ends.size() > 0
                                      ? fmt::format("unexpected '{}', expected {}", current().text, wanted())
                                      : fmt::format("'{}' without its beginning", current().text));
        if (is_name("print")) {  // several values are several statements
          do {
            auto print = make(StatementKind::kPrint);
            next();
            print->exprs.push_back(expression());
            statements.push_back(std::move(print));
          } while (is_operator(","));
        } else {
          statements.push_back(statement());
        }
        expect_block_end();
        break;
      }
      default:
        if (token.type != TokenType::kEnd) unexpected("text or a tag");
        if (ends.size() > 0) fail_at(token.line, fmt::format("unexpected end of template, expected {}", wanted()));
        return statements;
    }
  }
}

std::unique_ptr<Statement> Parser::make(StatementKind kind) const {
  auto statement = std::make_unique<Statement>();
  statement->kind = kind;
  statement->line = current().line;
  return statement;
}

std::unique_ptr<Statement> Parser::statement() {
  using Rule = std::unique_ptr<Statement> (Parser::*)();
  static const std::pair<std::string_view, Rule> kRules[] = {{"if", &Parser::if_},
                                                             {"for", &Parser::for_},
                                                             {"set", &Parser::set},
                                                             {"macro", &Parser::macro},
                                                             {"call", &Parser::call_block},
                                                             {"filter", &Parser::filter_block},
                                                             {"with", &Parser::with},
                                                             {"block", &Parser::block},
                                                             {"autoescape", &Parser::autoescape},
                                                             {"generation", &Parser::generation}};
  const std::string& tag = current().text;
  if (tag == "break" || tag == "continue") return loop_control(tag == "break");
  if (tag == "include" || tag == "import" || tag == "from" || tag == "extends")
    fail_at(current().line, fmt::format("'{}': a chat template has no other templates to load", tag));
  for (const auto& [name, rule] : kRules)
    if (tag == name) return (this->*rule)();
  fail_at(current().line, fmt::format("unknown tag '{}'", tag));
}

std::unique_ptr<Statement> Parser::if_() {
  auto s = make(StatementKind::kIf);
  do {
    next();
    s->exprs.push_back(tuple(false));
    expect_block_end();
    s->branches.push_back(body({"elif", "else", "endif"}, s->line));
  } while (is_name("elif"));
  if (skip_name("else")) {
    expect_block_end();
    s->branches.push_back(body({"endif"}, s->line));
  }
  expect_name("endif");
  return s;
}

namespace {

// Whether something made in this body may read the names of the scope around it after the body is done: a macro, or a
// loop that can be asked for its next item or called again.
bool captures_names(const Body& body) {
  return std::any_of(body.begin(), body.end(), [](const auto& s) {
    switch (s->kind) {
      case StatementKind::kMacro:
      case StatementKind::kCall:
      case StatementKind::kBlock:
        return true;
      case StatementKind::kFor:
        if (s->recursive || s->exprs[1] != nullptr) return true;
        break;
      default:
        break;
    }
    return captures_names(s->scope.body) || (s->otherwise != nullptr && captures_names(s->otherwise->body)) ||
           std::any_of(s->branches.begin(), s->branches.end(), captures_names);
  });
}

}  // namespace

std::unique_ptr<Statement> Parser::for_() {
  auto s = make(StatementKind::kFor);
  next();
  ++loops_;
  s->targets.push_back(target(false, true));
  expect_name("in");
  s->exprs.push_back(tuple(false, false, TupleEnd::kRecursive));
  s->exprs.push_back(skip_name("if") ? expression() : nullptr);
  s->recursive = skip_name("recursive");
  expect_block_end();
  const bool outer = may_break_;
  may_break_ = true;
  s->scope.body = body({"else", "endfor"}, s->line);
  may_break_ = outer && !s->recursive;
  if (skip_name("else")) {
    expect_block_end();
    s->otherwise = std::make_unique<Scope>();
    s->otherwise->body = body({"endfor"}, s->line);
  }
  may_break_ = outer;
  --loops_;
  s->plain = !captures_names(s->scope.body);
  expect_name("endfor");
  return s;
}

std::unique_ptr<Statement> Parser::loop_control(bool is_break) {
  if (!may_break_) fail_at(current().line, fmt::format("'{}' outside a loop", current().text));
  auto s = make(is_break ? StatementKind::kBreak : StatementKind::kContinue);
  next();
  return s;
}

// {% tag ... %} is read: its body and {% end %}. Set blocks and the like stand in the loop around them, macros do not.
void Parser::closed_body(Statement& s, std::string_view end, bool keeps_loop) {
  expect_block_end();
  const bool outer = may_break_;
  may_break_ = outer && keeps_loop;
  s.scope.body = body({end}, s.line);
  may_break_ = outer;
  expect_name(end);
}

namespace {

// Whether `target` is an attribute and `expr` that attribute plus something: ns.x = ns.x ~ y.
bool adds_to(const Target& target, const Expr& expr) {
  if (target.kind != Target::Kind::kAttribute) return false;
  const bool sum = expr.kind == ExprKind::kArithmetic &&
                   std::all_of(expr.ops.begin(), expr.ops.end(), [](Op op) { return op == Op::kAdd; });
  if (!sum && expr.kind != ExprKind::kConcat) return false;
  const Expr& first = *expr.parts[0];
  return first.kind == ExprKind::kAttribute && first.literal.string().text == target.attribute.string().text &&
         first.parts[0]->kind == ExprKind::kName && first.parts[0]->symbol == target.symbol;
}

}  // namespace

std::unique_ptr<Statement> Parser::set() {
  auto s = make(StatementKind::kSet);
  next();
  s->targets.push_back(target(true, false));
  if (skip_operator("=")) {
    s->exprs.push_back(tuple());
    s->accumulates = adds_to(s->targets[0], *s->exprs[0]);
    return s;
  }
  s->kind = StatementKind::kSetBlock;
  s->exprs.push_back(is_operator("|") ? filter_chain(nullptr, false) : nullptr);
  closed_body(*s, "endset", true);
  return s;
}

std::unique_ptr<Statement> Parser::macro() {
  auto s = make(StatementKind::kMacro);
  next();
  s->symbol = name_target().symbol;
  const Mentions outer = std::exchange(mentions_, {});
  s->parameters = parameters();
  closed_body(*s, "endmacro", false);
  s->uses_varargs = mentions_.varargs;
  s->uses_kwargs = mentions_.kwargs;
  s->uses_caller = mentions_.caller;
  mentions_ = {outer.varargs || mentions_.varargs, outer.kwargs || mentions_.kwargs, outer.caller || mentions_.caller};
  return s;
}

std::unique_ptr<Statement> Parser::call_block() {
  auto s = make(StatementKind::kCall);
  next();
  if (is_operator("(")) s->parameters = parameters();
  s->exprs.push_back(expression());
  if (s->exprs[0]->kind != ExprKind::kCall) fail_at(s->line, "expected call");
  const Mentions outer = mentions_;
  mentions_ = {};
  closed_body(*s, "endcall", false);
  s->uses_varargs = mentions_.varargs;
  s->uses_kwargs = mentions_.kwargs;
  s->uses_caller = mentions_.caller;
  mentions_ = {outer.varargs || mentions_.varargs, outer.kwargs || mentions_.kwargs, outer.caller || mentions_.caller};
  return s;
}

std::unique_ptr<Statement> Parser::filter_block() {
  auto s = make(StatementKind::kFilter);
  next();
  s->exprs.push_back(filter_chain(nullptr, true));
  closed_body(*s, "endfilter", true);
  return s;
}

std::unique_ptr<Statement> Parser::with() {
  auto s = make(StatementKind::kWith);
  next();
  while (current().type != TokenType::kBlockEnd) {
    if (!s->targets.empty()) expect_operator(",");
    s->targets.push_back(target(false, false));
    expect_operator("=");
    s->exprs.push_back(expression());
  }
  closed_body(*s, "endwith", true);
  return s;
}

std::unique_ptr<Statement> Parser::block() {
  auto s = make(StatementKind::kBlock);
  next();
  s->symbol = program_.symbol(expect_any_name());
  s->scoped = skip_name("scoped");
  skip_name("required");
  if (!program_.blocks.emplace(s->symbol, s.get()).second)
    fail_at(s->line, fmt::format("block '{}' defined twice", program_.name_of(s->symbol).string().text));
  closed_body(*s, "endblock", false);
  if (current().type == TokenType::kName) expect_name(program_.name_of(s->symbol).string().text);
  return s;
}

std::unique_ptr<Statement> Parser::autoescape() {
  auto s = make(StatementKind::kAutoescape);
  next();
  s->exprs.push_back(expression());
  closed_body(*s, "endautoescape", true);
  return s;
}

std::unique_ptr<Statement> Parser::generation() {
  auto s = make(StatementKind::kGeneration);
  next();
  closed_body(*s, "endgeneration", false);
  return s;
}

Parameters Parser::parameters() {
  Parameters p;
  expect_operator("(");
  while (!is_operator(")")) {
    if (!p.names.empty()) expect_operator(",");
    const Target name = name_target();
    if (std::find(p.names.begin(), p.names.end(), name.symbol) != p.names.end())
      fail_at(name.line, "a parameter is named twice");
    p.names.push_back(name.symbol);
    if (skip_operator("="))
      p.defaults.push_back(expression());
    else if (!p.defaults.empty())
      fail_at(name.line, "non-default argument follows default argument");
  }
  expect_operator(")");
  return p;
}

Target Parser::name_target() {
  Target t{Target::Kind::kName, current().line, -1, {}, {}};
  const std::string name = expect_any_name();
  for (std::string_view constant : {"true", "True", "false", "False", "none", "None"})
    if (name == constant) fail_at(t.line, fmt::format("can't assign to '{}'", name));
  if (name == "loop" && loops_ > 0) fail_at(t.line, "Can't assign to special loop variable in for-loop");
  t.symbol = program_.symbol(name);
  return t;
}

Target Parser::target_item(bool with_namespace) {
  const Level level(*this);
  if (skip_operator("(")) {
    Target t{Target::Kind::kTuple, current().line, -1, {}, {}};
    bool comma = false;
    while (!is_operator(")")) {
      t.items.push_back(target_item(with_namespace));
      comma = skip_operator(",");
      if (!comma) break;
    }
    expect_operator(")");
    return t.items.size() == 1 && !comma ? t.items[0] : t;
  }
  if (current().type != TokenType::kName) unexpected("a name to assign to");
  if (with_namespace && look().type == TokenType::kOperator && look().text == ".") {
    Target t{Target::Kind::kAttribute, current().line, -1, {}, {}};
    t.symbol = program_.symbol(expect_any_name());
    expect_operator(".");
    t.attribute = program_.string(expect_any_name());
    return t;
  }
  return name_target();
}

// One target, or several separated by commas.
Target Parser::target(bool with_namespace, bool in_for) {
  const int line = current().line;
  std::vector<Target> items;
  bool is_tuple = false;
  do {
    if (is_tuple && (is_operator("=") || current().type == TokenType::kBlockEnd || (in_for && is_name("in")))) break;
    items.push_back(target_item(with_namespace));
    if (is_operator(",")) is_tuple = true;
  } while (skip_operator(","));
  if (!is_tuple) return items[0];
  Target t{Target::Kind::kTuple, line, -1, {}, {}};
  t.items = std::move(items);
  return t;
}

}  // namespace ingle::jinja
