// Messages of several lines, typed line by line: a line that ends in \ goes on, and """ opens and closes a block.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ingle::app {

class LineJoiner {
 public:
  // The whole message once it is complete; nullopt while more lines are wanted. Several lines in one are a paste:
  // quotes that open it and close elsewhere than at its end are its own.
  std::optional<std::string> add(std::string_view line);
  bool pending() const noexcept { return pending_; }
  void reset();

 private:
  std::string text_;
  bool pending_ = false, block_ = false;
};

}  // namespace ingle::app
