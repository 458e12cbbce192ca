// SPDX-License-Identifier: Apache-2.0
#include "simile/eval/embedding_scorer.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "simile/core/check.h"
#include "simile/kernel/pooling.h"

namespace simile {
namespace {

// Each distinct text once, and where to find it.
class DistinctTexts {
 public:
  std::vector<int64_t> add(const std::vector<std::string>& texts) {
    std::vector<int64_t> rows;
    rows.reserve(texts.size());
    for (const std::string& text : texts) {
      const auto added = row_of_.emplace(text, static_cast<int64_t>(texts_.size()));
      if (added.second) texts_.push_back(text);
      rows.push_back(added.first->second);
    }
    return rows;
  }
  const std::vector<std::string>& texts() const { return texts_; }

 private:
  std::unordered_map<std::string, int64_t> row_of_;
  std::vector<std::string> texts_;
};

Matrix<float> embed_checked(const EmbeddingScorer::Embed& embed,
                            const std::vector<std::string>& texts) {
  Matrix<float> embeddings = embed(texts);
  const int64_t count = static_cast<int64_t>(texts.size());
  SIMILE_CHECK(embeddings.rows == count && embeddings.cols > 0, ErrorKind::kFailed,
               "expected one embedding for each of {} texts, found a matrix of {} x {}", count,
               embeddings.rows, embeddings.cols);
  for (int64_t i = 0; i < count; ++i) {
    const float* row = embeddings.row(i);
    const bool finite =
        std::all_of(row, row + embeddings.cols, [](float value) { return std::isfinite(value); });
    SIMILE_CHECK(finite, ErrorKind::kFailed,
                 "the embedding of '{:.60}' is not finite: the model or its training is broken",
                 texts[static_cast<size_t>(i)]);
  }
  return embeddings;
}

// The embeddings of two lists of texts; `right` is empty where both share one matrix.
struct TwoSides {
  Matrix<float> left_matrix, right_matrix;
  bool shared = false;
  std::vector<int64_t> left_rows, right_rows;
  const Matrix<float>& right() const { return shared ? left_matrix : right_matrix; }
};

TwoSides embed_sides(const EmbeddingScorer::Embed& embed_left,
                     const EmbeddingScorer::Embed& embed_right,
                     const std::vector<std::string>& left, const std::vector<std::string>& right) {
  TwoSides sides;
  sides.shared = !embed_left;
  DistinctTexts left_texts, right_texts;
  sides.left_rows = left_texts.add(left);
  sides.right_rows = (sides.shared ? left_texts : right_texts).add(right);
  sides.left_matrix = embed_checked(sides.shared ? embed_right : embed_left, left_texts.texts());
  if (!sides.shared) sides.right_matrix = embed_checked(embed_right, right_texts.texts());
  SIMILE_CHECK(sides.left_matrix.cols == sides.right().cols, ErrorKind::kFailed,
               "expected embeddings of one length, found {} and {}", sides.left_matrix.cols,
               sides.right().cols);
  return sides;
}

// A search holds the best documents of its queries twice; enough queries to keep all threads busy.
constexpr size_t kQueriesAtOnce = 1024;

// The documents that are anyone's candidate, and each candidate's place among them.
struct ChosenDocuments {
  std::vector<int64_t> documents;  // rising
  std::vector<std::vector<int64_t>> candidates;
};

ChosenDocuments choose_documents(const std::vector<std::vector<int64_t>>& candidates,
                                 size_t documents) {
  std::vector<int64_t> place(documents, -1);
  for (const auto& of_query : candidates) {
    for (const int64_t d : of_query) place[static_cast<size_t>(d)] = 0;
  }
  ChosenDocuments chosen;
  for (size_t d = 0; d < documents; ++d) {
    if (place[d] < 0) continue;
    place[d] = static_cast<int64_t>(chosen.documents.size());
    chosen.documents.push_back(static_cast<int64_t>(d));
  }
  for (const auto& of_query : candidates) {
    auto& places = chosen.candidates.emplace_back();
    for (const int64_t d : of_query) places.push_back(place[static_cast<size_t>(d)]);
  }
  return chosen;
}

// The embeddings of a corpus and its queries, normalised where the cosine asks for it.
class EmbeddingScores : public CorpusScores {
 public:
  EmbeddingScores(TwoSides sides, Similarity similarity)
      : sides_(std::move(sides)), metric_(ranking_metric(similarity)) {
    if (similarity != Similarity::kCosine) return;
    for (Matrix<float>* matrix : {&sides_.left_matrix, &sides_.right_matrix}) {
      normalise_rows(matrix->values.data(), matrix->rows, matrix->cols);
    }
  }

