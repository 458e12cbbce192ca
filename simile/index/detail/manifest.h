// SPDX-License-Identifier: Apache-2.0
// manifest.json of an index folder and the names of its files.
#pragma once

#include <string>
#include <vector>

#include "simile/index/search_index.h"

namespace simile::detail {

constexpr const char* kManifest = "manifest.json";

std::string vectors_path(const std::string& folder, int64_t generation);
std::string documents_path(const std::string& folder);

// Written once, when the index is made. Its member "checksum" is the hash of all others.
void write_manifest(const std::string& folder, const IndexedModel& model);
// Errors (kInput): missing, damaged, of another format.
IndexedModel read_manifest(const std::string& folder);

// Whose the vectors of a generation are, for VectorIndex: a hash of the manifest and the number.
std::string vectors_owner(const IndexedModel& model, int64_t generation);

// Checks documents and vectors for one another and for numbers that are not finite (kInput).
void check_documents(const std::vector<Document>& documents, const Matrix<float>& vectors,
                     int64_t dimension);

// documents[i] under added[i].
std::vector<VectorKey> vector_keys(const std::vector<int64_t>& added,
                                   const std::vector<Document>& documents);

}  // namespace simile::detail
