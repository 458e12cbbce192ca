// SPDX-License-Identifier: Apache-2.0
// /similarity and /rerank.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

#include "simile/eval/embedding_scorer.h"
#include "simile/serve/detail/route_answers.h"
#include "simile/serve/request_error.h"
#include "simile/text/words.h"

namespace simile::detail {
namespace {

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
      const float* row = vectors.row(std::stoll(names[static_cast<size_t>(i)]));
      std::copy(row, row + rows.cols, rows.row(i));
    }
    return rows;
  };
  return EmbeddingScorer("model", row_of, similarity).score_pairs(left, right);
}

VectorOptions as_the_model_says(const Engine& engine) {
  VectorOptions options;
  options.normalize = engine.model().encoder->settings().normalize;
  return options;
}

std::vector<double> compare_texts(const Engine& engine, const RouteCall& call,
                                  const std::vector<TextGroup>& groups) {
  const Matrix<float> vectors =
      engine.embedder().embed(groups, as_the_model_says(engine), call.patience, call.cost);
  return compare_with_first(vectors,
                            parse_similarity(engine.model().encoder->settings().similarity));
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

void refuse_for_head(const char* param, const std::string& why) {
  throw RequestError(Refusal::kInvalid, fmt::format("\"{}\": {}", param, why), param);
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
    if (static_cast<int64_t>(tokens) <= limit) continue;
    refuse_for_head("truncate", fmt::format("false, but the query and a text have more than the {} "
                                            "tokens that the head reads",
                                            limit));
  }
}

// What a head that reads both texts together cannot do is refused, not left out.
void check_for_head(const Reranker& reranker, const std::string& query,
                    const std::vector<std::string>& texts, const TextGroup& like) {
  if (like.truncate_left) {
    refuse_for_head("truncation_direction",
                    "query and text are read together, and the longer one loses its end");
  }
  if (!like.prompt_name.empty()) {
    refuse_for_head("prompt_name", "query and text are read together, without a prompt");
  }
  if (!like.truncate) check_lengths(reranker, query, texts);
}

std::vector<double> score_by_head(const Engine& engine, const RouteCall& call,
                                  const std::string& query, const std::vector<std::string>& texts,
                                  bool raw) {
  call.cost.texts = static_cast<int64_t>(texts.size());
  call.cost.tokens = count_tokens(*engine.model().reranker, query, texts);
  const auto scores = std::make_shared<std::vector<double>>();
  const auto work = [reranker = engine.model().reranker, query, texts, raw, scores] {
    *scores = reranker->score(query, texts, silent_events(), nullptr, raw);
  };
  engine.embedder().worker().run(work, call.cost.texts, call.cost.tokens, call.patience,
                                 call.cost.times);
  return std::move(*scores);
}

Reply rank(const std::vector<double>& scores, const std::vector<std::string>& texts,
           bool with_text) {
  std::vector<size_t> order(scores.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return scores[a] > scores[b]; });
  OrderedJson ranks = OrderedJson::array();
  for (const size_t i : order) {
    OrderedJson rank = {{"index", i}};
    if (with_text) rank["text"] = texts[i];
    rank["score"] = scores[i];
    ranks.push_back(std::move(rank));
  }
  return json_reply(ranks);
}

}  // namespace

Reply answer_similarity(const Engine& engine, const RouteCall& call) {
  const JsonRequest request(call.body, engine.limits());
  const JsonRequest inputs = request.part("inputs");
  const TextGroup like = read_group(request.part_or_empty("parameters"));
  const TextGroup source = make_group({inputs.full_text("source_sentence")}, like);
  const TextGroup sentences = make_group(inputs.full_texts("sentences"), like);
  return json_reply(compare_texts(engine, call, {source, sentences}));
}

Reply answer_rerank(const Engine& engine, const RouteCall& call) {
  call.cost.ranks = true;
  const JsonRequest request(call.body, engine.limits());
  const std::string query = request.full_text("query");
  const std::vector<std::string> texts = request.full_texts("texts");
  const TextGroup like = read_group(request);
  const bool raw = request.flag("raw_scores").value_or(false);
  const Reranker* const reranker = engine.model().reranker.get();
  if (reranker != nullptr) check_for_head(*reranker, query, texts, like);
  const std::vector<double> scores =
      reranker != nullptr ? score_by_head(engine, call, query, texts, raw)
                          : compare_texts(engine, call,
                                          {make_group({query}, like, TextRole::kQuery),
                                           make_group(texts, like, TextRole::kDocument)});
  Reply reply = rank(scores, texts, request.flag("return_text").value_or(false));
  const std::string& similarity = engine.model().encoder->settings().similarity;
  reply.headers.emplace_back(
      "x-rerank-by", reranker != nullptr ? "head " + reranker->head().settings().name : similarity);
  return reply;
}

}  // namespace simile::detail
