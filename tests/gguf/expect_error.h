// Expecting one Error with its code and a part of its message.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "ingle/error.h"

namespace ingle::test {

template <class Call>
void expect_error(Call call, ErrorCode code, std::string_view part) {
  try {
    call();
    ADD_FAILURE() << "no error, expected: " << part;
  } catch (const Error& error) {
    EXPECT_EQ(static_cast<int>(error.code()), static_cast<int>(code)) << error.what();
    EXPECT_NE(std::string_view(error.what()).find(part), std::string_view::npos)
        << "message:  " << error.what() << "\nexpected: " << part;
  }
}

}  // namespace ingle::test
