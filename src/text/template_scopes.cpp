// What Jinja2 settles when it compiles: which names a scope hides until it sets them, and whether filters exist.
//
// Jinja2 turns a scope's names into Python variables. A name that a scope stores before it reads it, and that no scope
// around it knows, starts out undefined instead of being looked up in what the caller passed. That shows only where
// somebody else reads it before the `set` runs: a macro, or the body of a loop. The rules below are those of its symbol
// tables; a name that only branches of an `if` store is looked up as usual.
#include <algorithm>
#include <map>
#include <set>

#include "text/template_ast.h"
#include "text/template_lexer.h"

namespace ingle::jinja {

namespace {

struct Symbols {
  enum class Load { kResolve, kUndefined, kKnown };
  const Symbols* parent = nullptr;  // of the scope around this one
  const Symbols* around = nullptr;  // of the same scope, when this is a branch of an `if` in it; below, what it adds
  std::map<int, Load> loads;        // every name mentioned so far
  std::set<int> stores;

  bool mentions(int name) const { return loads.count(name) != 0 || (around != nullptr && around->mentions(name)); }
  bool has_stored(int name) const { return stores.count(name) != 0 || (around != nullptr && around->has_stored(name)); }
  bool outer_knows(int name) const { return parent != nullptr && parent->knows(name); }
  bool knows(int name) const { return mentions(name) || outer_knows(name); }
  void load(int name) {
    if (!knows(name)) loads[name] = Load::kResolve;
  }
  void store(int name) {
    stores.insert(name);
    if (!mentions(name)) loads[name] = outer_knows(name) ? Load::kKnown : Load::kUndefined;
  }
  void declare(int name) {
    stores.insert(name);
    loads[name] = Load::kKnown;
  }
  // After the branches of an `if`: what any of them stores may or may not be set, so it is looked up at first.
  void merge(const std::vector<Symbols>& branches) {
    std::set<int> fresh;
    for (const Symbols& branch : branches) {
      for (const auto& [name, load] : branch.loads) loads[name] = load;
      for (int name : branch.stores)
        if (!has_stored(name)) fresh.insert(name);
    }
    for (int name : fresh) loads[name] = outer_knows(name) ? Load::kKnown : Load::kResolve;
    stores.merge(fresh);
  }
};

class Resolver {
 public:
  explicit Resolver(Program& program) : program_(program) {}

  void run() {
    Symbols symbols;
    visit(program_.scope.body, symbols);
    finish(program_.scope, symbols);
  }

 private:
  // The first pass over a scope: its own names, not those of scopes inside it.
  void visit(const Body& body, Symbols& symbols) {
    for (const auto& statement : body) visit(*statement, symbols);
  }

  void visit(const Statement& s, Symbols& symbols) {
    switch (s.kind) {
      case StatementKind::kIf:
        return visit_if(s, symbols);
      case StatementKind::kFor:
        return visit(*s.exprs[0], symbols);
      case StatementKind::kSet:
        visit(*s.exprs[0], symbols);
        return store(s.targets[0], symbols);
      case StatementKind::kSetBlock:
        return store(s.targets[0], symbols);
      case StatementKind::kMacro:
        return symbols.store(s.symbol);
      case StatementKind::kPrint:
      case StatementKind::kCall:
      case StatementKind::kFilter:
      case StatementKind::kWith:
        for (const auto& expr : s.exprs) visit(*expr, symbols);
        return;
      default:
        return;
    }
  }

  void visit_if(const Statement& s, Symbols& symbols) {
    visit(*s.exprs[0], symbols);
    std::vector<Symbols> branches(s.branches.size(), Symbols{symbols.parent, &symbols, {}, {}});
    for (size_t i = 0; i < s.branches.size(); ++i) {
      if (i > 0 && i < s.exprs.size()) visit(*s.exprs[i], branches[i]);
      visit(s.branches[i], branches[i]);
    }
    symbols.merge(branches);
  }

  static void store(const Target& target, Symbols& symbols) {
    if (target.kind == Target::Kind::kName) symbols.store(target.symbol);
    if (target.kind == Target::Kind::kAttribute) symbols.load(target.symbol);
    for (const Target& item : target.items) store(item, symbols);
  }

