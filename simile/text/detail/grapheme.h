// SPDX-License-Identifier: Apache-2.0
// Where a user-perceived character ends: extended grapheme clusters, Unicode Standard Annex 29
// (rules GB3 to GB13, with the conjuncts of GB9c), with the character data of ICU.
#pragma once

#include <cstddef>
#include <string_view>

namespace simile::detail {

// The end of the cluster that starts at text[begin]. `text` is valid UTF-8, `begin` the start of a
// cluster below text.size().
size_t grapheme_end(std::string_view text, size_t begin);

}  // namespace simile::detail
