// SPDX-License-Identifier: Apache-2.0
// An index with its model, to be searched.
//
//   const Searcher searcher = Searcher::open("kb");
//   for (const FoundDocument& hit : searcher.search("forgot my password")) std::puts(hit.id.c_str());
//
// The model, precision, dimensions and prompt are those that the index was built with, and a search
// uses the index's settings, unless options or the request say otherwise. The program, the server
// and the examples search through this class, so that they give the same hits.
#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "simile/index/index_model.h"
#include "simile/index/reranker.h"
#include "simile/index/search_index.h"
#include "simile/index/search_request.h"

namespace simile {

struct SearcherOptions : IndexModelOptions {
  std::string reranker;  // a model with a head that reads query and text together; empty: none
};

// Computes the parts of a search. The default, of Searcher::open(), computes on the calling thread;
// a server hands them to workers that batch the texts of several requests.
class SearchWork {
 public:
  using Results = std::vector<std::vector<SearchHit>>;  // of each query

  virtual ~SearchWork() = default;
  // Vectors [queries, dimension], as the index's own are made.
  virtual Matrix<float> embed(const std::vector<std::string>& queries,
                              const std::string& prompt_name) = 0;
  // Reranker::rerank() of each query's hits.
  virtual void rerank(const std::vector<std::string>& queries, int64_t top_k, Results& results) = 0;
  // Calls work(), which owns its data and searches for `queries` queries.
  virtual void run(const std::function<void()>& work, int64_t queries) = 0;
  // Number of queries, with `hits` hits each, that are searched together; 0: all.
  virtual int64_t queries_together(int64_t /*hits*/) const { return 0; }
  // Most bytes of ids, titles, texts and metadata on a page, which may be shorter than requested.
  virtual int64_t page_bytes() const { return std::numeric_limits<int64_t>::max(); }
  // Called before hits are seen, and again when they are looked for again, as the index changed.
  virtual void begin_to_see() {}
  // Called with the hits of each query; may drop texts that are not shown.
  virtual void see(std::vector<SearchHit>& /*hits*/) {}
};

// May be used by several threads at once if its work may.
class Searcher {
 public:
  // Reads the models when a search first needs them. Progress: tasks "embed" and "rerank". Errors
  // (kInput): those of SearchIndex::open_without_model().
  static Searcher open(const std::string& path, const SearcherOptions& options = {},
                       EventSink& events = silent_events());

  // Searches an index that is open, with its settings.
  Searcher(std::shared_ptr<const SearchIndex> index, const SearchSettings& settings,
           std::shared_ptr<SearchWork> work);

  // Errors: those of SearchRequest::check() and of SearchIndex::search(); kInput for an index of
  // another model and for an id of `like` that is not there.
  SearchReply search(const SearchRequest& request) const;

  // A page of the index's documents. Errors: OptionError (kUsage) for an invalid filter or facet
  // and for a cursor that no page returned; those of SearchIndex::count().
  ListReply list(const ListRequest& request) const;

  // The documents nearest to a text, best first, as the index is searched by default.
  std::vector<FoundDocument> search(const std::string& query, int64_t top_k = 10) const;

  const SearchIndex& index() const { return *index_; }

 private:
  SearchWork::Results find(const SearchRequest& request, const SearchSettings& settings,
                           std::vector<MatchCounts>& counts) const;
  SearchWork::Results find_like(const SearchRequest& request, const SearchSettings& settings) const;
  void check_dimension(int64_t numbers) const;
  std::vector<std::string> explain_no_hits(const MetadataFilter& filter) const;

  std::shared_ptr<const SearchIndex> index_;
  SearchSettings settings_;
  std::shared_ptr<SearchWork> work_;
};

}  // namespace simile
