// SPDX-License-Identifier: Apache-2.0
// The files of an index folder: their names, and manifest.json, search.json and the description of
// an export. For sources only.
#pragma once

#include <string>
#include <vector>

#include "simile/core/detail/json.h"
#include "simile/core/matrix.h"
#include "simile/index/document_store.h"
#include "simile/index/indexed_model.h"
#include "simile/index/search_settings.h"
#include "simile/index/segment_file.h"

namespace simile::detail {

constexpr const char* kManifest = "manifest.json";
constexpr const char* kDocuments = "documents.sqlite";
constexpr const char* kSearch = "search.json";  // search_settings.h
constexpr const char* kSegments = "segments";   // the folder of the segments

std::string documents_path(const std::string& folder);
std::string segments_path(const std::string& folder);
std::string segment_name(int64_t number);
std::string graph_name(int64_t number);
std::string graph_path(const std::string& folder, int64_t number);
std::string segment_path(const std::string& folder, int64_t number);

// Written once, when the index is made. Its member "checksum" is the hash of all others.
void write_manifest(const std::string& folder, const IndexedModel& model);
// Errors (kInput): missing, damaged, of another format.
IndexedModel read_manifest(const std::string& folder);

// The expected kind of segment `number`; its owner is a hash of the manifest and the number.
SegmentKind segment_kind(const IndexedModel& model, int64_t number);

// Checks documents and vectors for one another, for metadata that are none or too large, for
// passages that are none or not wanted, and for numbers that are not finite (kInput).
void check_documents(const std::vector<Document>& documents, const Matrix<float>& vectors,
                     const IndexedModel& model);

// The members of manifest.json, without the seal.
Json manifest_json(const IndexedModel& model);

// The description of an index in a file beside its exported vectors, so that they can become an
// index again: the model and the search settings.
struct IndexDescription {
  IndexedModel model;
  SearchSettings settings;
};

// Beside the export with this name.
std::string description_path(const std::string& output);

void write_index_description(const std::string& path, const IndexDescription& description);
// Errors (kInput): a file that is missing, damaged or of another format.
IndexDescription read_index_description(const std::string& path);

}  // namespace simile::detail
