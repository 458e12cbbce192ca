// SPDX-License-Identifier: Apache-2.0
#include "simile/index/searcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "simile/core/block_progress.h"
#include "simile/core/check.h"
#include "simile/index/index_folder.h"
#include "simile/text/words.h"

namespace simile {
namespace {

// On the thread that calls, with models that are read when they are first needed.
class OwnWork : public SearchWork {
 public:
  OwnWork(std::string path, IndexedModel model, SearcherOptions options, EventSink& events)
      : path_(std::move(path)),
        model_(std::move(model)),
        options_(std::move(options)),
        events_(events) {}

  Matrix<float> embed(const std::vector<std::string>& queries,
                      const std::string& prompt_name) override {
    const std::shared_ptr<const SentenceEncoder> encoder = load_encoder();
    EncodeOptions like = index_options(options_.encode, *encoder, TextRole::kQuery);
    if (!prompt_name.empty()) like.prompt_name = prompt_name;
    EncodeCounts counts;
    Matrix<float> vectors = encoder->encode(queries, like, events_, &counts);
    warn_of_cut_texts(counts, *encoder, events_);
    return vectors;
  }

  void rerank(const std::vector<std::string>& queries, int64_t top_k, Results& results) override {
    const std::shared_ptr<const Reranker> reranker = load_reranker();
    BlockProgress progress(events_, "rerank", 0, "pairs");
    EncodeCounts counts;
    for (size_t i = 0; i < queries.size(); ++i) {
      reranker->rerank(queries[i], results[i], top_k, progress, &counts);
    }
    warn_of_cut_texts(counts, reranker->encoder(), events_);
  }

  void run(const std::function<void()>& work, int64_t) override { work(); }

 private:
  std::shared_ptr<const SentenceEncoder> load_encoder() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (encoder_ == nullptr) {
      static_cast<IndexModelOptions&>(options_) = as_index_says(options_, path_, model_);
      const LoadedModel loaded = load_model(options_, events_);
      check_fingerprint(path_, model_, loaded.fingerprint, options_.model);
      encoder_ = loaded.encoder;
    }
    return encoder_;
  }

  std::shared_ptr<const Reranker> load_reranker() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (reranker_ == nullptr) {
      SIMILE_CHECK(!options_.reranker.empty(), ErrorKind::kUsage,
                   "search: a model that re-ranks is needed and none was named");
      reranker_ = simile::load_reranker(options_.reranker, options_.load, events_);
    }
    return reranker_;
  }

  const std::string path_;
  const IndexedModel model_;
  SearcherOptions options_;
  EventSink& events_;
  std::mutex mutex_;
  std::shared_ptr<const SentenceEncoder> encoder_;
  std::shared_ptr<const Reranker> reranker_;
};

// What make() returns, computed as a part of a search. It may go on when the caller no longer waits.
template <typename Make>
auto run(SearchWork& work, int64_t queries, const Make& make) {
  const auto made = std::make_shared<decltype(make())>();
  work.run([made, make] { *made = make(); }, queries);
  return std::move(*made);
}

SearchQueries part_of(const SearchQueries& queries, int64_t begin, int64_t end) {
  SearchQueries part;
  part.filter = queries.filter;
  part.exact = queries.exact;
  if (!queries.texts.empty()) {
    part.texts.assign(queries.texts.begin() + begin, queries.texts.begin() + end);
  }
  if (queries.vectors.rows > 0) {
    part.vectors = Matrix<float>(end - begin, queries.vectors.cols);
    std::copy_n(queries.vectors.row(begin), part.vectors.values.size(),
                part.vectors.values.begin());
  }
  return part;
}

std::vector<std::vector<int64_t>> show_marks(const std::string& text, const WordMarker& marker) {
  std::vector<std::vector<int64_t>> marks;
  for (const WordMark& mark : marker.find_characters(text)) {
    marks.push_back({static_cast<int64_t>(mark.begin), static_cast<int64_t>(mark.end)});
  }
  return marks;
}

// In quotes, as a filter may name it.
std::string quoted(const std::string& column) {
  std::string name = "\"";
  for (const char c : column) name += c == '"' ? std::string("\"\"") : std::string(1, c);
  return name + "\"";
}

}  // namespace