  int64_t documents() const override { return static_cast<int64_t>(sides_.right_rows.size()); }

  void score(int64_t first, int64_t count, double* scores) const override {
    const Matrix<float> queries = gather_queries(first, count);
    exact_scores(rows(), documents(), queries.values.data(), count, queries.cols, metric_, scores,
                 sides_.right_rows.data());
  }

  void score_some(int64_t query, const std::vector<int64_t>& chosen,
                  double* scores) const override {
    std::vector<int64_t> places;
    places.reserve(chosen.size());
    for (const int64_t d : chosen) places.push_back(sides_.right_rows[static_cast<size_t>(d)]);
    const Matrix<float> queries = gather_queries(query, 1);
    exact_scores(rows(), static_cast<int64_t>(chosen.size()), queries.values.data(), 1,
                 queries.cols, metric_, scores, places.data());
  }

  // The best documents, without the scores of the others.
  std::vector<std::vector<Hit>> search(int64_t first, int64_t count, int64_t depth) const {
    const Matrix<float> queries = gather_queries(first, count);
    return exact_search(rows(), documents(), queries.values.data(), count, queries.cols,
                        depth > 0 ? depth : documents(), metric_, sides_.right_rows.data());
  }

 private:
  const float* rows() const { return sides_.right().values.data(); }
  Matrix<float> gather_queries(int64_t first, int64_t count) const {
    Matrix<float> queries(count, sides_.left_matrix.cols);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t row = sides_.left_rows[static_cast<size_t>(first + i)];
      std::copy_n(sides_.left_matrix.row(row), queries.cols, queries.row(i));
    }
    return queries;
  }

  TwoSides sides_;
  VectorMetric metric_;
};

}  // namespace

double compare_exactly(Similarity similarity, const float* a, const float* b, int64_t D) {
  const bool is_cosine = similarity == Similarity::kCosine;
  if (is_cosine && std::equal(a, a + D, b)) {
    return std::any_of(a, a + D, [](float x) { return x != 0; }) ? 1 : 0;
  }
  double dot = 0, aa = 0, bb = 0, squares = 0, absolutes = 0;
  for (int64_t i = 0; i < D; ++i) {
    const double x = a[i], y = b[i];
    dot += x * y;
    aa += x * x;
    bb += y * y;
    squares += (x - y) * (x - y);
    absolutes += std::fabs(x - y);
  }
  switch (similarity) {
    case Similarity::kCosine:
      return aa > 0 && bb > 0 ? std::clamp(dot / (std::sqrt(aa) * std::sqrt(bb)), -1.0, 1.0) : 0;
    case Similarity::kDot:
      return dot;
    case Similarity::kEuclidean:
      return -std::sqrt(squares);
    case Similarity::kManhattan:
      return -absolutes;
  }
  return 0;
}

EmbeddingScorer::EmbeddingScorer(std::string name, Embed embed, Similarity similarity,
                                 Retrieval retrieval, RunHead heads)
    : name_(std::move(name)),
      embed_(std::move(embed)),
      retrieval_(std::move(retrieval)),
      similarity_(similarity),
      heads_(std::move(heads)) {}

std::vector<double> EmbeddingScorer::score_pairs(const std::vector<std::string>& left,
                                                 const std::vector<std::string>& right) {
  if (left.empty()) return {};
  const TwoSides sides = embed_sides(nullptr, embed_, left, right);
  std::vector<double> scores(left.size());
  for (size_t i = 0; i < left.size(); ++i) {
    scores[i] = compare_exactly(similarity_, sides.left_matrix.row(sides.left_rows[i]),
                                sides.right().row(sides.right_rows[i]), sides.left_matrix.cols);
  }
  return scores;
}

std::vector<Ranking> EmbeddingScorer::rank(const std::vector<std::string>& queries,
                                           const std::vector<std::string>& corpus,
                                           const std::vector<std::vector<int64_t>>& candidates,
                                           int64_t depth) {
  std::vector<Ranking> rankings(queries.size());
  if (queries.empty() || corpus.empty()) return rankings;
  if (!candidates.empty()) return rank_candidates(queries, corpus, candidates, depth);
  const EmbeddingScores scores(embed_sides(retrieval_.queries, embed_documents(), queries, corpus),
                               similarity_);
  for (size_t first = 0; first < queries.size(); first += kQueriesAtOnce) {
    const size_t count = std::min(kQueriesAtOnce, queries.size() - first);
    const auto hits =
        scores.search(static_cast<int64_t>(first), static_cast<int64_t>(count), depth);
    for (size_t i = 0; i < count; ++i) {
      for (const Hit& hit : hits[i]) rankings[first + i].push_back({hit.id, hit.score});
    }
  }
  return rankings;
}

