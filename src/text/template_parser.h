// Reads tokens into a Program. Expressions and statements are two files of one class.
#pragma once

#include <initializer_list>

#include "text/template_ast.h"
#include "text/template_lexer.h"

namespace ingle::jinja {

class Parser {
 public:
  Parser(Program& program, std::vector<Token> tokens, const TemplateLimits& limits)
      : program_(program), tokens_(std::move(tokens)), limits_(limits) {}

  Body template_body();

 private:
  // Tokens.
  const Token& current() const { return tokens_[at_]; }
  const Token& look() const { return tokens_[at_ + 1 < tokens_.size() ? at_ + 1 : at_]; }
  void next() { at_ += at_ + 1 < tokens_.size() ? 1 : 0; }
  bool is_operator(std::string_view text) const {
    return current().type == TokenType::kOperator && current().text == text;
  }
  bool is_name(std::string_view text) const { return current().type == TokenType::kName && current().text == text; }
  bool skip_operator(std::string_view text);
  bool skip_name(std::string_view text);
  void expect_operator(std::string_view text);
  void expect_name(std::string_view text);
  std::string expect_any_name();
  void expect_block_end();
  [[noreturn]] void unexpected(std::string_view expected) const;

  // Expressions, lowest binding first.
  ExprPtr expression(bool with_condition = true);
  ExprPtr conditional();
  ExprPtr or_();
  ExprPtr and_();
  ExprPtr not_();
  ExprPtr comparison();
  ExprPtr sum();
  ExprPtr concat();
  ExprPtr product();
  ExprPtr power();
  ExprPtr unary(bool with_filter = true);
  ExprPtr primary();
  ExprPtr postfix(ExprPtr expr);
  ExprPtr filters_and_tests(ExprPtr expr);
  ExprPtr filter_chain(ExprPtr input, bool start_inline);
  ExprPtr test(ExprPtr input);
  ExprPtr call(ExprPtr callee);
  ExprPtr subscript(ExprPtr owner);
  ExprPtr dict();
  // One expression, or a tuple of several without parentheses.
  enum class TupleEnd { kPlain, kRecursive };
  ExprPtr tuple(bool with_condition = true, bool in_parentheses = false, TupleEnd end = TupleEnd::kPlain);
  void arguments(Expr& call);
  std::string dotted_name();

  ExprPtr node(ExprKind kind, int line, std::vector<ExprPtr> parts = {});
  void measure(Expr& expr) const;
  template <class Operand>
  ExprPtr fold(ExprKind kind, Operand operand, std::initializer_list<std::pair<std::string_view, Op>> operators);

  // Statements.
  // `opened`: the line of the tag whose body this is.
  Body body(std::initializer_list<std::string_view> ends, int opened = 0);
  std::unique_ptr<Statement> statement();
  std::unique_ptr<Statement> make(StatementKind kind) const;
  std::unique_ptr<Statement> if_();
  std::unique_ptr<Statement> for_();
  std::unique_ptr<Statement> set();
  std::unique_ptr<Statement> macro();
  std::unique_ptr<Statement> call_block();
  std::unique_ptr<Statement> filter_block();
  std::unique_ptr<Statement> with();
  std::unique_ptr<Statement> block();
  std::unique_ptr<Statement> autoescape();
  std::unique_ptr<Statement> generation();
  std::unique_ptr<Statement> loop_control(bool is_break);
  void closed_body(Statement& s, std::string_view end, bool keeps_loop);
  Parameters parameters();
  Target target(bool with_namespace, bool in_for);
  Target target_item(bool with_namespace);
  Target name_target();

  // Held while one level deeper; a source may nest as deep as it likes, the stack may not.
  class Level {
   public:
    explicit Level(Parser& parser);
    ~Level() { --parser_.depth_; }
    Level(const Level&) = delete;

   private:
    Parser& parser_;
  };

  Program& program_;
  std::vector<Token> tokens_;
  const TemplateLimits& limits_;
  size_t at_ = 0;
  int depth_ = 0;
  int loops_ = 0;           // loops around this point, also beyond macros: `loop` may not be set in any
  bool may_break_ = false;  // directly in a loop
  // What the macro or call block being read mentions.
  struct Mentions {
    bool varargs = false, kwargs = false, caller = false;
  };
  Mentions mentions_;
};

}  // namespace ingle::jinja
