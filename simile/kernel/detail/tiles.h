// SPDX-License-Identifier: Apache-2.0
// Whether this process may use tiles (AMX), for products of these numbers. The system is asked for
// them once; all threads have them then.
#pragma once

namespace simile {

enum class TileNumbers { kBfloat, kByte };

bool has_tiles(TileNumbers numbers);

}  // namespace simile
