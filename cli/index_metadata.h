// SPDX-License-Identifier: Apache-2.0
// Which columns of a corpus an index keeps with its documents.
#pragma once

#include "simile/data/corpus.h"
#include "simile/index/search_index.h"

namespace simile::cli {

// `--metadata ''` names none.
void drop_empty_names(CorpusColumns& columns);

// Takes over the columns that the index was built with. Errors (kInput): the corpus has not all of
// them; its documents would replace others that have such values.
void take_metadata_of(const IndexInfo& info, const std::string& corpus, CorpusColumns& columns);

}  // namespace simile::cli
