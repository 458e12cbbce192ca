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

constexpr int64_t kMostHits = 1000;
constexpr int64_t kRerankedHits = 100;
constexpr size_t kLongestId = 1000;  // bytes

// As the index's own vectors are made: cut to its dimension, and of length 1 where it compares by
// cosine.
VectorOptions like_the_index(const Engine& engine) {
  const ModelSettings& settings = engine.model().encoder->settings();
  VectorOptions options;
  options.dimensions = index_of(engine).info().model.dimension;
  options.normalize = settings.normalize || settings.similarity == "cosine";
  return options;
}

MetadataFilter read_filter(const JsonRequest& request) {
  const std::string written = request.text_or("filter", "");
  if (written.empty()) return {};
  try {
    return MetadataFilter(written);
  } catch (const Error& error) {
    throw RequestError(Refusal::kInvalid, error.what(), "filter");
  }
}

// How many hits are scored anew; 0: none.
int64_t read_rerank_hits(const Engine& engine, const JsonRequest& request, size_t queries,
                         int64_t top_k) {
  const bool wanted = request.flag("rerank").value_or(false);
  const int64_t hits = request.integer_or(
      "rerank_hits", std::max(std::min(kRerankedHits, kMostHits), top_k), 1, kMostHits);
  if (!wanted) return 0;
  if (engine.model().reranker == nullptr) {
    throw RequestError(Refusal::kModelCannot,
                       "the server has no model that re-ranks; it was started without "
                       "--rerank-model",
                       "rerank");
  }
  if (hits < top_k || static_cast<int64_t>(queries) * hits > kMostHits) {
    throw RequestError(
        Refusal::kInvalid,
        fmt::format("\"rerank_hits\" is {} for each of {} queries; expected at least \"top_k\", "
                    "which is {}, and {} for all at most",
                    hits, queries, top_k, kMostHits),
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

std::vector<std::string> read_queries(const JsonRequest& request) {
  std::vector<std::string> texts = request.full_texts("query");
  if (std::any_of(texts.begin(), texts.end(), is_blank)) {
    throw RequestError(Refusal::kEmpty, "\"query\" is an empty text", "query");
  }
  return texts;
}

SearchResults find_by_text(const Engine& engine, const RouteCall& call, const JsonRequest& request,
                           const std::vector<std::string>& texts, int64_t top_k,
                           const SearchSettings& settings, AnswerSize& size) {
  SearchQueries queries;
  queries.texts = texts;
  queries.filter = read_filter(request);
  queries.exact = request.flag("exact").value_or(false);
  const std::string prompt_name = request.text_or("prompt_name", "");
  const int64_t reranked = read_rerank_hits(engine, request, texts.size(), top_k);
  if (settings.by_vectors()) queries.vectors = embed_queries(engine, call, texts, prompt_name);
  if (reranked == 0) return search_in_parts(engine, call, queries, top_k, settings, &size);
  SearchResults results = search_in_parts(engine, call, queries, reranked, settings, nullptr);
  rerank(engine, call, texts, top_k, results);
  for (auto& hits : results) size.add(hits);
  return results;
}

// What has no meaning without a query is not left out silently.
void check_like(const JsonRequest& request) {
  if (request.has("query")) {
    throw RequestError(Refusal::kInvalid, "give \"query\" or \"like\", not both", "like");
  }
  for (const char* key : {"prompt_name", "rerank_hits"}) {
    if (!request.has(key)) continue;
    throw RequestError(Refusal::kInvalid, fmt::format("\"{}\" needs a \"query\"", key), key);
  }
  if (request.flag("rerank").value_or(false)) {
    throw RequestError(Refusal::kInvalid, "\"rerank\" needs a \"query\"", "rerank");
  }
}

SearchResults find_like(const Engine& engine, const RouteCall& call, const JsonRequest& request,
                        int64_t top_k, const SearchSettings& settings, AnswerSize& size) {
  check_like(request);
  const std::string id = checked_id(request.text("like"), "like");
  const auto results = std::make_shared<SearchResults>();
  const bool exact = request.flag("exact").value_or(false);
  const auto work = [index = engine.model().index, id, filter = read_filter(request), top_k,
                     settings, exact, results] {
    results->push_back(index->search_like(id, top_k, settings, filter, exact));
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
                                     const JsonRequest& request, const SearchResults& results) {
  const bool any =
      std::any_of(results.begin(), results.end(), [](const auto& hits) { return !hits.empty(); });
  MetadataFilter filter = read_filter(request);
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

OrderedJson show_marks(const std::string& text, const WordMarker& marker) {
  OrderedJson marks = OrderedJson::array();
  for (const WordMark& mark : marker.find_characters(text)) {
    marks.push_back({mark.begin, mark.end});
  }
  return marks;
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

std::string checked_id(std::string id, const std::string& name) {
  if (id.empty() || id.size() > kLongestId) {
    throw RequestError(
        Refusal::kInvalid,
        fmt::format("\"{}\" must have 1 to {} bytes, but it has {}", name, kLongestId, id.size()),
        name);
  }
  return id;
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

OrderedJson show_hit(const SearchHit& hit, bool with_text) {
  OrderedJson shown = {{"id", hit.id}, {"score", hit.score}};
  if (hit.by_search) shown["search_score"] = *hit.by_search;
  if (hit.by_vector && hit.by_words) {
    shown["vector_score"] = *hit.by_vector;
    shown["lexical_score"] = *hit.by_words;
  }
  if (!hit.title.empty()) shown["title"] = hit.title;
  if (with_text) shown["text"] = hit.text;
  if (hit.passage) {
    shown["passage"] = {{"number", hit.passage->number},
                        {"of", hit.passage->of},
                        {"begin", hit.passage->characters.begin},
                        {"end", hit.passage->characters.end}};
  }
  if (!hit.metadata.empty()) shown["metadata"] = OrderedJson::parse(hit.metadata);
  return shown;
}

SearchSettings read_settings(const JsonRequest& request, const ServedIndex& index) {
  SearchSettings settings = index.settings();
  settings.mode = request.choice("mode", search_modes(settings));
  return settings;
}

Matrix<float> embed_queries(const Engine& engine, const RouteCall& call,
                            const std::vector<std::string>& queries,
                            const std::string& prompt_name) {
  TextGroup like;
  like.prompt_name = prompt_name;
  return engine.embedder().embed({make_group(queries, like, TextRole::kQuery)},
                                 like_the_index(engine), call.patience, call.cost);
}

Matrix<float> embed_documents(const Engine& engine, const RouteCall& call,
                              const std::vector<Document>& documents) {
  TextGroup like;
  like.prompt_name = index_of(engine).info().model.prompt_name.value_or("");
  return engine.embedder().embed(
      {make_group(texts_of_vectors(documents), like, TextRole::kDocument)}, like_the_index(engine),
      call.patience, call.cost);
}

Reply answer_search(const Engine& engine, const RouteCall& call) {
  const JsonRequest request(call.body, engine.limits());
  const SearchSettings settings = read_settings(request, index_of(engine));
  const int64_t top_k = request.integer_or("top_k", 10, 1, kMostHits);
  const bool with_text = request.flag("text").value_or(true);
  const bool shows_marks = request.flag("marks").value_or(false);
  if (shows_marks && !with_text) {
    throw RequestError(Refusal::kInvalid, "\"marks\" are places in texts, and \"text\" is false",
                       "marks");
  }
  AnswerSize size(engine.limits().answer_bytes, with_text,
                  fmt::format("ask for fewer of them (\"top_k\"), in several requests{}",
                              with_text ? ", or without their texts (\"text\": false)" : ""));
  std::vector<std::string> texts;
  SearchResults results;
  if (request.has("like")) {
    results = find_like(engine, call, request, top_k, settings, size);
    texts.resize(1);
  } else {
    texts = read_queries(request);
    results = find_by_text(engine, call, request, texts, top_k, settings, size);
  }
  OrderedJson found;
  found["mode"] = settings.mode;
  found["results"] = OrderedJson::array();
  for (size_t i = 0; i < results.size(); ++i) {
    const WordMarker marker(shows_marks ? texts[i] : "");
    OrderedJson result;
    result["hits"] = OrderedJson::array();
    for (const SearchHit& hit : results[i]) {
      result["hits"].push_back(show_hit(hit, with_text));
      if (shows_marks) result["hits"].back()["marks"] = show_marks(hit.text, marker);
    }
    found["results"].push_back(std::move(result));
  }
  const std::vector<std::string> warnings = warnings_of(engine, call, request, results);
  if (!warnings.empty()) found["warnings"] = warnings;
  return json_reply(found);
}

}  // namespace simile::detail
