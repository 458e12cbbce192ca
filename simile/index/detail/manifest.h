// SPDX-License-Identifier: Apache-2.0
// manifest.json of an index folder and the names of its files.
#pragma once

#include <string>

#include "simile/index/search_index.h"

namespace simile::detail {

constexpr const char* kManifest = "manifest.json";

std::string vectors_path(const std::string& folder, int64_t generation);
std::string documents_path(const std::string& folder);

void write_manifest(const std::string& folder, const IndexInfo& info);
// Everything but the generation. Errors (kInput): missing, damaged, of a later format.
IndexInfo read_manifest(const std::string& folder);

// Checks documents and vectors for one another and for numbers that are not finite (kInput).
void check_documents(const std::vector<Document>& documents, const Matrix<float>& vectors,
                     int64_t dimension);

}  // namespace simile::detail
