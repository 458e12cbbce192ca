// SPDX-License-Identifier: Apache-2.0
// /search.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "simile/encode/document_vectors.h"
#include "simile/serve/detail/index_answers.h"
#include "simile/serve/request_error.h"
#include "simile/text/utf8.h"
#include "simile/text/words.h"

namespace simile::detail {
namespace {

// As the index's own vectors are made: cut to its dimension, and of length 1 where it compares by
// cosine.
VectorOptions like_the_index(const Engine& engine) {
  const ModelSettings& settings = engine.model().encoder->settings();
  VectorOptions options;
  options.dimensions = index_of(engine).info().model.dimension;
  options.normalize = settings.normalize || settings.similarity == "cosine";
  return options;
}

MetadataFilter filter_of(const SearchRequest& request) {
  if (request.filter.empty()) return {};
  try {
    return MetadataFilter(request.filter);
  } catch (const Error& error) {
    throw RequestError(Refusal::kInvalid, error.what(), "filter");
  }
}

// How many hits are scored anew; 0: none.
int64_t count_reranked(const Engine& engine, const SearchRequest& request, size_t queries) {
  if (!request.rerank) return 0;
  if (engine.model().reranker == nullptr) {
    throw RequestError(Refusal::kModelCannot,
                       "the server has no model that re-ranks; it was started without "
                       "--rerank-model",
                       "rerank");
  }
  const int64_t hits = request.rerank_hits.value_or(std::max(kRerankedHits, request.top_k));
  if (hits < request.top_k || static_cast<int64_t>(queries) * hits > kMostHits) {
    throw RequestError(
        Refusal::kInvalid,
        fmt::format("\"rerank_hits\" is {} for each of {} queries; expected at least \"top_k\", "
                    "which is {}, and {} for all at most",
                    hits, queries, request.top_k, kMostHits),
        "rerank_hits");
  }
  return hits;
}

void rerank(const Engine& engine, const RouteCall& call, const std::vector<std::string>& queries,
            int64_t top_k, SearchResults& results) {
  const auto reranked = std::make_shared<SearchResults>(std::move(results));
  int64_t pairs = 0;
  for (const auto& hits : *reranked) pairs += static_cast<int64_t>(hits.size());
  const auto work = [reranker = engine.model().reranker, queries, top_k, reranked] {
    for (size_t i = 0; i < queries.size(); ++i) {
      reranker->rerank(queries[i], (*reranked)[i], top_k, silent_events());
    }
  };
  engine.embedder().worker().run(work, pairs, 0, call.patience, call.cost.times);
  results = std::move(*reranked);
}

SearchQueries part_of(const SearchQueries& queries, size_t begin, size_t end) {
  SearchQueries part;
  part.filter = queries.filter;
  part.exact = queries.exact;
  part.texts.assign(queries.texts.begin() + static_cast<int64_t>(begin),
                    queries.texts.begin() + static_cast<int64_t>(end));
  if (queries.vectors.rows == 0) return part;
  part.vectors = Matrix<float>(static_cast<int64_t>(end - begin), queries.vectors.cols);
  std::copy_n(queries.vectors.row(static_cast<int64_t>(begin)), part.vectors.values.size(),
              part.vectors.values.begin());
  return part;
}

// Of several queries with many hits a few at a time: their texts are in memory before it is known
// how large they are.
SearchResults search_in_parts(const Engine& engine, const RouteCall& call,
                              const SearchQueries& queries, int64_t top_k,
                              const SearchSettings& settings, AnswerSize* size) {
  const auto together = static_cast<size_t>(std::max<int64_t>(1, kMostHits / top_k));
  SearchResults results;
  for (size_t begin = 0; begin < queries.texts.size(); begin += together) {
    const size_t end = std::min(queries.texts.size(), begin + together);
    for (auto& hits : search_index(engine, call, part_of(queries, begin, end), top_k, settings)) {
      if (size != nullptr) size->add(hits);
      results.push_back(std::move(hits));
    }
  }
  return results;
}

// The queries of a request without `like`.
const std::vector<std::string>& queries_of(const RouteCall& call, const Engine& engine,
                                           const SearchRequest& request) {
  if (!request.query) {  // one of both is required: tell it of this one
    std::vector<std::string> query;
    read_body(call.body, engine.limits(), BodySize::kUsual, [&](OptionVisitor& v) {
      v.field("query", query, OptionInfo().required().one_or_more());
    });
  }
  if (std::any_of(request.query->begin(), request.query->end(), is_blank)) {
    throw RequestError(Refusal::kEmpty, "\"query\" is an empty text", "query");
  }
  return *request.query;
}

SearchResults find_by_text(const Engine& engine, const RouteCall& call,
                           const SearchRequest& request, const std::vector<std::string>& texts,
                           const SearchSettings& settings, AnswerSize& size) {
  SearchQueries queries;
  queries.texts = texts;
  queries.filter = filter_of(request);
  queries.exact = request.exact;
  const int64_t top_k = request.top_k;
  const int64_t reranked = count_reranked(engine, request, texts.size());
  if (settings.by_vectors()) {
    queries.vectors = embed_queries(engine, call, texts, request.prompt_name.value_or(""));
  }
  if (reranked == 0) return search_in_parts(engine, call, queries, top_k, settings, &size);
  SearchResults results = search_in_parts(engine, call, queries, reranked, settings, nullptr);
  rerank(engine, call, texts, top_k, results);
  for (auto& hits : results) size.add(hits);
  return results;
}

// What has no meaning without a query is not left out silently.
void check_like(const SearchRequest& request) {
  if (request.query) {
    throw RequestError(Refusal::kInvalid, "give \"query\" or \"like\", not both", "like");
  }
  const std::pair<const char*, bool> given[] = {{"prompt_name", request.prompt_name.has_value()},
                                                {"rerank_hits", request.rerank_hits.has_value()},
                                                {"rerank", request.rerank}};
  for (const auto& [key, is_given] : given) {
    if (!is_given) continue;
    throw RequestError(Refusal::kInvalid, fmt::format("\"{}\" needs a \"query\"", key), key);
  }
}

SearchResults find_like(const Engine& engine, const RouteCall& call, const SearchRequest& request,
                        const SearchSettings& settings, AnswerSize& size) {
  check_like(request);
  const auto results = std::make_shared<SearchResults>();
  const auto work = [index = engine.model().index, request, filter = filter_of(request), settings,
                     results] {
    results->push_back(
        index->search_like(*request.like, request.top_k, settings, filter, request.exact));
  };
  call.cost.searches = 1;
  engine.embedder().worker().run(work, 1, 0, call.patience, call.cost.times);
  size.add(results->front());
  return std::move(*results);
}

// In quotes, as a filter may name it.
std::string quoted(const std::string& column) {
  std::string name = "\"";
  for (const char c : column) name += c == '"' ? std::string("\"\"") : std::string(1, c);
  return name + "\"";
}

// Why there are no hits, where it is the filter.
std::vector<std::string> look_at(const ServedIndex& index, const MetadataFilter& filter) {
  if (index.matches(filter)) return {};
  std::vector<std::string> warnings = {"no document of the index matches the filter"};
  for (const std::string& column : filter.columns()) {
    const MetadataFilter has_it(fmt::format("{0} = x or {0} != x", quoted(column)));
    if (index.matches(has_it)) continue;
    warnings.push_back(fmt::format("no document has {} in its metadata", quoted(column)));
  }
  return warnings;
}

// None where they cannot be had: the hits are there.
std::vector<std::string> warnings_of(const Engine& engine, const RouteCall& call,
                                     const SearchRequest& request, const SearchResults& results) {
  const bool any =
      std::any_of(results.begin(), results.end(), [](const auto& hits) { return !hits.empty(); });
  MetadataFilter filter = filter_of(request);
  if (any || filter.matches_all()) return {};
  const auto warnings = std::make_shared<std::vector<std::string>>();
  const auto work = [index = engine.model().index, filter = std::move(filter), warnings] {
    *warnings = look_at(*index, filter);
  };
  try {
    engine.embedder().worker().run(work, 1, 0, call.patience, call.cost.times);
  } catch (const Error&) {
    return {};
  }
  return std::move(*warnings);
}

std::vector<std::vector<int64_t>> show_marks(const std::string& text, const WordMarker& marker) {
  std::vector<std::vector<int64_t>> marks;
  for (const WordMark& mark : marker.find_characters(text)) {
    marks.push_back({static_cast<int64_t>(mark.begin), static_cast<int64_t>(mark.end)});
  }
  return marks;
}

SearchReply answer_search(const Engine& engine, const RouteCall& call,
                          const SearchRequest& request) {
  const SearchSettings settings = settings_for(index_of(engine), request.mode);
  if (request.marks && !request.text) {
    throw RequestError(Refusal::kInvalid, "\"marks\" are places in texts, and \"text\" is false",
                       "marks");
  }
  AnswerSize size(engine.limits().answer_bytes, request.text,
                  fmt::format("ask for fewer of them (\"top_k\"), in several requests{}",
                              request.text ? ", or without their texts (\"text\": false)" : ""));
  std::vector<std::string> texts(1);
  SearchResults results;
  if (request.like) {
    results = find_like(engine, call, request, settings, size);
  } else {
    texts = queries_of(call, engine, request);
    results = find_by_text(engine, call, request, texts, settings, size);
  }
  SearchReply reply;
  reply.mode = settings.mode;
  for (size_t i = 0; i < results.size(); ++i) {
    const WordMarker marker(request.marks ? texts[i] : "");
    reply.results.emplace_back();
    for (const SearchHit& hit : results[i]) {
      reply.results.back().hits.push_back(show_hit(hit, request.text));
      if (request.marks) reply.results.back().hits.back().marks = show_marks(hit.text, marker);
    }
  }
  std::vector<std::string> warnings = warnings_of(engine, call, request, results);
  if (!warnings.empty()) reply.warnings = std::move(warnings);
  return reply;
}

}  // namespace

AnswerSize::AnswerSize(int64_t most_bytes, bool with_text, std::string advice)
    : most_(most_bytes), with_text_(with_text), advice_(std::move(advice)) {}

void AnswerSize::add(std::vector<SearchHit>& hits) {
  for (SearchHit& hit : hits) {
    if (!with_text_) hit.text = std::string();
    bytes_ += static_cast<int64_t>(hit.id.size() + hit.title.size() + hit.text.size() +
                                   hit.metadata.size());
  }
  if (bytes_ <= most_) return;
  throw RequestError(Refusal::kTooLarge,
                     fmt::format("the hits have more than {} bytes; {}", most_, advice_));
}

ServedIndex& index_of(const Engine& engine) {
  if (engine.model().index == nullptr) {
    throw RequestError(Refusal::kModelCannot,
                       "the server has no index; it was started without --index");
  }
  return *engine.model().index;
}

SearchResults search_index(const Engine& engine, const RouteCall& call, SearchQueries queries,
                           int64_t top_k, const SearchSettings& settings) {
  const auto results = std::make_shared<SearchResults>();
  const auto count = static_cast<int64_t>(queries.texts.size());
  const auto work = [index = engine.model().index, queries = std::move(queries), top_k, settings,
                     results] { *results = index->search(queries, top_k, settings); };
  call.cost.searches += count;
  engine.embedder().worker().run(work, count, 0, call.patience, call.cost.times);
  return std::move(*results);
}

SearchSettings settings_for(const ServedIndex& index, const std::optional<std::string>& mode) {
  SearchSettings settings = index.settings();
  settings.mode = mode.value_or(settings.mode);
  return settings;
}

Matrix<float> embed_queries(const Engine& engine, const RouteCall& call,
                            const std::vector<std::string>& queries,
                            const std::string& prompt_name) {
  ReadingKeys like;
  like.prompt_name = prompt_name;
  return engine.embedder().embed({like.group(queries, TextRole::kQuery)}, like_the_index(engine),
                                 call.patience, call.cost);
}

Matrix<float> embed_documents(const Engine& engine, const RouteCall& call,
                              const std::vector<Document>& documents) {
  ReadingKeys like;
  like.prompt_name = index_of(engine).info().model.prompt_name.value_or("");
  return engine.embedder().embed({like.group(texts_of_vectors(documents), TextRole::kDocument)},
                                 like_the_index(engine), call.patience, call.cost);
}

std::vector<Route> search_routes() {
  return {route("search", "POST", "/search",
                "The documents of the index nearest to each query, by vectors, words or both, best "
                "first (with --index)",
                answer_search, {Refusal::kModelCannot, Refusal::kNotFound})};
}

}  // namespace simile::detail
