// SPDX-License-Identifier: Apache-2.0
// The merges that a sentencepiece BPE model does not store.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "simile/text/sentencepiece_model.h"

namespace simile::detail {

// Every way to cut a piece into two pieces of the model, in the order in which a BPE tokeniser is
// to join them: by falling score of the whole, then falling length, in characters, of the left and
// right part, then as the pieces stand in the file, the left part of smaller id first. Views into
// `model`.
std::vector<std::pair<std::string_view, std::string_view>> list_sentencepiece_merges(
    const SentencePieceModel& model);

}  // namespace simile::detail
