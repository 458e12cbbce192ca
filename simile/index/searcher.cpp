// SPDX-License-Identifier: Apache-2.0
#include "simile/index/searcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
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
    if (encoder_ == nullptr) encoder_ = load_model_of(path_, model_, options_, events_);
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

// The key that a cursor is; 0 without one.
int64_t parse_cursor(const std::optional<std::string>& cursor) {
  if (!cursor) return 0;
  int64_t key = 0;
  const char* const end = cursor->data() + cursor->size();
  const auto [at, error] = std::from_chars(cursor->data(), end, key);
  if (error == std::errc() && at == end && key > 0) return key;
  throw OptionError(ErrorKind::kUsage, "list", "cursor",
                    fmt::format("\"cursor\" is '{}'; expected one that an earlier page gave",
                                cursor->substr(0, 40)));
}

// Computes make() as a part of a search. It may continue after the caller has stopped waiting.
template <typename Make>
auto run(SearchWork& work, int64_t queries, const Make& make) {
  const auto made = std::make_shared<decltype(make())>();
  work.run([made, make] { *made = make(); }, queries);
  return std::move(*made);
}

constexpr int kMostLooks = 8;

// What make() reads of the index, one after the other, is of one state: it is called again where a
// change came between, but not for ever where changes follow one another without a pause.
template <typename Make>
auto of_one_state(const SearchIndex& index, const Make& make) {
  for (int look = 1;; ++look) {
    const int64_t before = index.generation();
    auto made = make();
    if (look == kMostLooks || index.generation() == before) return made;
  }
}

SearchQueries queries_of(const SearchRequest& request) {
  SearchQueries queries;
  if (request.query) queries.texts = *request.query;
  queries.vectors = request.vectors();
  queries.filter = parse_filter(request.filter);
  queries.exact = request.exact;
  queries.min_similarity = request.min_similarity;
  queries.explain = request.explain;
  return queries;
}

std::vector<std::vector<int64_t>> show_marks(const std::string& text, const WordMarker& marker) {
  std::vector<std::vector<int64_t>> marks;
  for (const WordMark& mark : marker.find_characters(text)) {
    marks.push_back({static_cast<int64_t>(mark.begin), static_cast<int64_t>(mark.end)});
  }
  return marks;
}

}  // namespace

Searcher Searcher::open(const std::string& path, const SearcherOptions& options,
                        EventSink& events) {
  auto index = std::make_shared<const SearchIndex>(
      SearchIndex::open_without_model(path, SearchIndex::Access::kRead));
  auto work = std::make_shared<OwnWork>(path, index->model(), options, events);
  return {std::move(index), read_search_settings(path), std::move(work)};
}

Searcher::Searcher(std::shared_ptr<const SearchIndex> index, const SearchSettings& settings,
                   std::shared_ptr<SearchWork> work)
    : index_(std::move(index)), settings_(settings), work_(std::move(work)) {}

SearchReply Searcher::search(const SearchRequest& request) const {
  request.check();
  const SearchSettings settings = request.over(settings_);
  SearchReply reply;
  reply.mode = settings.mode;
  std::vector<MatchCounts> counts;
  const SearchWork::Results results =
      request.like ? find_like(request, settings) : find(request, settings, counts);
  bool any = false;
  for (size_t i = 0; i < results.size(); ++i) {
    const bool is_marked = request.marks && request.query;
    const WordMarker marker(is_marked ? (*request.query)[i] : "", index_->model().language);
    SearchResult& result = reply.results.emplace_back();
    const auto end = std::min(results[i].size(), static_cast<size_t>(request.hits_shown()));
    for (auto at = static_cast<size_t>(request.offset); at < end; ++at) {
      const SearchHit& hit = results[i][at];
      result.hits.push_back(show_hit(hit, request.text));
      if (request.marks) result.hits.back().marks = show_marks(hit.text, marker);
    }
    if (request.counts()) result.take(request, std::move(counts[i]));
    any = any || !results[i].empty();
  }
  if (any || results.empty()) return reply;
  std::vector<std::string> warnings = explain_no_hits(parse_filter(request.filter));
  if (!warnings.empty()) reply.warnings = std::move(warnings);
  return reply;
}

std::vector<FoundDocument> Searcher::search(const std::string& query, int64_t top_k) const {
  SearchRequest request;
  request.query = std::vector<std::string>{query};
  request.top_k = top_k;
  return search(request).results[0].hits;
}

