// SPDX-License-Identifier: Apache-2.0
#include "simile/model/ppmi_start.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "simile/core/error.h"
#include "simile/core/parallel.h"
#include "simile/core/random.h"
#include "simile/model/detail/co_occurrence.h"

namespace simile {
namespace {

void divide_by_length(float* row, int64_t size) {
  const double squares = std::inner_product(row, row + size, row, 0.0);
  const double length = std::sqrt(squares);
  if (length < 1e-6) return;
  for (int64_t j = 0; j < size; ++j) row[j] = static_cast<float>(row[j] / length);
}

// Adds the noise to each row of the table and scales it, as the header says.
void finish_table(const PieceCorpus& corpus, double noise, uint64_t seed, Matrix<float>& table) {
  const double deviation = noise / std::sqrt(static_cast<double>(table.cols));
  run_parallel(table.rows, 256, [&](int64_t i) {
    RandomStream stream(seed, "token vectors", static_cast<uint64_t>(i));
    float* const row = table.row(i);
    for (int64_t j = 0; j < table.cols; ++j) {
      row[j] += static_cast<float>(deviation * stream.normal());
    }
    divide_by_length(row, table.cols);
  });
  scale_rows(corpus.idf(), corpus.counted(), table.values.data(), table.cols);
}

void check_size(const detail::PpmiMatrix& ppmi, const PieceCorpus& corpus, int64_t D) {
  const auto found = static_cast<int64_t>(ppmi.tokens.size());
  SIMILE_CHECK(found >= D, ErrorKind::kInput,
               fmt::format("the corpus has {} different tokens in {} sequences, which cannot give "
                           "vectors of {} numbers; give more text, fewer dimensions, or start from "
                           "random vectors",
                           found, corpus.sequences(), D));
}

}  // namespace

void PpmiOptions::visit(OptionVisitor& v) {
  v.field("window", window, {"how far apart two tokens may stand to be counted", "tokens", 1, 1e6});
  v.field("weighting", weighting,
          choice_info("what a pair d tokens apart counts: flat 1, linear window + 1 - d",
                      {"flat", "linear"}));
  v.field("smoothing", smoothing,
          {"power of a context's frequency: below 1, rare contexts count less", "", 0, 1});
  v.field(
      "shift", shift,
      {"taken off the mutual information before it is cut at 0 (log of the number of negatives)",
       "", 0});
  v.field("minimum_count", minimum_count,
          {"weight that a pair must have been counted with", "", 0});
  v.field("power", power, {"of the singular values that the vectors are scaled with", "", 0, 1});
  v.field("noise", noise, {"length of the random vector added to each of length 1", "", 0});
  v.field("iterations", iterations, {"of the subspace iteration", "", 0});
  v.field("oversample", oversample, {"columns beyond the dimensions that it works on", "", 0});
  v.field(
      "max_tokens", max_tokens,
      {"tokens of the corpus held in memory, 8 bytes each; of a larger one every second, fourth "
       "... text is counted",
       "tokens", 1, 2e9});
}

Matrix<float> ppmi_start(const PieceCorpus& corpus, int64_t D, const PpmiOptions& options,
                         EventSink& events) {
  const auto tell = [&events](const char* task, const char* unit) {
    return [&events, task, unit](int64_t done, int64_t total) {
      events.progress({task, done, total, unit, {}});
    };
  };
  const auto seed = static_cast<uint64_t>(options.seed);
  const detail::PpmiMatrix ppmi = detail::count_ppmi(corpus, options, tell("count", "tokens"));
  check_size(ppmi, corpus, D);
  const detail::TruncatedSvd svd =
      detail::truncated_svd(ppmi.matrix, {D, options.oversample, options.iterations, seed},
                            tell("factorise", "products"));
  std::vector<double> scales;
  for (const double value : svd.values) scales.push_back(std::pow(value, options.power));
  Matrix<float> table(corpus.vocabulary(), D);
  for (int64_t i = 0; i < svd.left.rows; ++i) {
    float* const row = table.row(ppmi.tokens[static_cast<size_t>(i)]);
    std::transform(scales.begin(), scales.end(), svd.left.row(i), row,
                   [](double scale, float u) { return static_cast<float>(scale * u); });
    divide_by_length(row, D);
  }
  finish_table(corpus, options.noise, seed, table);
  return table;
}

Matrix<float> random_start(const PieceCorpus& corpus, int64_t D, uint64_t seed) {
  Matrix<float> table(corpus.vocabulary(), D);
  finish_table(corpus, 1, seed, table);
  return table;
}

}  // namespace simile
