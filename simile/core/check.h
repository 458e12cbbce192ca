// SPDX-License-Identifier: Apache-2.0
// How sources throw simile::Error. A message is a plain text, or a format of fmt with arguments; it
// is only formatted when it is thrown.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>

#include "simile/core/error.h"

namespace simile::detail {

inline std::string message_text(std::string text) { return text; }

template <typename First, typename... Rest>
std::string message_text(fmt::format_string<First, Rest...> form, First&& first, Rest&&... rest) {
  return fmt::format(form, std::forward<First>(first), std::forward<Rest>(rest)...);
}

}  // namespace simile::detail

namespace simile {

[[noreturn]] inline void throw_error(ErrorKind kind, const std::string& message) {
  throw Error(kind, message);
}

template <typename First, typename... Rest>
[[noreturn]] void throw_error(ErrorKind kind, fmt::format_string<First, Rest...> form,
                              First&& first, Rest&&... rest) {
  throw Error(kind, fmt::format(form, std::forward<First>(first), std::forward<Rest>(rest)...));
}

}  // namespace simile

// Throws simile::Error of the given kind when a condition about the user's input does not hold.
// Our own mistakes are `assert`s.
#define SIMILE_CHECK(condition, kind, ...)                                                      \
  do {                                                                                          \
    if (!(condition)) throw ::simile::Error(kind, ::simile::detail::message_text(__VA_ARGS__)); \
  } while (false)
