// SPDX-License-Identifier: Apache-2.0
// Builds an index (search_index.h) from documents and their vectors.
//
// The index grows in the folder PATH.building and replaces PATH when it is complete; a reader sees
// the old index or the new one. Until then PATH.building holds
//
//   documents.sqlite         the documents added so far (document_store.h)
//   building/manifest.json   the model; only in a build that can be resumed
//   building/segments/       the vectors of the documents, in fp32
//
// Each add() is committed, so a build that was killed is an index of its first documents. commit()
// writes the final segments, as an index of this model has them, and the manifest.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "simile/core/matrix.h"
#include "simile/index/document_store.h"
#include "simile/index/indexed_model.h"
#include "simile/index/search_settings.h"

namespace simile {

// Decides about the documents of a build that ends before commit(), even if it is killed. kForget
// drops them, kKeep keeps them for a build that resumes; kResume continues them, and keeps.
enum class UnfinishedBuild { kForget, kKeep, kResume };

// Errors (kUsage): a file or a folder of something else is at `path`; an index is there and
// `replaces` is false; documents of an earlier build were kept, and neither `replaces` nor kResume
// says what to do with them; another process is building there.
//
// A build that resumes is given the same documents in the same order; it makes the same index as a
// build that was never interrupted. It starts from the beginning if nothing was kept. Errors
// (kInput): another model or other documents than those kept.
class IndexBuilder {
 public:
  IndexBuilder(const std::string& path, const IndexedModel& model, bool replaces = true,
               const SearchSettings& settings = {},
               UnfinishedBuild unfinished = UnfinishedBuild::kForget);
  ~IndexBuilder();

  // Skips the next documents if the interrupted build has them; do not add() them then. False if it
  // has none of them. Errors (kInput): it has other documents there.
  bool skip(const std::vector<Document>& documents);

  // `vectors` [vectors, dimension] are those of the documents one after another, of each document
  // with passages those of its passages. A document replaces an earlier one with its id. Errors
  // (kInput): an id given twice in one call; vectors or metadata that an index cannot hold.
  void add(const std::vector<Document>& documents, const Matrix<float>& vectors);

  // Completes the index: measures the recall of vectors that are not kept in fp32, if the model has
  // none, and makes the graph that the settings ask for. Returns why there is no graph if making it
  // failed; the index is complete without. Errors (kInput): fewer documents than were kept.
  std::optional<std::string> commit(const GraphProgress& progress = {});

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace simile
