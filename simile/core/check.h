// SPDX-License-Identifier: Apache-2.0
// How sources throw simile::Error. A message is a text as it stands, or a format of fmt and its
// arguments; it is only made when it is thrown.
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

template <typename... Message>
[[noreturn]] void throw_error(ErrorKind kind, Message&&... message) {
  throw Error(kind, detail::message_text(std::forward<Message>(message)...));
}

}  // namespace simile

// Throws simile::Error of the given kind when a condition about the user's input does not hold.
// Our own mistakes are `assert`s.
#define SIMILE_CHECK(condition, kind, ...)                                                      \
  do {                                                                                          \
    if (!(condition)) throw ::simile::Error(kind, ::simile::detail::message_text(__VA_ARGS__)); \
  } while (false)