// Documents that nobody asks for are not embedded.
std::vector<Ranking> EmbeddingScorer::rank_candidates(
    const std::vector<std::string>& queries, const std::vector<std::string>& corpus,
    const std::vector<std::vector<int64_t>>& candidates, int64_t depth) {
  const ChosenDocuments chosen = choose_documents(candidates, corpus.size());
  std::vector<std::string> texts;
  texts.reserve(chosen.documents.size());
  for (const int64_t d : chosen.documents) texts.push_back(corpus[static_cast<size_t>(d)]);
  std::vector<Ranking> rankings = Scorer::rank(queries, texts, chosen.candidates, depth);
  for (Ranking& ranking : rankings) {
    for (RankedDocument& ranked : ranking) {
      ranked.document = chosen.documents[static_cast<size_t>(ranked.document)];
    }
  }
  return rankings;
}

std::unique_ptr<CorpusScores> EmbeddingScorer::score_corpus(
    const std::vector<std::string>& queries, const std::vector<std::string>& corpus) {
  return std::make_unique<EmbeddingScores>(
      embed_sides(retrieval_.queries, embed_documents(), queries, corpus), similarity_);
}

Matrix<float> EmbeddingScorer::embed(const std::vector<std::string>& texts) {
  DistinctTexts distinct;
  const std::vector<int64_t> rows = distinct.add(texts);
  const Matrix<float> vectors = embed_checked(embed_, distinct.texts());
  Matrix<float> all(static_cast<int64_t>(rows.size()), vectors.cols);
  for (size_t i = 0; i < rows.size(); ++i) {
    std::copy_n(vectors.row(rows[i]), vectors.cols, all.row(static_cast<int64_t>(i)));
  }
  return all;
}

void EmbeddingScorer::embed_once(const std::shared_ptr<const SharedTexts>& texts) {
  if (std::exchange(embeds_once_, true)) return;
  for (Embed* embed : {&embed_, &retrieval_.queries, &retrieval_.documents}) {
    if (!*embed) continue;
    const auto checked = [embed = *embed](const std::vector<std::string>& asked) {
      return embed_checked(embed, asked);
    };
    *embed = embed_shared_once(checked, texts);
  }
}

EmbeddingScorer::RunHead head_runner(std::shared_ptr<const SentenceEncoder> encoder,
                                     std::vector<Head> heads, const EncodeOptions& options,
                                     EventSink& events) {
  if (heads.empty()) return nullptr;
  return [encoder = std::move(encoder), heads = std::move(heads), options, &events](
             const std::string& name, const std::vector<std::string>& left,
             const std::vector<std::string>& right) {
    std::vector<HeadSettings> settings;
    for (const Head& head : heads) settings.push_back(head.settings());
    const Head& head = heads[find_head(settings, name)];
    return HeadOutput{head.settings().output, head.settings().class_names,
                      Predictor(*encoder, head).predict(left, right, options, events)};
  };
}

std::unique_ptr<EmbeddingScorer> make_encoder_scorer(
    const std::string& name, const std::shared_ptr<const SentenceEncoder>& encoder,
    std::vector<Head> heads, const EncodeOptions& options, EventSink& events,
    const std::function<void(const EncodeCounts&)>& counted) {
  const auto embed_as = [&](TextRole role) -> EmbeddingScorer::Embed {
    EncodeOptions of_role = options;
    of_role.role = role;
    return [encoder, of_role, counted, &events](const std::vector<std::string>& texts) {
      EncodeCounts counts;
      Matrix<float> vectors = encoder->encode(texts, of_role, events, &counts);
      if (counted) counted(counts);
      return vectors;
    };
  };
  const auto prompt_of = [&](TextRole role) {
    EncodeOptions of_role = options;
    of_role.role = role;
    return encoder->prompt(of_role);
  };
  EmbeddingScorer::Retrieval retrieval;
  if (prompt_of(TextRole::kDocument) != prompt_of(TextRole::kAny)) {
    retrieval.documents = embed_as(TextRole::kDocument);
  }
  if (prompt_of(TextRole::kQuery) != prompt_of(TextRole::kDocument)) {
    retrieval.queries = embed_as(TextRole::kQuery);
  }
  return std::make_unique<EmbeddingScorer>(
      name, embed_as(TextRole::kAny), parse_similarity(encoder->settings().similarity), retrieval,
      head_runner(encoder, std::move(heads), options, events));
}

}  // namespace simile
