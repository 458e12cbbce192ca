// SPDX-License-Identifier: Apache-2.0
// Builds an index (search_index.h) from documents and their vectors.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "simile/core/matrix.h"
#include "simile/index/document_store.h"
#include "simile/index/indexed_model.h"
#include "simile/index/search_settings.h"

namespace simile {

// What becomes of the vectors of a build that ends without commit(), be it killed: they are
// forgotten, or kept in the file PATH.building, so that a build that resumes goes on with them.
enum class UnfinishedBuild { kForget, kKeep, kResume };

// Makes an index in pieces; no more than an empty folder is at `path` before commit(), which
// replaces an index there. Of several processes that build at one path the first goes on. Errors:
// kUsage when a folder that is not an index and not empty stands at `path`, when an index does and
// `replaces` is false, and while another process builds there.
//
// A build that resumes gets the same documents in the same calls as the one that was interrupted,
// and makes the same index. kKeep with `replaces` false does not forget what another has kept
// (kUsage); kResume where nothing is kept begins anew. Errors (kInput): another model.
class IndexBuilder {
 public:
  IndexBuilder(const std::string& path, const IndexedModel& model, bool replaces = true,
               const SearchSettings& settings = {},
               UnfinishedBuild unfinished = UnfinishedBuild::kForget);
  ~IndexBuilder();
  // The vectors that were kept of these documents, which are to be added next; nothing where the
  // build that was interrupted had not come to them. Errors (kInput): it had other documents here.
  std::optional<Matrix<float>> kept_vectors(const std::vector<Document>& documents);
  // `vectors` [vectors, dimension] are those of the documents, one after the other, and of each
  // those of its passages. A later document with the same id replaces the earlier one, but twice in
  // one call is an error (kInput).
  void add(const std::vector<Document>& documents, const Matrix<float>& vectors);
  // Measures the recall of vectors that are not kept in floats, where the model has none, and
  // builds the graph that the settings ask for. Returns why there is none, where making it failed:
  // the index is as good without. Errors (kInput): fewer documents than the build that was
  // interrupted had.
  std::optional<std::string> commit(const GraphProgress& progress = {});

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

// Fills in the documents of the next call of add(), in their order; false: there are no more.
using NextDocuments = std::function<bool(std::vector<Document>&)>;

// Whether the build that is to be resumed, of these documents and this model, had been killed after
// its commit(): then nothing is left to do, and what it left beside the index is removed. Where one
// of others had been, the index that it made stands. Errors (kUsage): another process builds there.
bool finish_killed_build(const std::string& path, const IndexedModel& model,
                         const NextDocuments& next);

}  // namespace simile
