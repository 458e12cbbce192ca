// SPDX-License-Identifier: Apache-2.0
// An index folder (search_index.h), described and checked without a model.
#pragma once

#include <string>
#include <vector>

#include "simile/index/indexed_model.h"

namespace simile {

// Whether an index, whole or damaged, is at `path`.
bool is_index(const std::string& path);

// Describes the index without reading its vectors. Errors (kInput): a damaged or missing file.
IndexInfo read_index_info(const std::string& path);

// Errors (kInput): the model `given` with this fingerprint is not the one of the index.
void check_fingerprint(const std::string& path, const IndexedModel& model,
                       const std::string& fingerprint, const std::string& given);

struct IndexCheck {
  IndexInfo info;
  std::vector<std::string> unused_files;  // in the folder, but not part of the index
};

// Reads and verifies the whole folder. Errors (kInput): those of SearchIndex::open(), and for any
// document that is damaged, missing or superfluous.
IndexCheck check_index(const std::string& path);

// Copies one generation of the index into a new folder and verifies the copy; others may search and
// change the index meanwhile. Errors: kUsage for a folder that is there already; those of
// check_index(); kIo when writing fails. Then there is no new folder.
IndexInfo copy_index(const std::string& path, const std::string& copy);

}  // namespace simile
