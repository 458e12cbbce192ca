// SPDX-License-Identifier: Apache-2.0
// Builds an index of documents with a model, and changes one that is there.
//
//   NewIndexOptions options;
//   options.model = "sentence-transformers/all-MiniLM-L6-v2";
//   IndexWriter writer = IndexWriter::create("kb", options);
//   writer.add(documents);
//   writer.commit();
//
// Documents are cut into passages and embedded as the index says, some thousand at a time. To store
// vectors of another origin, see index_builder.h and search_index.h.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "simile/data/ranking_files.h"
#include "simile/index/index_builder.h"
#include "simile/index/index_model.h"
#include "simile/index/search_index.h"

namespace simile {

struct NewIndexOptions : IndexModelOptions {  // the model is needed
  PassageOptions passages;
  std::optional<std::vector<std::string>> metadata;  // see IndexedModel
  StoredNumber vectors = StoredNumber::kFp32;
  std::string language = "none";         // see IndexedModel
  std::optional<SearchSettings> search;  // none: as the model's folder says
  bool overwrite = false;
  UnfinishedBuild unfinished = UnfinishedBuild::kForget;
};

class IndexWriter {
 public:
  // A new index, which readers do not see before commit(). Errors: those of IndexBuilder and
  // PassageSplitter; kInput for a model that cannot be read.
  static IndexWriter create(const std::string& path, const NewIndexOptions& options,
                            EventSink& events = silent_events());

  // An index that is there: each call is a change of its own, all or nothing, but add_corpus()
  // makes one of every few thousand documents. The model is read when documents are first
  // added. Errors: kInput for a model that is not the index's; kUsage for another precision or
  // prompt than that of its vectors.
  static IndexWriter open(const std::string& path, const IndexModelOptions& options = {},
                          EventSink& events = silent_events());

  IndexWriter(IndexWriter&&) noexcept;
  ~IndexWriter();

  struct Added {
    int64_t documents = 0;
    int64_t replaced = 0;  // of an index that is there: that had the id of one that was added
  };

  // Adds documents, split into passages, and replaces those with the same ids.
  Added add(std::vector<Document> documents);

  // Adds the documents of a table (simile/data/ranking_files.h). Warns of cut texts, empty texts
  // and problems that the reader met. Where `columns` names no metadata, an index that is there
  // keeps the columns that it was built with; the name "" is for none. Errors (kInput): such a
  // column is missing, or a document that is replaced has metadata in another one. An error says
  // how many documents were added before it to an index that is there.
  Added add_corpus(const std::string& path, CorpusColumns columns = {});

  // The index, to be changed. Errors (kUsage): it is a new one.
  SearchIndex& index();
  // SearchIndex::change_metadata() from the columns of a table with ids, by default all others but
  // text and title; a column that is named and empty in a row is removed. All rows are one change.
  int64_t change_metadata(const std::string& path, CorpusColumns columns);
  // SearchIndex::merge(). `approximate` replaces the index's own options, and the graph is rebuilt.
  void merge(const std::optional<ApproximateOptions>& approximate = {});

  // Completes a new index. Warns if no graph could be made.
  void commit();

 private:
  struct Parts;
  explicit IndexWriter(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

// IndexBuilder::commit() for the index at `path`, with its progress (task "graph"), and a warning
// if no graph could be made.
void commit_index(IndexBuilder& builder, const std::string& path, EventSink& events);

}  // namespace simile
