// SPDX-License-Identifier: Apache-2.0
// Matrices stored in a quarter of the space: one byte a number and one scale a row.
//
//   scale_r = max_c |W_rc| / 127, rounded up to 17 significant bits;  Q_rc = round(W_rc / scale_r)
//
// Hence |W - scale Q| <= scale / 2, and Q scale is exact in a float: quantising it again gives the
// same Q and the same scale. A row of zeros has the scale 0.
#pragma once

#include <cstdint>

namespace simile {

// values [rows, columns] -> numbers [rows, columns] from -127 to 127 and scales [rows]. Returns
// false, with the output not to be used, when a value is not finite.
bool quantise_rows(const float* values, int64_t rows, int64_t columns, int8_t* numbers,
                   float* scales);

}  // namespace simile
