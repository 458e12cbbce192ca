// SPDX-License-Identifier: Apache-2.0
// Parts of the HTML report: escaped text, tables, and its sections, empty with nothing to show.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "simile/report/html_report.h"

namespace simile {

// For element content and for attributes in double quotes: & < > " ' become entities, broken UTF-8
// and control characters but for line ends become U+FFFD.
std::string escape_html(std::string_view text);

// Escaped, and cut after `characters` with an ellipsis.
std::string escape_shortened(std::string_view text, size_t characters);

// Cells of a table, from HTML.
std::string html_cell(const std::string& html);
std::string number_cell(const std::string& html);
std::string row_head(const std::string& html);
// A table under a head, which scrolls where the page is too narrow.
std::string html_table(const std::string& head, const std::string& rows);
// A grid of figures, each with its caption; empty without any.
std::string html_figure(const std::string& caption, const std::string& svg);
std::string figure_grid(const std::string& figures);

void add_once(std::vector<std::string>& names, const std::string& name);

// The run's name with its colour before it, and a head with all of them.
std::string show_run_name(const ShownRun& run);
std::string run_heads(const std::vector<ShownRun>& runs);

std::string results_part(const std::vector<ShownRun>& runs);
std::string curves_part(const std::vector<ShownRun>& runs, const HtmlReportOptions& options);

// Two parts from the same predictions.
struct PredictionParts {
  std::string errors, lengths;
};
PredictionParts prediction_parts(const std::vector<ShownRun>& runs, int64_t errors,
                                 const PredictionReader& read);

// One report of each evaluation (is_same_evaluation()) that some run has. They point into the runs.
std::vector<const Report*> evaluations_of(const std::vector<ShownRun>& runs);
std::string title_of(const Report& evaluation);

// The own report of each of the run's seeds or folds that has the evaluation.
struct OwnReport {
  const RunFiles* run;
  const Report* report;
};
std::vector<OwnReport> own_reports_of(const ShownRun& run, const Report& evaluation);

// The examples that a model gets most wrong, from its predictions:
//
//   scores    largest |share of scores below - share of gold answers below|, ranks being shared by
//             equal values: far too high or far too low among the others, whatever the scale
//   classes   wrong classes, the most probable first
//   queries   lowest value of map, or of the first metric where map was not computed
//
// Equally wrong examples are in the order of the file.
struct WorstError {
  int64_t example = 0;  // position in the predictions
  double error = 0;     // as above; of classes their probability, of queries 1 - metric
  double gold_rank = 0, score_rank = 0;  // of scores: shares in [0, 1]
};

// At most `count`; examples without any error are left out.
std::vector<WorstError> find_worst_errors(const Predictions& predictions, int64_t count);

// The column of kQueries that find_worst_errors() uses.
size_t error_metric(const Predictions& predictions);

}  // namespace simile
