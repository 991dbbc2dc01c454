// The one exception type of ingle. A message names the thing and the numbers:
// "blk.3.attn_q.weight: ends at 8192, file has 4096 bytes".
#pragma once

#include <stdexcept>
#include <string>

namespace ingle {

enum class ErrorCode {
  kInvalidArgument,  // an option, request or call that makes no sense: the caller can mend it
  kNotFound,         // a file, model, tensor or token that is not there
  kInvalidFile,      // bytes from outside that are not what they say they are
  kUnsupported,      // well formed, but nothing here implements it
  kOutOfMemory,      // a budget or the machine is too small; says how much was wanted
  kIo,               // reading or writing failed (permission, full disk, closed pipe)
  kCancelled,        // the caller asked to stop
  kInternal,         // our own mistake
};

class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ErrorCode code() const noexcept { return code_; }

 private:
  ErrorCode code_;
};

}  // namespace ingle
