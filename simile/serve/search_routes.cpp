// SPDX-License-Identifier: Apache-2.0
// /search.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "simile/serve/detail/index_answers.h"
#include "simile/serve/request_error.h"
#include "simile/text/utf8.h"

namespace simile::detail {
namespace {

constexpr int64_t kMostHits = 1000;  // of a query; reranked, of all queries together

struct SearchBody : SearchRequest {
  SearchBody() { most_hits = kMostHits; }
};

// As the index's own vectors are made.
VectorOptions like_the_index(const Engine& engine) {
  const SentenceEncoder& encoder = *engine.model().encoder;
  const EncodeOptions like = document_options(index_of(engine).info().model, encoder);
  VectorOptions options;
  options.dimensions = like.dimensions;
  options.normalize = like.normalize.value_or(encoder.settings().normalize);
  return options;
}

class RequestWork : public SearchWork {
 public:
  RequestWork(const Engine& engine, const RouteCall& call, bool with_text, std::string advice)
      : engine_(engine), call_(call), with_text_(with_text), advice_(std::move(advice)) {}

  Matrix<float> embed(const std::vector<std::string>& queries,
                      const std::string& prompt_name) override {
    return embed_queries(engine_, call_, queries, prompt_name);
  }

  void rerank(const std::vector<std::string>& queries, int64_t top_k, Results& results) override {
    const auto reranked = std::make_shared<Results>(std::move(results));
    int64_t pairs = 0;
    for (const auto& hits : *reranked) pairs += static_cast<int64_t>(hits.size());
    run(
        [reranker = engine_.model().reranker, queries, top_k, reranked] {
          for (size_t i = 0; i < queries.size(); ++i) {
            reranker->rerank(queries[i], (*reranked)[i], top_k, silent_events());
          }
        },
        pairs);
    results = std::move(*reranked);
  }

  void run(const std::function<void()>& work, int64_t count) override {
    engine_.embedder().worker().run(work, count, 0, call_.patience, call_.cost.times);
  }

  // The texts of hits are in memory before it is known how large they are.
  int64_t queries_together(int64_t hits) const override {
    return std::max<int64_t>(1, kMostHits / hits);
  }

  void see(std::vector<SearchHit>& hits) override {
    ++call_.cost.searches;
    for (SearchHit& hit : hits) {
      if (!with_text_) hit.text = std::string();
      bytes_ += static_cast<int64_t>(hit.id.size() + hit.title.size() + hit.text.size() +
                                     hit.metadata.size());
    }
    const int64_t most = engine_.limits().answer_bytes;
    if (bytes_ <= most) return;
    throw RequestError(Refusal::kTooLarge,
                       fmt::format("the hits have more than {} bytes; {}", most, advice_));
  }

 private:
  const Engine& engine_;
  const RouteCall& call_;
  const bool with_text_;
  const std::string advice_;
  int64_t bytes_ = 0;
};

void check_queries(const RouteCall& call, const Engine& engine, const SearchRequest& request) {
  if (!request.query) {  // that or `like` is required: tell it of this one
    std::vector<std::string> query;
    read_body(call.body, engine.limits(), BodySize::kUsual, [&](OptionVisitor& v) {
      v.field("query", query, OptionInfo().required().one_or_more());
    });
  }
  if (std::any_of(request.query->begin(), request.query->end(), is_blank)) {
    throw RequestError(Refusal::kEmpty, "\"query\" is an empty text", "query");
  }
}

void check_rerank(const Engine& engine, const SearchRequest& request) {
  if (engine.model().reranker == nullptr) {
    throw RequestError(Refusal::kModelCannot,
                       "the server has no model that re-ranks; it was started without "
                       "--rerank-model",
                       "rerank");
  }
  const auto queries = static_cast<int64_t>(request.query->size());
  const int64_t hits = request.hits_to_find();
  if (hits < request.top_k || queries * hits > kMostHits) {
    throw RequestError(
        Refusal::kInvalid,
        fmt::format("\"rerank_hits\" is {} for each of {} queries; expected at least \"top_k\", "
                    "which is {}, and {} for all at most",
                    hits, queries, request.top_k, kMostHits),
        "rerank_hits");
  }
}

SearchReply answer_search(const Engine& engine, const RouteCall& call, const SearchBody& request) {
  const ServedIndex& index = index_of(engine);
  if (!request.like) {
    check_queries(call, engine, request);
    if (request.rerank) check_rerank(engine, request);
  }
  const std::string advice =
      fmt::format("ask for fewer of them (\"top_k\"), in several requests{}",
                  request.text ? ", or without their texts (\"text\": false)" : "");
  try {
    return searcher_of(engine, call, request.text, advice).search(request);
  } catch (const OptionError& error) {
    throw RequestError(Refusal::kInvalid, error.problem, error.key);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kUsage) throw RequestError(Refusal::kInvalid, error.what());
    if (request.like && error.kind() == ErrorKind::kInput) index.check_has(*request.like, "like");
    throw;
  }
}

}  // namespace

ServedIndex& index_of(const Engine& engine) {
  if (engine.model().index == nullptr) {
    throw RequestError(Refusal::kModelCannot,
                       "the server has no index; it was started without --index");
  }
  return *engine.model().index;
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

Searcher searcher_of(const Engine& engine, const RouteCall& call, bool with_text,
                     const std::string& advice) {
  index_of(engine);
  const std::shared_ptr<const ServedIndex> served = engine.model().index;
  return {std::shared_ptr<const SearchIndex>(served, &served->index()), served->settings(),
          std::make_shared<RequestWork>(engine, call, with_text, advice)};
}

std::vector<Route> search_routes() {
  return {route("search", "POST", "/search",
                "The documents of the index nearest to each query, by vectors, words or both, best "
                "first (with --index)",
                answer_search, {Refusal::kModelCannot, Refusal::kNotFound})};
}

}  // namespace simile::detail
