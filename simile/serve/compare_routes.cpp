// SPDX-License-Identifier: Apache-2.0
// /similarity, and /rerank in the forms of TEI, Cohere and Jina.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "simile/eval/embedding_scorer.h"
#include "simile/serve/detail/route_row.h"
#include "simile/serve/request_error.h"

namespace simile::detail {
namespace {

OptionInfo full_text(const std::string& help) { return OptionInfo{help, "", 1}.required(); }

struct SimilarityRequest {
  struct Inputs {
    std::string source_sentence;
    std::vector<std::string> sentences;
    void visit(OptionVisitor& v) {
      v.field("source_sentence", source_sentence, full_text("The text"));
      v.field("sentences", sentences, full_text("The others").one_or_more());
    }
  };
  Inputs inputs;
  ReadingKeys parameters;
  void visit(OptionVisitor& v) {
    v.required("inputs", inputs, "The texts");
    v.group("parameters", parameters, "How they are read");
  }
};

struct RerankRequest : ReadingKeys {
  std::string query;
  std::vector<std::string> texts;
  bool raw_scores = false;
  bool return_text = false;
  void visit(OptionVisitor& v) {
    v.field("query", query, full_text("The query"));
    v.field("texts", texts, full_text("The texts").one_or_more());
    v.field("raw_scores", raw_scores, {"Give a head's logits, not probabilities"});
    v.field("return_text", return_text, {"Repeat the texts in the answer"});
    ReadingKeys::visit(v);
  }
};

// Cohere's and Jina's.
struct RerankDocumentsRequest {
  struct TextDocument {
    std::string text;
    void visit(OptionVisitor& v) { v.required("text", text); }
  };
  std::string model, query;
  ConfigNode documents;
  std::optional<int64_t> top_n;
  bool return_documents = false;
  void visit(OptionVisitor& v) {
    v.field("model", model, {kModelNameHelp});
    v.field("query", query, full_text("The query"));
    v.field("documents", documents,
            OptionInfo{"The texts, each as it is or as an object with `text`"}
                .required()
                .shaped_as<std::vector<std::string>, std::vector<TextDocument>>());
    v.field("top_n", top_n, {"How many of the best are given (default: all)", "", 1});
    v.field("return_documents", return_documents, {"Repeat the texts in the answer"});
  }
};

struct RerankDocumentsReply {
  using TextDocument = RerankDocumentsRequest::TextDocument;
  struct Result {
    int64_t index = 0;
    double relevance_score = 0;
    std::optional<TextDocument> document;
    void visit(OptionVisitor& v) {
      v.required("index", index, "Which of the documents");
      v.required("relevance_score", relevance_score, "Higher is better");
      v.field("document", document, {"With return_documents"});
    }
  };
  std::string object = "list", model;
  std::vector<Result> results;
  Usage usage;
  void visit(OptionVisitor& v) {
    v.required("object", object);
    v.required("model", model);
    v.required("results", results, "Best first");
    v.required("usage", usage);
  }
};

struct Rank {
  int64_t index = 0;
  std::optional<std::string> text;
  double score = 0;
  void visit(OptionVisitor& v) {
    v.required("index", index, "Which of the texts");
    v.field("text", text, {"With return_text"});
    v.required("score", score, "Higher is better");
  }
};

// The similarity of the first text with each of the others, as `simile similarity` computes it.
std::vector<double> compare_texts(const Engine& engine, const RouteCall& call,
                                  const std::vector<TextGroup>& groups) {
  const ModelSettings& settings = engine.model().encoder->settings();
  const Matrix<float> vectors =
      engine.embedder().embed(groups, {settings.normalize, 0}, call.patience, call.cost);
  const Similarity similarity = parse_similarity(settings.similarity);
  std::vector<double> scores;
  for (int64_t i = 1; i < vectors.rows; ++i) {
    scores.push_back(compare_exactly(similarity, vectors.row(0), vectors.row(i), vectors.cols));
  }
  return scores;
}

// Rejects options that have no effect with a head that reads both texts together.
void check_request_for_head(const RerankRequest& request) {
  SIMILE_REQUEST_CHECK(!request.group(request.texts).truncate_left, Refusal::kInvalid,
                       "\"truncation_direction\": query and text are read together, and the longer "
                       "one loses its end",
                       "truncation_direction");
  SIMILE_REQUEST_CHECK(request.prompt_name.empty(), Refusal::kInvalid,
                       "\"prompt_name\": query and text are read together, without a prompt",
                       "prompt_name");
}

std::vector<double> score_by_head(const Engine& engine, const RouteCall& call,
                                  const RerankRequest& request) {
  const auto scores = std::make_shared<std::vector<double>>();
  run_head(engine, call, request.texts, request.truncate,
           [reranker = engine.model().reranker, request, scores](EncodeCounts& counts) {
             *scores = reranker->score(request.query, request.texts, silent_events(), &counts,
                                       request.raw_scores);
           });
  return std::move(*scores);
}

// The texts best first. So many at a time wait in the queue and are scored, so that other requests
// come between.
std::vector<Rank> rank(const Engine& engine, const RouteCall& call, const RerankRequest& request) {
  call.cost.ranks = true;
  const Reranker* const reranker = engine.model().reranker.get();
  if (reranker != nullptr) check_request_for_head(request);
  std::vector<Rank> ranks;
  RerankRequest part = request;
  const size_t count = request.texts.size();
  const auto together = static_cast<size_t>(engine.limits().request_texts);
  for (size_t begin = 0; begin < count; begin += together) {
    part.texts.assign(request.texts.begin() + begin,
                      request.texts.begin() + std::min(begin + together, count));
    const std::vector<double> scores =
        reranker != nullptr
            ? score_by_head(engine, call, part)
            : compare_texts(engine, call,
                            {part.group(std::vector<std::string>{part.query}, TextRole::kQuery),
                             part.group(part.texts, TextRole::kDocument)});
    for (const double score : scores) {
      const auto index = static_cast<int64_t>(ranks.size());
      ranks.push_back({index, std::nullopt, score});
      if (request.return_text) ranks.back().text = request.texts[static_cast<size_t>(index)];
    }
  }
  std::stable_sort(ranks.begin(), ranks.end(),
                   [](const Rank& a, const Rank& b) { return a.score > b.score; });
  return ranks;
}

template <typename T>
Written<T> ranked_reply(const Engine& engine, const T& value) {
  Reply reply = json_reply(value);
  const Reranker* const reranker = engine.model().reranker.get();
  reply.headers.emplace_back("x-rerank-by", reranker != nullptr
                                                ? "head " + reranker->head().settings().name
                                                : engine.model().encoder->settings().similarity);
  return {std::move(reply)};
}

std::vector<double> answer_similarity(const Engine& engine, const RouteCall& call,
                                      const SimilarityRequest& request) {
  const ReadingKeys& like = request.parameters;
  const std::vector<std::string> source = {request.inputs.source_sentence};
  return compare_texts(engine, call, {like.group(source), like.group(request.inputs.sentences)});
}

Written<std::vector<Rank>> answer_rerank(const Engine& engine, const RouteCall& call,
                                         const RerankRequest& request) {
  return ranked_reply(engine, rank(engine, call, request));
}

Written<RerankDocumentsReply> answer_rerank_documents(const Engine& engine, const RouteCall& call,
                                                      const RerankDocumentsRequest& request) {
  if (!request.model.empty()) check_model(engine, call, request.model);
  RerankRequest ranked;
  ranked.query = request.query;
  ranked.texts = read_documents(request.documents, "documents", engine.limits());
  ranked.return_text = request.return_documents;
  RerankDocumentsReply reply;
  for (const Rank& one : rank(engine, call, ranked)) {
    if (static_cast<int64_t>(reply.results.size()) == request.top_n) break;
    reply.results.push_back({one.index, one.score, std::nullopt});
    if (one.text) reply.results.back().document = {*one.text};
  }
  reply.model = engine.name();
  reply.usage = {call.cost.tokens, call.cost.tokens};
  return ranked_reply(engine, reply);
}

}  // namespace

std::vector<Route> compare_routes() {
  return {route("similarity", "POST", "/similarity",
                "How similar a text is to each of others, by the model's similarity",
                answer_similarity),
          route("rerank", "POST", "/rerank",
                "Texts in the order in which they answer a query: by a head that reads both "
                "together, or, where the model has none, by the similarity of vectors (header "
                "x-rerank-by). A head takes no prompt, and cuts the longer text at its end",
                answer_rerank),
          route("rerankDocuments", "POST", "/v1/rerank",
                "The same in the form of Jina and Cohere; of --bulk-texts documents at most",
                answer_rerank_documents, {Refusal::kUnknownModel}, BodySize::kBulk),
          route("rerankDocumentsByV2", "POST", "/v2/rerank", "The same, where Cohere has it now",
                answer_rerank_documents, {Refusal::kUnknownModel}, BodySize::kBulk)};
}

}  // namespace simile::detail
