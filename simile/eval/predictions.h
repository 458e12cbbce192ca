// SPDX-License-Identifier: Apache-2.0
// The predictions of a model for each example of an evaluation, as files. The tasks write them;
// they are read to compare models, to show errors and to compute the metrics again.
//
//   task            file            columns
//   sts, pairs      NAME.tsv        left right gold score
//   classification  NAME.tsv        text, or left and right; gold predicted probability
//   ranking         NAME.trec       a TREC run, with NAME.queries.tsv beside it:
//                                   query_id query METRICS... [seen] first_relevant top_id top_text
//                                   relevant_id relevant_text
//
// Columns of a query: `seen` is 1 if a relevant document is in the training data, otherwise 0; the
// column is missing if the training data is not known. `first_relevant` is the rank of its first
// relevant document (0: none was found), top the document of rank 1, relevant the relevant document
// ranked highest. If none was found, that is the most relevant one of the corpus; empty without
// any. The table of a run that somebody else made (evaluate_run()) has no texts and no documents.
// Tabs and line ends become spaces.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simile/eval/report.h"
#include "simile/eval/task.h"
#include "simile/metric/significance.h"

namespace simile {

// The path of an evaluation's predictions in `folder`. In the name, or the task where there is
// none, a slash, a per cent sign, a leading dot and control characters are written as %XX.
std::string predictions_file(const std::string& folder, const std::string& task,
                             const std::string& name);

// The table of queries beside a run: NAME.trec -> NAME.queries.tsv.
std::string query_table_file(const std::string& run_path);

enum class PredictionKind { kScores, kClasses, kQueries };

// Columns side by side; columns of another task are empty.
struct Predictions {
  PredictionKind kind = PredictionKind::kScores;
  std::string path;
  std::vector<std::string> left, right;  // texts (right: may be empty); ids and query texts
  std::vector<double> gold, score;       // kScores
  std::vector<std::string> gold_class, predicted;  // kClasses
  std::vector<double> probability;                 // kClasses: of the class predicted

  // kQueries
  std::vector<std::string> metrics;
  std::vector<std::vector<double>> values;  // [metrics][queries]
  std::vector<int64_t> seen;                // 0 or 1; empty: not known
  std::vector<int64_t> first_relevant;
  std::vector<std::string> top_id, top_text, relevant_id, relevant_text;

  int64_t size() const { return static_cast<int64_t>(left.size()); }
};

// A text as the field of a .tsv: tabs and line ends become spaces.
std::string clean_field(std::string text);

// For a .trec file, reads the table of queries. Errors (kInput): no such file, other columns.
Predictions read_predictions(const std::string& path);

// Writes the columns above; for queries, those of the table beside the run. Errors: ErrorKind::kIo.
void write_predictions(const std::string& path, const Predictions& predictions);

// Writes the examples of several files of predictions of one evaluation, one after the other, to
// `path`, of runs (.trec) the runs too, and returns them. If a query's id occurs in several of the
// files, all ids get their file's number, from 0, as a prefix: "2.q7". Errors: ErrorKind::kInput
// for a file that is missing or of another kind than the first, ErrorKind::kIo.
Predictions join_predictions(const std::vector<std::string>& files, const std::string& path);

// Errors: ErrorKind::kInput when the two are not of the same examples in the same order with the
// same gold answers; names the first one that differs.
void check_same_examples(const Predictions& a, const Predictions& b);

// The metric of any choice of the examples, as a bootstrap draws them; it takes time linear in
// their number. Empty if it cannot be computed from these predictions. These can: for sts spearman
// and pearson; for pairs ap and, with the report's thresholds, accuracy ("threshold"), mcc and f1
// ("f1_threshold"); for classifications accuracy and macro_f1 of the occurring classes; for
// rankings the means of the table's columns. `report` is theirs, for its thresholds; it may be
// null.
Statistic make_statistic(const Predictions& predictions, const std::string& metric,
                         const Report* report);

// Whether the statistic of all these examples equals the reported value to 1e-6. Otherwise they are
// from another evaluation, or the metric is not one of single examples.
bool gives_reported(const Statistic& statistic, const Predictions& predictions, double reported);

// Samples of a bootstrap (1,000 to 10,000) that draw about `work` examples in all.
int64_t affordable_samples(int64_t examples, int64_t work);

// Gives the report of these predictions the 95 % bootstrap interval of each of its metrics that is
// computed from them (gives_reported()): examples drawn with replacement under seed 1, as often as
// is affordable_samples(). Thresholds stay as they were chosen on all examples. To be called once.
void add_intervals(const Predictions& predictions, Report& report);

// A report made from a file of predictions alone. If the gold answers are 0 and 1 and both occur,
// the task is pairs. `model` and `name` are left empty.
Report report_predictions(const Predictions& predictions);

}  // namespace simile
