// SPDX-License-Identifier: Apache-2.0
// What losses are called elsewhere.
#pragma once

#include <string>

namespace simile {

// "; MultipleNegativesRankingLoss is `loss: mnrl` here", of the longest name of a loss of
// sentence-transformers that stands in `text`, in any case; otherwise an empty text.
std::string hint_of_foreign_loss(const std::string& text);

}  // namespace simile
