#include "base/error.h"

namespace ingle {

void check_failed(const char* condition, const char* file, int line) {
  throw_error(ErrorCode::kInternal, "internal error: {} does not hold ({}:{}); please report it", condition, file,
              line);
}

}  // namespace ingle
