// SPDX-License-Identifier: Apache-2.0
// Conclusions from runs of several seeds: which claims of a paper's table hold in ours
// (reproduction.h), and whether a search found better settings (tuning.h).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "simile/experiment/planned_run.h"
#include "simile/experiment/reproduction.h"
#include "simile/experiment/tuning.h"
#include "simile/report/comparison.h"

namespace simile {

// Whether no two of the metrics, EVALUATION.METRIC, are of the same evaluation.
bool are_apart(const std::vector<std::string>& metrics);

// The 95 % interval of the mean of figures which are taken for independent: squares of the
// distances to the limits add up (Zou and Donner, Statistics in Medicine 27, 2008). Examples that
// are in several evaluations make it too narrow. Takes one figure at least.
Interval interval_of_mean(const std::vector<FigureInterval>& figures);

// Figures drawn so far, by run folders and EVALUATION.METRIC, for the means of several evaluations.
using DrawnFigures = std::map<std::pair<std::vector<std::string>, std::string>, FigureInterval>;

// Over the test examples, of a cell with figures of its column: that of the mean over seeds and
// metrics. None for a baseline and for a mean of several metrics of one evaluation; where
// example_interval() has none or fails, `problem` says why.
std::optional<Interval> cell_interval(const TableColumn& column, const TableCell& cell,
                                      DrawnFigures& drawn, std::string& problem);

// Its claim, column and paper_difference are left to the caller, its verdict to judge_claims().
JudgedClaim test_claim(const TableColumn& column, TableCell above, TableCell below,
                       EventSink& events);

// Corrects the p-values for the number of claims of all tables, and gives the verdicts.
void judge_claims(std::vector<Reproduction>& tables);

// The significance_mark() of a difference from the reference row, by the paired t-test over the
// seeds that both have; empty without two of them.
std::string cell_mark(const TableCell& cell, const TableCell& reference);

JudgedOrder judge_order(const Reproduction& result, size_t column);

// The metrics of the recipe's tests, or, where it has none, of its evaluations: of each seed those
// that both of its outcomes have, in the order of the reports. `outcomes`: for each seed that of
// the recipe as it is, then that of the best settings.
std::vector<TestedMetric> compare_tests(const TrainOptions& recipe,
                                        const std::vector<RunOutcome>& outcomes);

// "MAP: the paper's order of rows: holds (Kendall's tau +1.00, p = 0.0167); 6 of 6 pairs ..."
std::string order_line(const Reproduction& result, const JudgedOrder& order);

}  // namespace simile
