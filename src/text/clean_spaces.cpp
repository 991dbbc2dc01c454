#include "text/clean_spaces.h"

namespace ingle {
namespace {

// Whether the space before `rest` goes.
bool swallows_space(std::string_view rest) noexcept {
  for (std::string_view sign : {"?", "!", ".", ",", "'s", "'m", "'re", "'ve"}) {
    if (rest.starts_with(sign)) return true;
  }
  return false;
}

}  // namespace

std::string clean_spaces(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    if (text.starts_with(" ' ")) {
      out += '\'';
      text.remove_prefix(3);
    } else if (text.front() == ' ' && swallows_space(text.substr(1))) {
      text.remove_prefix(1);
    } else {
      out += text.front();
      text.remove_prefix(1);
    }
  }
  return out;
}

}  // namespace ingle
