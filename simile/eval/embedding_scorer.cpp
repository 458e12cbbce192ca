// SPDX-License-Identifier: Apache-2.0
#include "simile/eval/embedding_scorer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "simile/core/error.h"
#include "simile/eval/detail/parallel_blocks.h"

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
               fmt::format("expected one embedding for each of {} texts, found a matrix of {} x {}",
                           count, embeddings.rows, embeddings.cols));
  for (int64_t i = 0; i < count; ++i) {
    const float* row = embeddings.row(i);
    const bool finite =
        std::all_of(row, row + embeddings.cols, [](float value) { return std::isfinite(value); });
    SIMILE_CHECK(
        finite, ErrorKind::kFailed,
        fmt::format("the embedding of '{:.60}' is not finite: the model or its training is "
                    "broken",
                    texts[static_cast<size_t>(i)]));
  }
  return embeddings;
}

// The embeddings of two lists of texts; `right` is empty where both share one matrix.
struct TwoSides {
  Matrix<float> left_matrix, right_matrix;
  bool shared = false;
  std::vector<int64_t> left_rows, right_rows;
  const Matrix<float>& right() const { return shared ? left_matrix : right_matrix; }
  Matrix<float>& right() { return shared ? left_matrix : right_matrix; }
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
               fmt::format("expected embeddings of one length, found {} and {}",
                           sides.left_matrix.cols, sides.right().cols));
  return sides;
}

double compare_exactly(Similarity similarity, const float* a, const float* b, int64_t D) {
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

// The sums below are cut into lanes in one fixed way, so that they give the same bits everywhere in
// the scan.
float dot_product(const float* a, const float* b, int64_t D) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < D; ++i) sum += a[i] * b[i];
  return sum;
}

float squared_distance(const float* a, const float* b, int64_t D) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < D; ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sum;
}

float absolute_distance(const float* a, const float* b, int64_t D) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < D; ++i) sum += std::fabs(a[i] - b[i]);
  return sum;
}

// `a` and `b` have unit length for the cosine.
double compare(Similarity similarity, const float* a, const float* b, int64_t D) {
  switch (similarity) {
    case Similarity::kCosine:
    case Similarity::kDot:
      return dot_product(a, b, D);
    case Similarity::kEuclidean:
      return -std::sqrt(squared_distance(a, b, D));
    case Similarity::kManhattan:
      return -absolute_distance(a, b, D);
  }
  return 0;
}

void scale_to_unit_length(Matrix<float>& matrix) {
  for (int64_t i = 0; i < matrix.rows; ++i) {
    float* row = matrix.row(i);
    double squares = 0;
    for (int64_t d = 0; d < matrix.cols; ++d) squares += static_cast<double>(row[d]) * row[d];
    const double scale = squares > 0 ? 1 / std::sqrt(squares) : 0;
    for (int64_t d = 0; d < matrix.cols; ++d) row[d] = static_cast<float>(row[d] * scale);
  }
}

constexpr int64_t kQueryBlock = 16;      // queries that share a pass over the corpus
constexpr int64_t kDocumentBlock = 128;  // embeddings that stay in the cache meanwhile

// Ranks the whole corpus for queries [begin, end).
void scan_block(const TwoSides& sides, Similarity similarity, int64_t begin, int64_t end,
                int64_t depth, std::vector<Ranking>& rankings) {
  const int64_t documents = static_cast<int64_t>(sides.right_rows.size());
  const int64_t D = sides.left_matrix.cols;
  std::vector<BestDocuments> best(static_cast<size_t>(end - begin), BestDocuments(depth));
  for (int64_t first = 0; first < documents; first += kDocumentBlock) {
    const int64_t last = std::min(first + kDocumentBlock, documents);
    for (int64_t q = begin; q < end; ++q) {
      const float* query = sides.left_matrix.row(sides.left_rows[static_cast<size_t>(q)]);
      for (int64_t d = first; d < last; ++d) {
        const float* document = sides.right().row(sides.right_rows[static_cast<size_t>(d)]);
        best[static_cast<size_t>(q - begin)].add(d, compare(similarity, query, document, D));
      }
    }
  }
  for (int64_t q = begin; q < end; ++q) {
    rankings[static_cast<size_t>(q)] = best[static_cast<size_t>(q - begin)].take();
  }
}

Ranking rank_candidates(const TwoSides& sides, Similarity similarity, size_t q,
                        const std::vector<int64_t>& candidates, int64_t depth) {
  BestDocuments best(depth);
  const float* query = sides.left_matrix.row(sides.left_rows[q]);
  for (const int64_t d : candidates) {
    const float* document = sides.right().row(sides.right_rows[static_cast<size_t>(d)]);
    best.add(d, compare(similarity, query, document, sides.left_matrix.cols));
  }
  return best.take();
}

}  // namespace

Similarity parse_similarity(const std::string& name) {
  if (name == "cosine") return Similarity::kCosine;
  if (name == "dot") return Similarity::kDot;
  if (name == "euclidean") return Similarity::kEuclidean;
  if (name == "manhattan") return Similarity::kManhattan;
  throw Error(
      ErrorKind::kRecipe,
      fmt::format("similarity: expected cosine, dot, euclidean or manhattan, found '{}'", name));
}

EmbeddingScorer::EmbeddingScorer(std::string name, Embed embed, Similarity similarity,
                                 Embed embed_queries, RunHead heads)
    : name_(std::move(name)),
      embed_(std::move(embed)),
      embed_queries_(std::move(embed_queries)),
      similarity_(similarity),
      heads_(std::move(heads)) {}

std::vector<double> EmbeddingScorer::score_pairs(const std::vector<std::string>& left,
                                                 const std::vector<std::string>& right) {
  if (left.empty()) return {};
  const TwoSides sides = embed_sides(embed_queries_, embed_, left, right);
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
  TwoSides sides = embed_sides(embed_queries_, embed_, queries, corpus);
  if (similarity_ == Similarity::kCosine) {
    scale_to_unit_length(sides.left_matrix);
    if (!sides.shared) scale_to_unit_length(sides.right_matrix);
  }
  const int64_t count = static_cast<int64_t>(queries.size());
  run_parallel_blocks(count, kQueryBlock, [&](int64_t begin, int64_t end) {
    if (candidates.empty()) {
      scan_block(sides, similarity_, begin, end, depth, rankings);
      return;
    }
    for (size_t q = static_cast<size_t>(begin); q < static_cast<size_t>(end); ++q) {
      rankings[q] = rank_candidates(sides, similarity_, q, candidates[q], depth);
    }
  });
  return rankings;
}

HeadOutput EmbeddingScorer::run_head(const std::string& head, const std::vector<std::string>& left,
                                     const std::vector<std::string>& right) {
  return heads_ ? heads_(head, left, right) : Scorer::run_head(head, left, right);
}

}  // namespace simile
