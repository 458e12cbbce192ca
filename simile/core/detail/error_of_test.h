// SPDX-License-Identifier: Apache-2.0
// For tests: what a call has to say for itself.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "simile/core/error.h"

namespace simile {

// The message of the simile::Error that `body` throws, or an empty text.
template <typename Body>
std::string error_of(const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// The same; the error should be of this kind.
template <typename Body>
std::string error_of(ErrorKind kind, const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    return error.what();
  }
  return "";
}

}  // namespace simile
