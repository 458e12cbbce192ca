// SPDX-License-Identifier: Apache-2.0
// Tasks on pairs of texts, or on single texts, with a gold answer each. Their metrics are the rows
// of simile/eval/report.h. Scores of pairs are the model's or a named head's (scorer.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "simile/eval/task.h"

namespace simile {

// A file of a set: its name without folder and ending, and how many of the pairs it holds.
struct StsPart {
  std::string name;
  int64_t pairs = 0;
  int64_t begin = 0;  // its first pair in the data
};

// Semantic textual similarity: correlation of scores with graded gold scores.
//
// In a set of several files, such as a year of STS 2012 to 2016, `spearman` is over all pairs
// together (the field's "all"); `spearman_mean` is the mean over the files, `spearman_wmean` the
// mean weighted by their pairs, `spearman:FILE` the value of each; the same for pearson. A file
// with fewer than two pairs, or with equal gold scores only, has no correlation: it has no figure
// of its own and is left out of the means, with a warning; its pairs count among all.
//
// `parts` follow one another in the data and hold all of it; empty: the data has no parts. Errors
// (kInput): fewer than two pairs, or equal gold scores only.
std::unique_ptr<Task> make_sts_task(const std::string& name, PairDataset data,
                                    const std::string& head, const std::vector<StsPart>& parts);

// Paraphrase or duplicate detection: is a pair positive (gold 1) or not (gold 0)?
//
//   f1, accuracy        at the thresholds best for each on the dev set, applied to the test set
//   mcc                 at the threshold of F1, as in sentence-transformers
//   threshold           for accuracy;  f1_threshold: for F1
//
// Without a dev set (`dev` is empty) the thresholds are chosen on the test set itself, which
// flatters: the report then notes "threshold: oracle". Errors (kInput): gold scores other than 0
// and 1, or all of one kind.
std::unique_ptr<Task> make_pair_task(const std::string& name, PairDataset data, PairDataset dev,
                                     const std::string& head);

// Classification of texts, or of pairs of texts, by a model's head (empty: the only one it has):
// the class predicted is the most probable one, the first of those that are equally so. The report
// has the confusion matrix, in the head's order of classes.
//
// Classes of the data and of the head are matched by name; their order may differ, and the head may
// know more. Errors of evaluate(): kInput for a class of the data that the head does not know (with
// both lists), kUsage for a model without heads, and those of class_probabilities().
std::unique_ptr<Task> make_classification_task(const std::string& name, PairDataset data,
                                               const std::string& head);

// How a model's vectors of the texts of pairs lie:
//
//   alignment     over the pairs whose score is above `positive_above`; lower is better
//   uniformity    over the distinct texts of all pairs; lower is better
//   mean_cosine   of the distinct texts, its distance from 0 being their anisotropy
//   pc@1, pc@10   share of their variance in the first 1 and 10 principal components
//
// If there are more than 5,000 distinct texts, that many, evenly spread, are used for the last
// three, and a note says so. The model's own vectors are taken, not a head's; there are no
// predictions. Errors: kInput for no pair above `positive_above` or fewer than two texts; of
// evaluate() kUsage for a scorer without vectors.
std::unique_ptr<Task> make_geometry_task(const std::string& name, PairDataset data,
                                         double positive_above);

}  // namespace simile