SearchWork::Results Searcher::find(const SearchRequest& request, const SearchSettings& settings,
                                   std::vector<MatchCounts>& counts) const {
  SearchQueries queries = queries_of(request);
  if (request.vector) check_dimension(queries.vectors.cols);
  if (settings.by_vectors() && queries.vectors.rows == 0) {
    queries.vectors = work_->embed(queries.texts, request.prompt_name.value_or(""));
  }
  const int64_t count = std::max(static_cast<int64_t>(queries.texts.size()), queries.vectors.rows);
  const int64_t hits = request.hits_to_find();
  const int64_t limit = work_->queries_together(hits);
  const int64_t together = limit > 0 ? limit : std::max<int64_t>(count, 1);
  const auto look = [&] {
    work_->begin_to_see();
    SearchWork::Results results;
    for (int64_t begin = 0; begin < count; begin += together) {
      const int64_t end = std::min(count, begin + together);
      auto found = run(*work_, end - begin,
                       [index = index_, part = queries.part(begin, end), hits, settings] {
                         return index->search(part, hits, settings);
                       });
      for (std::vector<SearchHit>& of_query : found) {
        if (!request.rerank) work_->see(of_query);
        results.push_back(std::move(of_query));
      }
    }
    if (request.counts()) {
      counts = run(
          *work_, count,
          [index = index_, queries, settings, facets = request.parsed_facets(),
           most = request.facet_values] { return index->count(queries, settings, facets, most); });
    }
    return results;
  };
  // A document without a filter is found and shown as it is; the others depend on one another.
  const bool is_alone = queries.filter.matches_all() && !request.counts();
  SearchWork::Results results = is_alone ? look() : of_one_state(*index_, look);
  if (request.rerank) {
    work_->rerank(queries.texts, request.hits_shown(), results);
    for (std::vector<SearchHit>& of_query : results) work_->see(of_query);
  }
  return results;
}

ListReply Searcher::list(const ListRequest& request) const {
  const MetadataFilter filter = parse_filter(request.filter);
  const int64_t after = parse_cursor(request.cursor);
  auto [reply, counts] =
      run(*work_, 1,
          [index = index_, request, filter, after, facets = request.parsed_facets(),
           most_bytes = work_->page_bytes()] {
            return of_one_state(*index, [&] {
              std::pair<ListReply, std::vector<MatchCounts>> made;
              int64_t bytes = 0;
              const auto take = [&](const Document& document) {
                bytes += static_cast<int64_t>(document.id.size() + document.title.size() +
                                              (request.text ? document.text.size() : 0) +
                                              document.metadata.size());
                const bool fits = bytes <= most_bytes || made.first.documents.empty();
                if (fits) made.first.documents.push_back(show_document(document, request.text));
                return fits;
              };
              if (request.limit > 0) {
                const int64_t last = index->list(filter, after, request.limit, take);
                if (last > 0) made.first.cursor = std::to_string(last);
              }
              if (request.counts()) {
                SearchQueries all;
                all.filter = filter;
                made.second = index->count(all, {}, facets, request.facet_values);
              }
              return made;
            });
          });
  if (request.counts()) reply.take(request, std::move(counts[0]));
  return std::move(reply);
}

void Searcher::check_dimension(int64_t numbers) const {
  const int64_t expected = index_->model().dimension;
  if (numbers == expected) return;
  throw OptionError(ErrorKind::kUsage, "search", "vector",
                    fmt::format("\"vector\" has {} numbers; expected {}, as the index's vectors "
                                "have",
                                numbers, expected));
}

SearchWork::Results Searcher::find_like(const SearchRequest& request,
                                        const SearchSettings& settings) const {
  auto hits = run(*work_, 1,
                  [index = index_, id = *request.like, how = queries_of(request), settings,
                   most = request.hits_to_find()] {
                    return of_one_state(
                        *index, [&] { return index->search_like(id, most, settings, how); });
                  });
  work_->see(hits);
  return {std::move(hits)};
}

// Where it is the filter. Empty if not known, as in an index that changed meanwhile.
std::vector<std::string> Searcher::explain_no_hits(const MetadataFilter& filter) const {
  if (filter.matches_all()) return {};
  const auto look = [index = index_, filter] {
    SearchQueries all;
    all.filter = filter;
    const bool any = index->count(all, {}, {}, 0)[0].documents > 0;
    return any ? std::vector<std::string>()
               : std::vector<std::string>{"no document of the index matches the filter"};
  };
  try {
    return run(*work_, 1, look);
  } catch (const Error&) {
    return {};
  }
}

}  // namespace simile
