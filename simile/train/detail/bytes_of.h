// SPDX-License-Identifier: Apache-2.0
// The memory of numbers as text, for fingerprints.
#pragma once

#include <string_view>
#include <vector>

namespace simile::detail {

template <typename T>
std::string_view bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

}  // namespace simile::detail
