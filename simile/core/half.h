// SPDX-License-Identifier: Apache-2.0
// Numbers of 16 bits: IEEE half precision (1 sign, 5 exponent, 10 fraction bits) and bfloat16 (the
// upper half of a float). To float is exact; from float rounds to the nearest, ties to even, and
// beyond the largest half (65504) to infinity.
#pragma once

#include <cstdint>

namespace simile {

float half_to_float(uint16_t half);
uint16_t float_to_half(float value);
float bfloat16_to_float(uint16_t half);
uint16_t float_to_bfloat16(float value);

// Many halves that need not be aligned, as they lie in files.
void halves_to_floats(const void* halves, int64_t count, float* out);

// Replaces each number by its nearest half, as a model saved in half precision uses it.
void round_to_halves(float* values, int64_t count);

}  // namespace simile
