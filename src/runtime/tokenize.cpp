#include "runtime/tokenize.h"

#include <algorithm>

#include "base/error.h"

namespace ingle {

std::vector<TokenId> tokenize(const Tokenizer& tokenizer, std::string_view text, const TokenizeOptions& options) {
  const auto encode = [&](bool add_special) { return tokenizer.encode(text, {add_special, options.parse_special}); };
  std::vector<TokenId> tokens = encode(options.add_special);
  const auto count = static_cast<int64_t>(tokens.size());
  if (options.most == 0 || count <= options.most) return tokens;
  const std::vector<TokenId> own = encode(false);
  const int64_t around = count - static_cast<int64_t>(own.size());
  if (options.most <= around) {
    throw_error(ErrorCode::kInvalidArgument, "{} tokens have no room for a text beside the {} that begin and end it",
                options.most, around);
  }
  const auto text_begin = std::search(tokens.begin(), tokens.end(), own.begin(), own.end());
  INGLE_CHECK(text_begin != tokens.end());
  tokens.erase(text_begin + (options.most - around), text_begin + std::ssize(own));
  return tokens;
}

}  // namespace ingle
