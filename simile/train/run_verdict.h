// SPDX-License-Identifier: Apache-2.0
// The verdict on a finished run: its gain over the start, and whether training made all texts
// alike, which a loss may reward.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simile/core/error.h"
#include "simile/core/matrix.h"
#include "simile/loss/margin_losses.h"
#include "simile/report/verdict.h"
#include "simile/train/evaluations.h"
#include "simile/train/objective.h"
#include "simile/train/train_options.h"

namespace simile {

// The metrics that decide, each an EVALUATION.METRIC: that of the first test; without tests,
// selection.metric of the last stage that has one; else that of the first evaluation. An
// evaluation's metric is its first that selects, if any, otherwise its first. None without both.
struct JudgedMetrics {
  std::vector<std::string> metrics;
  bool are_rankings = false;
};
JudgedMetrics judged_metrics(const TrainOptions& options, const Evaluations& evaluations,
                             const Evaluations& tests);

// Weights before the first step, those kept in the end, both together with BM25, and BM25 alone: on
// the evaluations they were scored on.
struct RunScores {
  Scores start, trained, start_hybrid, trained_hybrid, bm25;
};

// The gains on `judged`, as far as they were measured, and on selection.metric if it is another
// metric. A loss is a stage's own, so it is read from the log at `log_path`: the stage's first
// value and the one it kept.
//
// Warns, with the likely causes, if every stage that led to the kept weights kept those it began
// with, so that they are the start; if single stages did; and if the trained weights are worse than
// the start by more than chance (the whole interval is below 0).
Verdict judge_run(const TrainOptions& options, const std::string& log_path,
                  const JudgedMetrics& judged, const RunScores& scores, EventSink& events);

// Token ids of up to 200 different texts, spread over the first set of single texts that is
// trained on; none where all are joint sequences. `data`: [stages][objectives].
std::vector<std::vector<int32_t>> sample_texts(const std::vector<std::vector<ObjectiveData>>& data);

// A warning if vectors of sample_texts() have a mean cosine above 0.99, otherwise an empty text.
std::string describe_collapse(const Matrix<float>& vectors);

// The same for a stage that a triplet loss trained, from its recent mean `loss` and the vectors,
// not normalised, of sample_texts() under its last weights. Warns if the loss is stuck at its
// margin (within 15 %) while the distances of the loss's kind are near 0 (20 % of the margin on
// average, or less): then an anchor's positive is as far away as its negative. At larger distances
// the same loss may still fall.
std::string describe_margin(const std::string& stage, const TripletOptions& options, double loss,
                            const Matrix<float>& vectors);

}  // namespace simile