  static void declare(const Target& target, Symbols& symbols) {
    if (target.kind == Target::Kind::kName) symbols.declare(target.symbol);
    for (const Target& item : target.items) declare(item, symbols);
  }

  void visit(const Expr& expr, Symbols& symbols) {
    if (expr.kind == ExprKind::kName) symbols.load(expr.symbol);
    each_part(expr, [&](const Expr& part) { visit(part, symbols); });
  }

  template <class Function>
  static void each_part(const Expr& expr, Function function) {
    for (const auto& part : expr.parts)
      if (part != nullptr) function(*part);
    for (const auto& [name, value] : expr.named) function(*value);
    if (expr.spread != nullptr) function(*expr.spread);
    if (expr.spread_named != nullptr) function(*expr.spread_named);
  }

  // The second pass: what the scope hides, then the scopes inside it, which look up to it.
  void finish(Scope& scope, const Symbols& symbols) {
    for (const auto& [name, load] : symbols.loads)
      if (load == Symbols::Load::kUndefined) scope.hidden.push_back(name);
    descend(scope.body, symbols, false);
  }

  void inner(Scope& scope, const Symbols* parent, const std::vector<Target>& targets,
             const std::vector<int>& names = {}) {
    Symbols symbols;
    symbols.parent = parent;
    for (const Target& target : targets) declare(target, symbols);
    for (int name : names) symbols.declare(name);
    visit(scope.body, symbols);
    finish(scope, symbols);
  }

  // `soft`: in a branch of an `if`, where an unknown filter is an error only when it is reached.
  void descend(const Body& body, const Symbols& symbols, bool soft) {
    for (const auto& statement : body) descend(*statement, symbols, soft);
  }

  void descend(Statement& s, const Symbols& symbols, bool soft) {
    switch (s.kind) {
      case StatementKind::kIf:
        for (const auto& condition : s.exprs) check(*condition, true);
        for (const Body& branch : s.branches) descend(branch, symbols, true);
        return;
      case StatementKind::kFor:
        check(*s.exprs[0], soft);
        if (s.exprs[1] != nullptr) check(*s.exprs[1], false);
        inner(s.scope, &symbols, s.targets, {program_.symbol("loop")});
        if (s.otherwise != nullptr) inner(*s.otherwise, &symbols, {});
        return;
      case StatementKind::kMacro:
      case StatementKind::kCall: {
        for (const auto& expr : s.exprs) check(*expr, soft);
        for (const auto& expr : s.parameters.defaults) check(*expr, false);
        std::vector<int> names = s.parameters.names;
        if (s.uses_varargs) names.push_back(program_.symbol("varargs"));
        if (s.uses_kwargs) names.push_back(program_.symbol("kwargs"));
        if (s.uses_caller) names.push_back(program_.symbol("caller"));
        return inner(s.scope, &symbols, {}, names);
      }
      case StatementKind::kBlock:
        return inner(s.scope, nullptr, {});  // compiled alone, scoped or not
      case StatementKind::kSetBlock:
      case StatementKind::kFilter:
        if (s.exprs[0] != nullptr) check(*s.exprs[0], false);
        return inner(s.scope, &symbols, {});
      case StatementKind::kWith:
        for (const auto& expr : s.exprs) check(*expr, soft);
        return inner(s.scope, &symbols, s.targets);
      case StatementKind::kAutoescape:
        check(*s.exprs[0], soft);
        return inner(s.scope, &symbols, {});
      case StatementKind::kGeneration:
        return inner(s.scope, &symbols, {});
      default:
        for (const auto& expr : s.exprs) check(*expr, soft);
    }
  }

  void check(const Expr& expr, bool soft) {
    if (!soft && expr.kind == ExprKind::kFilter && expr.filter == nullptr)
      fail_at(expr.line, fmt::format("No filter named '{}'.", expr.literal.string().text));
    if (!soft && expr.kind == ExprKind::kTest && expr.test == nullptr)
      fail_at(expr.line, fmt::format("No test named '{}'.", expr.literal.string().text));
    each_part(expr, [&](const Expr& part) { check(part, soft || expr.kind == ExprKind::kConditional); });
  }

  Program& program_;
};

}  // namespace

void resolve_scopes(Program& program) { Resolver(program).run(); }

}  // namespace ingle::jinja
