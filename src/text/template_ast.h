// A parsed template: statements, expressions, and the strings they mention. Immutable once parsed.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/template_operators.h"
#include "text/template_value.h"

namespace ingle::jinja {

struct FilterEntry;
struct TestEntry;

// What `parts` holds follows the kind.
enum class ExprKind : uint8_t {
  kLiteral,      // literal
  kName,         // symbol
  kTuple,        // the items
  kList,         // the items
  kDict,         // key, value, key, value, ...
  kConditional,  // value, condition, otherwise (may be null)
  kOr,           // two or more
  kAnd,          // two or more
  kNot,          // one
  kCompare,      // n + 1 for n ops: a < b < c
  kArithmetic,   // n + 1 for n ops, left to right: a - b + c
  kConcat,       // two or more: a ~ b ~ c
  kNegate,       // one
  kPlus,         // one
  kAttribute,    // owner; literal is the name
  kItem,         // owner, key
  kSlice,        // owner, start, stop, step (the last three may be null)
  kCall,         // callee, positional arguments
  kFilter,       // input (null: what a filter block captured), positional arguments; literal is the name
  kTest,         // input, positional arguments; literal is the name
};

struct Expr;
using ExprPtr = std::unique_ptr<Expr>;

struct Expr {
  ExprKind kind;
  int line;
  int height = 1;  // of this tree; the evaluator's recursion is bounded by it
  Value literal;
  int symbol = -1;
  std::vector<ExprPtr> parts;
  std::vector<Op> ops;
  std::vector<std::pair<Value, ExprPtr>> named;  // of a call, filter or test: k=v
  ExprPtr spread, spread_named;                  // *list, **dict
  const FilterEntry* filter = nullptr;           // null: unknown, an error when it is reached
  const TestEntry* test = nullptr;
};

// Where `set` and `for` write.
struct Target {
  enum class Kind : uint8_t { kName, kAttribute, kTuple } kind;
  int line;
  int symbol = -1;  // the name, or the namespace of an attribute
  Value attribute;
  std::vector<Target> items;
};

struct Statement;
using Body = std::vector<std::unique_ptr<Statement>>;

// A body with names of its own.
struct Scope {
  Body body;
  // Names whose first mention in this scope is an unconditional `set`, and which no scope around it mentions: until the
  // set runs they are undefined, whatever the caller passed in. (Jinja2 decides this when it compiles.)
  std::vector<int> hidden;
};

struct Parameters {
  std::vector<int> names;
  std::vector<ExprPtr> defaults;  // of the last of them
};

enum class StatementKind : uint8_t {
  kText,        // text
  kPrint,       // exprs[0]
  kIf,          // exprs: the conditions; branches: one each, and perhaps one more for else
  kFor,         // target, exprs[0]: iterable, exprs[1]: condition or null; scope, otherwise: else or null
  kSet,         // target, exprs[0]
  kSetBlock,    // target, scope, exprs[0]: filters or null
  kMacro,       // symbol, parameters, scope
  kCall,        // exprs[0]: the call; parameters, scope
  kFilter,      // exprs[0]: filters; scope
  kWith,        // targets, exprs; scope
  kBlock,       // symbol; scope
  kAutoescape,  // exprs[0]; scope
  kGeneration,  // scope
  kBreak,
  kContinue,
};

struct Statement {
  StatementKind kind;
  int line;
  Value text;
  std::vector<ExprPtr> exprs;
  std::vector<Target> targets;
  std::vector<Body> branches;
  Scope scope;
  std::unique_ptr<Scope> otherwise;
  Parameters parameters;
  int symbol = -1;
  bool recursive = false;
  bool plain = false;        // a loop whose body leaves nothing behind that could look at its names later
  bool accumulates = false;  // set ns.x = ns.x ~ ..., or with +
  bool scoped = false;       // a block that sees the names around it
  bool uses_varargs = false, uses_kwargs = false, uses_caller = false;  // of a macro or call: what its body mentions
};

struct Program {
  Scope scope;
  std::vector<std::unique_ptr<String>> strings;  // literals
  std::vector<std::unique_ptr<String>> symbols;  // names, by number
  std::map<std::string, int, std::less<>> symbol_numbers;
  std::map<int, const Statement*> blocks;

  int symbol(std::string_view name);
  int find_symbol(std::string_view name) const;  // -1 when the template never mentions it
  Value string(std::string_view text);
  Value name_of(int symbol) const { return Value(symbols[static_cast<size_t>(symbol)].get()); }
};

// Throws Failure, the line in front.
std::unique_ptr<Program> parse_program(std::string_view source, const TemplateLimits& limits);

// After parsing: fills in Scope::hidden and refuses filters and tests that do not exist.
void resolve_scopes(Program& program);

}  // namespace ingle::jinja
