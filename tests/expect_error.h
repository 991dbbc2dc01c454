// Expecting one Error with its code and its message, or a part of it.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "ingle/error.h"

namespace ingle::test {

// The message of the error that `call` throws, which must have this code.
template <class Call>
std::string error_of(ErrorCode code, Call call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(static_cast<int>(error.code()), static_cast<int>(code)) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return {};
}

template <class Call>
void expect_error(Call call, ErrorCode code, std::string_view part) {
  const std::string message = error_of(code, call);
  EXPECT_NE(message.find(part), std::string::npos) << "message:  " << message << "\nexpected: " << part;
}

}  // namespace ingle::test
