// SPDX-License-Identifier: Apache-2.0
#include "simile/eval/scorer.h"

#include <fmt/format.h>

#include "simile/core/error.h"

namespace simile {

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
  throw Error(ErrorKind::kUsage,
              fmt::format("{} ranks documents without scores of them all, so it cannot be a part "
                          "of a hybrid",
                          name()));
}

Matrix<float> Scorer::embed(const std::vector<std::string>&) {
  throw Error(ErrorKind::kUsage,
              fmt::format("{} compares texts without vectors, and task geometry is about vectors; "
                          "give a model",
                          name()));
}

HeadOutput Scorer::run_head(const std::string& head, const std::vector<std::string>&,
                            const std::vector<std::string>&) {
  throw Error(ErrorKind::kUsage,
              fmt::format("{} has no heads{}; a head is trained with the model, by a recipe whose "
                          "objective has one",
                          name(), head.empty() ? "" : ", so none called '" + head + "'"));
}

}  // namespace simile
