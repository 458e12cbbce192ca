// SPDX-License-Identifier: Apache-2.0
#include "simile/eval/scorer.h"

#include <algorithm>
#include <cmath>

#include "simile/core/check.h"
#include "simile/core/parallel.h"
#include "simile/encode/head.h"

namespace simile {
namespace {

// As many queries at a time as have room with `documents` scores each, and give all threads work.
int64_t queries_at_a_time(int64_t count, int64_t documents) {
  constexpr int64_t kScores = int64_t{1} << 22, kQueries = 32;
  const int64_t fair = (count + thread_count() - 1) / thread_count();
  const int64_t room = kScores / std::max<int64_t>(documents, 1);
  return std::clamp<int64_t>(std::min(fair, room), 1, kQueries);
}

void check_logits(const HeadOutput& output, int64_t examples, int64_t columns) {
  const Matrix<float>& logits = output.logits;
  SIMILE_CHECK(logits.rows == examples && logits.cols == columns, ErrorKind::kFailed,
               "expected logits of {} x {} of a head that gives {}, found {} x {}", examples,
               columns, output.kind, logits.rows, logits.cols);
  for (int64_t i = 0; i < logits.rows; ++i) {
    const bool finite = std::all_of(logits.row(i), logits.row(i) + columns,
                                    [](float value) { return std::isfinite(value); });
    SIMILE_CHECK(
        finite, ErrorKind::kFailed,
        "the logits of example {} (from 0) are not finite: the model or its training is broken", i);
  }
}

}  // namespace

Ranking best_documents(Ranking found, int64_t depth) {
  const auto size = static_cast<int64_t>(found.size());
  const int64_t kept = depth > 0 ? std::min(depth, size) : size;
  std::partial_sort(found.begin(), found.begin() + kept, found.end(),
                    [](const RankedDocument& a, const RankedDocument& b) {
                      return a.score != b.score ? a.score > b.score : a.document < b.document;
                    });
  found.resize(static_cast<size_t>(kept));
  return found;
}

std::vector<Ranking> rank_by_scores(const CorpusScores& scores, QueryRange range,
                                    const std::vector<std::vector<int64_t>>& candidates,
                                    int64_t depth) {
  std::vector<Ranking> rankings(static_cast<size_t>(range.count));
  const int64_t documents = scores.documents();
  const bool whole_corpus = candidates.empty();
  const int64_t together = queries_at_a_time(range.count, documents);
  run_parallel_blocks(range.count, together, [&](int64_t begin, int64_t end) {
    std::vector<double> rows(static_cast<size_t>(whole_corpus ? (end - begin) * documents : 0));
    if (whole_corpus) scores.score(range.first + begin, end - begin, rows.data());
    for (int64_t q = begin; q < end; ++q) {
      Ranking found;
      if (whole_corpus) {
        const double* row = rows.data() + (q - begin) * documents;
        for (int64_t d = 0; d < documents; ++d) {
          if (row[d] > scores.not_found()) found.push_back({d, row[d]});
        }
      } else {
        const std::vector<int64_t>& chosen = candidates[static_cast<size_t>(q)];
        std::vector<double> row(chosen.size());
        scores.score_some(range.first + q, chosen, row.data());
        for (size_t i = 0; i < chosen.size(); ++i) found.push_back({chosen[i], row[i]});
      }
      rankings[static_cast<size_t>(q)] = best_documents(std::move(found), depth);
    }
  });
  return rankings;
}

std::vector<Ranking> Scorer::rank(const std::vector<std::string>& queries,
                                  const std::vector<std::string>& corpus,
                                  const std::vector<std::vector<int64_t>>& candidates,
                                  int64_t depth) {
  if (queries.empty() || corpus.empty()) return std::vector<Ranking>(queries.size());
  const auto count = static_cast<int64_t>(queries.size());
  return rank_by_scores(*score_corpus(queries, corpus), {0, count}, candidates, depth);
}

std::unique_ptr<CorpusScores> Scorer::score_corpus(const std::vector<std::string>&,
                                                   const std::vector<std::string>&) {
  throw_error(ErrorKind::kUsage,
              "{} ranks documents without scores of them all, so it cannot be a part of a hybrid",
              name());
}

Matrix<float> Scorer::embed(const std::vector<std::string>&) {
  throw_error(ErrorKind::kUsage,
              "{} compares texts without vectors, and task geometry is about vectors; give a model",
              name());
}

HeadOutput Scorer::run_head(const std::string& head, const std::vector<std::string>&,
                            const std::vector<std::string>&) {
  throw_error(
      ErrorKind::kUsage,
      "{} has no heads{}; a head is trained with the model, by a recipe whose objective has one",
      name(), head.empty() ? "" : ", so none called '" + head + "'");
}

std::vector<std::string> head_classes(const HeadOutput& output) {
  if (output.kind == "probability" && output.class_names.empty()) return {"0", "1"};
  const size_t count = output.class_names.size();
  SIMILE_CHECK(
      (output.kind == "classes" && count > 0) || (output.kind == "probability" && count == 2),
      ErrorKind::kRecipe,
      "expected a head that tells classes apart, found one that gives {} and names {} classes",
      output.kind, count);
  return output.class_names;
}

Matrix<double> class_probabilities(const HeadOutput& output, int64_t examples) {
  const auto k = static_cast<int64_t>(head_classes(output).size());
  const bool one_logit = output.kind == "probability";
  check_logits(output, examples, one_logit ? 1 : k);
  Matrix<double> probabilities(examples, k);
  for (int64_t i = 0; i < examples; ++i) {
    const float* logits = output.logits.row(i);
    if (one_logit) {
      probabilities.at(i, 0) = sigmoid(-static_cast<double>(logits[0]));
      probabilities.at(i, 1) = sigmoid(logits[0]);
    } else {
      softmax(logits, k, probabilities.row(i));
    }
  }
  return probabilities;
}

std::vector<double> head_scores(const HeadOutput& output, int64_t examples) {
  if (output.kind == "score") {
    check_logits(output, examples, 1);
    return {output.logits.values.begin(), output.logits.values.end()};
  }
  const std::vector<std::string> classes = head_classes(output);
  SIMILE_CHECK(classes.size() == 2, ErrorKind::kRecipe,
               "expected a head that gives a pair one number or two classes, found one with {} "
               "classes; evaluate it with the task classification",
               classes.size());
  const Matrix<double> probabilities = class_probabilities(output, examples);
  std::vector<double> scores;
  for (int64_t i = 0; i < examples; ++i) scores.push_back(probabilities.at(i, 1));
  return scores;
}

}  // namespace simile
