// SPDX-License-Identifier: Apache-2.0
// /search and /documents.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "simile/encode/passage_splitter.h"
#include "simile/serve/detail/index_answers.h"
#include "simile/serve/request_error.h"
#include "simile/text/word_marks.h"

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

std::string checked_id(std::string id, const std::string& name) {
  if (id.empty() || id.size() > kLongestId) {
    throw RequestError(
        Refusal::kInvalid,
        fmt::format("\"{}\" must have 1 to {} bytes, but it has {}", name, kLongestId, id.size()),
        name);
  }
  return id;
}

// A title is put before the text, as `simile index add` does.
std::vector<Document> read_documents(const JsonRequest& request) {
  std::vector<Document> documents;
  for (const JsonRequest& part : request.parts("documents")) {
    Document document;
    document.id = checked_id(part.text("id"), part.name("id"));
    document.text = part.text("text");
    if (document.text.empty()) {
      throw RequestError(Refusal::kEmpty, fmt::format("\"{}\" is empty", part.name("text")),
                         part.name("text"));
    }
    const std::string title = part.text_or("title", "");
    if (!title.empty()) document.text.insert(0, title + " ");
    document.metadata = part.metadata("metadata");
    documents.push_back(std::move(document));
  }
  return documents;
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

SearchResults find_by_text(const Engine& engine, const RouteCall& call, const JsonRequest& request,
                           const std::vector<std::string>& texts, int64_t top_k,
                           const SearchSettings& settings) {
  SearchQueries queries;
  queries.texts = texts;
  queries.filter = read_filter(request);
  queries.exact = request.flag("exact").value_or(false);
  const std::string prompt_name = request.text_or("prompt_name", "");
  const int64_t reranked = read_rerank_hits(engine, request, texts.size(), top_k);
  if (settings.by_vectors()) {
    queries.vectors = embed_queries(engine, call, texts, prompt_name);
  } else {
    call.cost.texts = static_cast<int64_t>(texts.size());
  }
  SearchResults results =
      search_index(engine, call, std::move(queries), std::max(top_k, reranked), settings);
  if (reranked > 0) rerank(engine, call, texts, top_k, results);
  return results;
}

SearchResults find_like(const Engine& engine, const RouteCall& call, const JsonRequest& request,
                        int64_t top_k, const SearchSettings& settings) {
  if (request.has("query")) {
    throw RequestError(Refusal::kInvalid, "give \"query\" or \"like\", not both", "like");
  }
  if (request.flag("rerank").value_or(false)) {
    throw RequestError(Refusal::kInvalid, "\"rerank\" needs a \"query\"", "rerank");
  }
  const std::string id = checked_id(request.text("like"), "like");
  const auto results = std::make_shared<SearchResults>();
  const bool exact = request.flag("exact").value_or(false);
  const auto work = [index = engine.model().index, id, filter = read_filter(request), top_k,
                     settings, exact, results] {
    results->push_back(index->search_like(id, top_k, settings, filter, exact));
  };
  engine.embedder().worker().run(work, 1, 0, call.patience, call.cost.times);
  return std::move(*results);
}

// Into passages, where the index has them.
void split_documents(const Engine& engine, std::vector<Document>& documents) {
  const IndexedModel& model = index_of(engine).info().model;
  EncodeOptions like;
  like.prompt_name = model.prompt_name.value_or("");
  like.role = TextRole::kDocument;
  try {
    PassageSplitter(*engine.model().encoder, model.passages, like).split(documents);
  } catch (const Error& error) {
    throw RequestError(Refusal::kInvalid, error.what(), "documents");
  }
}

OrderedJson show_marks(const std::string& text, const WordMarker& marker) {
  OrderedJson marks = OrderedJson::array();
  for (const WordMark& mark : marker.find_characters(text)) {
    marks.push_back({mark.begin, mark.end});
  }
  return marks;
}

}  // namespace

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
  engine.embedder().worker().run(work, count, 0, call.patience, call.cost.times);
  return std::move(*results);
}

OrderedJson show_hit(const SearchHit& hit) {
  OrderedJson shown = {{"id", hit.id}, {"score", hit.score}};
  if (hit.by_search) shown["search_score"] = *hit.by_search;
  if (hit.by_vector && hit.by_words) {
    shown["vector_score"] = *hit.by_vector;
    shown["lexical_score"] = *hit.by_words;
  }
  shown["text"] = hit.text;
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
  const std::vector<std::string> texts = texts_of_vectors(documents);
  const auto together = static_cast<size_t>(engine.limits().request_texts);
  Matrix<float> vectors;
  for (size_t begin = 0; begin < texts.size(); begin += together) {
    const auto end = std::min(texts.size(), begin + together);
    const std::vector<std::string> part(texts.begin() + static_cast<int64_t>(begin),
                                        texts.begin() + static_cast<int64_t>(end));
    const Matrix<float> more =
        engine.embedder().embed({make_group(part, like, TextRole::kDocument)},
                                like_the_index(engine), call.patience, call.cost);
    vectors.cols = more.cols;
    vectors.rows += more.rows;
    vectors.values.insert(vectors.values.end(), more.values.begin(), more.values.end());
  }
  return vectors;
}

Reply answer_search(const Engine& engine, const RouteCall& call) {
  const JsonRequest request(call.body, engine.limits());
  const SearchSettings settings = read_settings(request, index_of(engine));
  const int64_t top_k = request.integer_or("top_k", 10, 1, kMostHits);
  std::vector<std::string> texts;
  SearchResults results;
  if (request.has("like")) {
    results = find_like(engine, call, request, top_k, settings);
    texts.resize(1);
  } else {
    texts = request.texts("query");
    results = find_by_text(engine, call, request, texts, top_k, settings);
  }
  const bool shows_marks = request.flag("marks").value_or(false);
  OrderedJson found;
  found["mode"] = settings.mode;
  found["results"] = OrderedJson::array();
  for (size_t i = 0; i < results.size(); ++i) {
    const WordMarker marker(shows_marks ? texts[i] : "");
    OrderedJson result;
    result["hits"] = OrderedJson::array();
    for (const SearchHit& hit : results[i]) {
      result["hits"].push_back(show_hit(hit));
      if (shows_marks) result["hits"].back()["marks"] = show_marks(hit.text, marker);
    }
    found["results"].push_back(std::move(result));
  }
  return json_reply(found);
}

Reply answer_add(const Engine& engine, const RouteCall& call) {
  ServedIndex& index = index_of(engine);
  index.check_changes();
  const JsonRequest request(call.body, engine.limits());
  std::vector<Document> documents = read_documents(request);
  split_documents(engine, documents);
  const Matrix<float> vectors = embed_documents(engine, call, documents);
  OrderedJson done;
  done["added"] = documents.size();
  done["replaced"] = index.add(documents, vectors);
  done["truncated"] = call.cost.truncated;
  done["documents"] = index.info().count;
  return json_reply(done);
}

Reply answer_delete(const Engine& engine, const RouteCall& call) {
  ServedIndex& index = index_of(engine);
  index.check_changes();
  const JsonRequest request(call.body, engine.limits());
  const std::vector<std::string> ids = request.texts("ids");
  index.remove(ids);
  OrderedJson done;
  done["deleted"] = ids.size();
  done["documents"] = index.info().count;
  return json_reply(done);
}

}  // namespace simile::detail
