// SPDX-License-Identifier: Apache-2.0
// An index and the model its vectors came from.
#pragma once

#include <string>

#include "cli/model.h"
#include "simile/index/search_index.h"

namespace simile::cli {

// What an index remembers of a model: its absolute folder, or the name of a built-in one. Errors:
// ErrorKind::kInput when the model compares vectors in a way that an index cannot.
IndexedModel indexed_model(const std::string& model, const SentenceEncoder& encoder,
                           const ModelOptions& options);

// Errors: ErrorKind::kInput when the index holds vectors of another model.
SearchIndex open_index(const std::string& index, const std::string& model,
                       SearchIndex::Access access = SearchIndex::Access::kRead);

// Where no number of dimensions, or no precision, was asked for, takes that of the index.
void keep_settings(const IndexInfo& index, ModelOptions& options);

}  // namespace simile::cli
