// SPDX-License-Identifier: Apache-2.0
// Which columns of a corpus an index keeps with its documents.
#pragma once

#include "simile/data/ranking_files.h"
#include "simile/index/search_index.h"

namespace simile::cli {

// `--metadata ''` names none.
void drop_empty_names(CorpusColumns& columns);

// Takes over the columns that the index was built with. Errors (kInput): the corpus has not all of
// them; its documents would replace others that have such values. Or it is a .jsonl that cannot be
// read twice: what columns that has is known when it was read.
void take_metadata_of(const IndexInfo& info, const std::string& corpus, CorpusColumns& columns);

// That of the documents which these replace none has metadata but in the columns that are kept.
// Errors (kInput), with the id: one has, as documents do that came over HTTP or into an index that
// does not say what columns it was built with.
void check_metadata_lives_on(const SearchIndex& index, const std::vector<Document>& documents,
                             const CorpusColumns& columns);

}  // namespace simile::cli
