// SPDX-License-Identifier: Apache-2.0
// What is said of a run that is done: what it gained over its start, and whether training made all
// texts alike, which a loss may reward.
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

// What decides, each EVALUATION.METRIC: of the first test, or without tests selection.metric of the
// last stage that has one, or of the first evaluation. The metric of one evaluation is its first
// that selects, if any, otherwise its first. None without tests and evaluations.
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

// The gains on `judged`, as far as they were measured. selection.metric stands beside them
// where it is another. A loss is a stage's own, so it is read from the log at `log_path`: the
// stage's first value and the one it kept.
//
// Warns, with the likely causes, when every stage that led to the kept weights kept those it began
// with, so that they are the start; of single stages of which that is true; and when the trained
// weights are worse than the start by more than chance (the interval lies on that side).
Verdict judge_run(const TrainOptions& options, const std::string& log_path,
                  const JudgedMetrics& judged, const RunScores& scores, EventSink& events);

// Token ids of up to 200 different texts, spread over the first set of single texts that is
// trained on; none where all are joint sequences. `data`: [stages][objectives].
std::vector<std::vector<int32_t>> sample_texts(const std::vector<std::vector<ObjectiveData>>& data);

// What to say of the vectors of sample_texts() under trained weights: a warning where their mean
// cosine is above 0.99, otherwise an empty text.
std::string describe_collapse(const Matrix<float>& vectors);

// The same of a stage that a triplet loss trained, from its recent mean `loss` and the vectors, not
// normalised, of sample_texts() under its last weights: a warning where the loss stands at its
// margin (within 15 %), as it does when an anchor's positive is as far as its negative, because the
// distances of the loss's kind are near 0 (20 % of the margin on average, or less). At other
// distances the same loss is one that may still fall.
std::string describe_margin(const std::string& stage, const TripletOptions& options, double loss,
                            const Matrix<float>& vectors);

}  // namespace simile
