// SPDX-License-Identifier: Apache-2.0
#include "simile/core/half.h"

#include <cmath>
#include <cstring>

namespace simile {
namespace {

uint32_t bits_of(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

float float_of(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// All three cases are computed and one is chosen, so that loops become vector instructions.
inline float widen(uint16_t half) {
  constexpr uint32_t kRebias = 112u << 23;  // a float's exponent is 127 too large, a half's 15
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16;
  const uint32_t shifted = static_cast<uint32_t>(half & 0x7fffu) << 13;
  const uint32_t exponent = shifted & (0x1fu << 23);
  const uint32_t normal = shifted + kRebias;
  const float subnormal = float_of(normal + (1u << 23)) - 0x1p-14f;
  const uint32_t tiny_or_normal = exponent == 0 ? bits_of(subnormal) : normal;
  const uint32_t magnitude = exponent == (0x1fu << 23) ? normal + kRebias : tiny_or_normal;
  return float_of(sign | magnitude);
}

}  // namespace

float half_to_float(uint16_t half) { return widen(half); }

uint16_t float_to_half(float value) {
  const uint32_t bits = bits_of(value);
  const auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u);
  if (magnitude >= 0x477ff000u)
    return static_cast<uint16_t>(sign | 0x7c00u);  // rounds beyond 65504
  if (magnitude < 0x38800000u) {  // below 2^-14: a multiple of 2^-24, rounded by nearbyint
    const float steps = std::nearbyint(std::ldexp(float_of(magnitude), 24));
    return static_cast<uint16_t>(sign | static_cast<uint16_t>(steps));
  }
  const uint32_t odd = (magnitude >> 13) & 1u;
  const uint32_t rounded = magnitude + 0xfffu + odd;
  return static_cast<uint16_t>(sign | ((rounded >> 13) - (112u << 10)));
}

float bfloat16_to_float(uint16_t half) { return float_of(static_cast<uint32_t>(half) << 16); }

uint16_t float_to_bfloat16(float value) {
  const uint32_t bits = bits_of(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((bits >> 16) | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

void halves_to_floats(const void* halves, int64_t count, float* out) {
  const char* from = static_cast<const char*>(halves);
  for (int64_t i = 0; i < count; ++i) {
    uint16_t half;
    std::memcpy(&half, from + 2 * i, sizeof half);
    out[i] = widen(half);
  }
}

void round_to_halves(float* values, int64_t count) {
  for (int64_t i = 0; i < count; ++i) values[i] = half_to_float(float_to_half(values[i]));
}

}  // namespace simile
