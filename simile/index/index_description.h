// SPDX-License-Identifier: Apache-2.0
// What an index says of itself, in a file beside its exported vectors, so that an index can be made
// of them again: the model and how a search goes.
#pragma once

#include <string>

#include "simile/index/indexed_model.h"
#include "simile/index/search_settings.h"

namespace simile {

struct IndexDescription {
  IndexedModel model;
  SearchSettings settings;
};

void write_index_description(const std::string& path, const IndexDescription& description);

// Errors (kInput): a file that is missing, damaged or of another format.
IndexDescription read_index_description(const std::string& path);

}  // namespace simile