Searcher Searcher::open(const std::string& path, const SearcherOptions& options,
                        EventSink& events) {
  auto index = std::make_shared<const SearchIndex>(
      SearchIndex::open_without_model(path, SearchIndex::Access::kRead));
  auto work = std::make_shared<OwnWork>(path, index->info().model, options, events);
  return {std::move(index), read_search_settings(path), std::move(work)};
}

Searcher::Searcher(std::shared_ptr<const SearchIndex> index, const SearchSettings& settings,
                   std::shared_ptr<SearchWork> work)
    : index_(std::move(index)), settings_(settings), work_(std::move(work)) {}

SearchReply Searcher::search(const SearchRequest& request) const {
  request.check();
  const SearchSettings settings = request.over(settings_);
  const SearchWork::Results results =
      request.like ? find_like(request, settings) : find(request, settings);
  SearchReply reply;
  reply.mode = settings.mode;
  bool any = false;
  for (size_t i = 0; i < results.size(); ++i) {
    const bool is_marked = request.marks && request.query;
    const WordMarker marker(is_marked ? (*request.query)[i] : "");
    std::vector<FoundDocument>& hits = reply.results.emplace_back().hits;
    for (const SearchHit& hit : results[i]) {
      hits.push_back(show_hit(hit, request.text));
      if (request.marks) hits.back().marks = show_marks(hit.text, marker);
    }
    any = any || !hits.empty();
  }
  if (any || results.empty()) return reply;
  std::vector<std::string> warnings = explain_no_hits(request.metadata_filter());
  if (!warnings.empty()) reply.warnings = std::move(warnings);
  return reply;
}

std::vector<FoundDocument> Searcher::search(const std::string& query, int64_t top_k) const {
  SearchRequest request;
  request.query = std::vector<std::string>{query};
  request.top_k = top_k;
  return search(request).results[0].hits;
}

SearchWork::Results Searcher::find(const SearchRequest& request,
                                   const SearchSettings& settings) const {
  SearchQueries queries;
  if (request.query) queries.texts = *request.query;
  queries.vectors = request.vectors;
  queries.filter = request.metadata_filter();
  queries.exact = request.exact;
  if (settings.by_vectors() && queries.vectors.rows == 0) {
    queries.vectors = work_->embed(queries.texts, request.prompt_name.value_or(""));
  }
  const int64_t count = std::max(static_cast<int64_t>(queries.texts.size()), queries.vectors.rows);
  const int64_t hits = request.hits_to_find();
  const int64_t limit = work_->queries_together(hits);
  const int64_t together = limit > 0 ? limit : std::max<int64_t>(count, 1);
  SearchWork::Results results;
  for (int64_t begin = 0; begin < count; begin += together) {
    const int64_t end = std::min(count, begin + together);
    auto found = run(*work_, end - begin,
                     [index = index_, part = part_of(queries, begin, end), hits, settings] {
                       return index->search(part, hits, settings);
                     });
    for (std::vector<SearchHit>& of_query : found) {
      if (!request.rerank) work_->see(of_query);
      results.push_back(std::move(of_query));
    }
  }
  if (request.rerank) {
    work_->rerank(queries.texts, request.top_k, results);
    for (std::vector<SearchHit>& of_query : results) work_->see(of_query);
  }
  return results;
}

SearchWork::Results Searcher::find_like(const SearchRequest& request,
                                        const SearchSettings& settings) const {
  auto hits = run(*work_, 1, [index = index_, request, settings] {
    return index->search_like(*request.like, request.top_k, settings, request.metadata_filter(),
                              request.exact);
  });
  work_->see(hits);
  return {std::move(hits)};
}

// Where it is the filter. None if it cannot be told, as in an index that was changed meanwhile.
std::vector<std::string> Searcher::explain_no_hits(const MetadataFilter& filter) const {
  if (filter.matches_all()) return {};
  const auto look = [index = index_, filter] {
    std::vector<std::string> warnings;
    if (index->matches(filter)) return warnings;
    warnings.emplace_back("no document of the index matches the filter");
    for (const std::string& column : filter.columns()) {
      const MetadataFilter has_it(fmt::format("{0} = x or {0} != x", quoted(column)));
      if (index->matches(has_it)) continue;
      warnings.push_back(fmt::format("no document has {} in its metadata", quoted(column)));
    }
    return warnings;
  };
  try {
    return run(*work_, 1, look);
  } catch (const Error&) {
    return {};
  }
}

}  // namespace simile
