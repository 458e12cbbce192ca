// SPDX-License-Identifier: Apache-2.0
#include "simile/neighbours/stored_vectors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cassert>
#include <cstring>
#include <limits>

#include "simile/core/error.h"
#include "simile/core/half.h"
#include "simile/kernel/byte_kernels.h"

namespace simile {
namespace {

void store_halves(const float* vector, int64_t D, char* out) {
  for (int64_t d = 0; d < D; ++d) {
    const uint16_t half = float_to_half(vector[d]);
    std::memcpy(out + d * static_cast<int64_t>(sizeof half), &half, sizeof half);
  }
}

void store_bytes(const float* vector, int64_t D, char* out) {
  float scale;
  const bool finite =
      quantise_rows(vector, 1, D, reinterpret_cast<int8_t*>(out + sizeof scale), &scale);
  assert(finite);
  static_cast<void>(finite);
  std::memcpy(out, &scale, sizeof scale);
}

}  // namespace

const std::vector<std::string>& stored_number_names() {
  static const std::vector<std::string> names = {"fp32", "fp16", "int8"};
  return names;
}

const std::string& number_name(StoredNumber number) {
  return stored_number_names()[static_cast<size_t>(number)];
}

StoredNumber parse_stored_number(const std::string& name) {
  const auto& names = stored_number_names();
  const auto found = std::find(names.begin(), names.end(), name);
  SIMILE_CHECK(found != names.end(), ErrorKind::kUsage,
               fmt::format("vectors: expected {}, found '{}'", fmt::join(names, ", "), name));
  return static_cast<StoredNumber>(found - names.begin());
}

float largest_number(StoredNumber number) {
  // Of bytes 127 s must be finite too, where s was rounded up.
  return number == StoredNumber::kFp32   ? std::numeric_limits<float>::max()
         : number == StoredNumber::kFp16 ? 65504.0f
                                         : 1e38f;
}

void StoredRows::read(int64_t i, float* out) const {
  const char* const from = row(i);
  if (number == StoredNumber::kFp32) {
    std::memcpy(out, from, static_cast<size_t>(D) * sizeof(float));
  } else if (number == StoredNumber::kFp16) {
    halves_to_floats(from, D, out);
  } else {
    float scale;
    std::memcpy(&scale, from, sizeof scale);
    const auto* const numbers = reinterpret_cast<const int8_t*>(from + sizeof scale);
    for (int64_t d = 0; d < D; ++d) out[d] = scale * static_cast<float>(numbers[d]);
  }
}

void store_rows(const float* vectors, int64_t count, int64_t D, StoredNumber number, char* out) {
  if (number == StoredNumber::kFp32) {
    const auto bytes = static_cast<size_t>(stored_bytes(number, D) * count);
    if (bytes > 0) std::memcpy(out, vectors, bytes);
    return;
  }
  const auto store = number == StoredNumber::kFp16 ? store_halves : store_bytes;
  for (int64_t i = 0; i < count; ++i) {
    store(vectors + i * D, D, out + i * stored_bytes(number, D));
  }
}

}  // namespace simile
