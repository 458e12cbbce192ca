// SPDX-License-Identifier: Apache-2.0
// /similarity and /rerank.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "simile/eval/embedding_scorer.h"
#include "simile/serve/detail/route_row.h"
#include "simile/serve/request_error.h"
#include "simile/text/words.h"

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

// The similarity of the first vector with each of the others, as `simile similarity` computes it.
std::vector<double> compare_with_first(const Matrix<float>& vectors, Similarity similarity) {
  std::vector<std::string> left, right;
  for (int64_t i = 1; i < vectors.rows; ++i) {
    left.push_back("0");
    right.push_back(std::to_string(i));
  }
  const auto row_of = [&](const std::vector<std::string>& names) {
    Matrix<float> rows(static_cast<int64_t>(names.size()), vectors.cols);
    for (int64_t i = 0; i < rows.rows; ++i) {
      const float* row = vectors.row(std::stoll(names[i]));
      std::copy(row, row + rows.cols, rows.row(i));
    }
    return rows;
  };
  return EmbeddingScorer("model", row_of, similarity).score_pairs(left, right);
}

std::vector<double> compare_texts(const Engine& engine, const RouteCall& call,
                                  const std::vector<TextGroup>& groups) {
  const ModelSettings& settings = engine.model().encoder->settings();
  const Matrix<float> vectors =
      engine.embedder().embed(groups, {settings.normalize, 0}, call.patience, call.cost);
  return compare_with_first(vectors, parse_similarity(settings.similarity));
}

int64_t count_tokens(const Reranker& reranker, const std::string& query,
                     const std::vector<std::string>& texts) {
  const Tokenizer& tokenizer = reranker.encoder().tokenizer();
  std::vector<int32_t> ids;
  const auto count = [&](const std::string& text) {
    ids.clear();
    tokenizer.encode_ids(text, ids);
    return static_cast<int64_t>(ids.size());
  };
  const int64_t of_query = count(query);
  int64_t tokens = 0;
  for (const std::string& text : texts) tokens += of_query + count(text);
  return std::min(tokens, static_cast<int64_t>(texts.size()) * tokenizer.max_length());
}

void check_for_head(bool good, const char* param, const std::string& why) {
  SIMILE_REQUEST_CHECK(good, Refusal::kInvalid, fmt::format("\"{}\": {}", param, why), param);
}

// That no text and the query have more tokens together than the head reads.
void check_lengths(const Reranker& reranker, const std::string& query,
                   const std::vector<std::string>& texts) {
  const ModelSettings& settings = reranker.encoder().settings();
  const auto lowered = [&](const std::string& text) {
    return settings.lower_case ? lower_text(text) : text;
  };
  Tokenizer tokenizer = reranker.encoder().tokenizer();
  const int64_t limit = tokenizer.max_length();
  tokenizer.set_max_length(limit + 1);
  for (const std::string& text : texts) {
    const auto tokens = tokenizer.encode_pair(lowered(query), lowered(text)).ids.size();
    check_for_head(static_cast<int64_t>(tokens) <= limit, "truncate",
                   fmt::format("false, but the query and a text have more than the {} tokens that "
                               "the head reads",
                               limit));
  }
}

// What a head that reads both texts together cannot do is refused, not left out.
void check_request_for_head(const Reranker& reranker, const RerankRequest& request) {
  check_for_head(!request.group(request.texts).truncate_left, "truncation_direction",
                 "query and text are read together, and the longer one loses its end");
  check_for_head(request.prompt_name.empty(), "prompt_name",
                 "query and text are read together, without a prompt");
  if (!request.truncate) check_lengths(reranker, request.query, request.texts);
}

std::vector<double> score_by_head(const Engine& engine, const RouteCall& call,
                                  const RerankRequest& request) {
  call.cost.texts = static_cast<int64_t>(request.texts.size());
  call.cost.tokens = count_tokens(*engine.model().reranker, request.query, request.texts);
  const auto scores = std::make_shared<std::vector<double>>();
  const auto work = [reranker = engine.model().reranker, query = request.query,
                     texts = request.texts, raw = request.raw_scores, scores] {
    *scores = reranker->score(query, texts, silent_events(), nullptr, raw);
  };
  engine.embedder().worker().run(work, call.cost.texts, call.cost.tokens, call.patience,
                                 call.cost.times);
  return std::move(*scores);
}

std::vector<Rank> rank(const std::vector<double>& scores, const std::vector<std::string>& texts,
                       bool with_text) {
  std::vector<Rank> ranks(scores.size());
  for (size_t i = 0; i < scores.size(); ++i) {
    ranks[i].index = static_cast<int64_t>(i);
    if (with_text) ranks[i].text = texts[i];
    ranks[i].score = scores[i];
  }
  std::stable_sort(ranks.begin(), ranks.end(),
                   [](const Rank& a, const Rank& b) { return a.score > b.score; });
  return ranks;
}

std::vector<double> answer_similarity(const Engine& engine, const RouteCall& call,
                                      const SimilarityRequest& request) {
  const ReadingKeys& like = request.parameters;
  const std::vector<std::string> source = {request.inputs.source_sentence};
  return compare_texts(engine, call, {like.group(source), like.group(request.inputs.sentences)});
}

Written<std::vector<Rank>> answer_rerank(const Engine& engine, const RouteCall& call,
                                         const RerankRequest& request) {
  call.cost.ranks = true;
  const std::vector<std::string> query = {request.query};
  const Reranker* const reranker = engine.model().reranker.get();
  if (reranker != nullptr) check_request_for_head(*reranker, request);
  const std::vector<double> scores =
      reranker != nullptr ? score_by_head(engine, call, request)
                          : compare_texts(engine, call,
                                          {request.group(query, TextRole::kQuery),
                                           request.group(request.texts, TextRole::kDocument)});
  Reply reply = json_reply(rank(scores, request.texts, request.return_text));
  const std::string& similarity = engine.model().encoder->settings().similarity;
  reply.headers.emplace_back(
      "x-rerank-by", reranker != nullptr ? "head " + reranker->head().settings().name : similarity);
  return {std::move(reply)};
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
                answer_rerank)};
}

}  // namespace simile::detail
