// SPDX-License-Identifier: Apache-2.0
// English function words, which say nothing of what a text is about.
#pragma once

#include <string>
#include <vector>

namespace simile::detail {

// As split_words() gives them: in lower case, contractions in their parts ("don't": "don", "t").
const std::vector<std::string>& english_stop_words();

}  // namespace simile::detail
