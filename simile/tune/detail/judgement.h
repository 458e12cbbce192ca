// SPDX-License-Identifier: Apache-2.0
// What of a paper's table stands in ours: simile/tune/reproduction.h.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "simile/report/comparison.h"
#include "simile/tune/reproduction.h"

namespace simile {

// Whether no two of the metrics, EVALUATION.METRIC, are of the same evaluation.
bool are_apart(const std::vector<std::string>& metrics);

// The 95 % interval of the mean of the metrics' differences, which are taken for independent, from
// that of each: squares of the distances to its limits add up (Zou and Donner, Statistics in
// Medicine 27, 2008). Examples that stand in several evaluations make it too narrow. Of one metric
// it is its own; none where one has none.
std::optional<Interval> interval_of_mean(const std::vector<ComparedReport>& reports);

// Its claim, column and paper_difference are left to the caller.
JudgedClaim judge_claim(const TableColumn& column, TableCell above, TableCell below,
                        EventSink& events);

// Of a difference from the reference row: "*" for p < 0.05 and "_" for p < 0.1 of the paired t-test
// over the seeds both have, as RCL marks them; otherwise empty.
std::string significance_mark(const TableCell& cell, const TableCell& reference);

JudgedOrder judge_order(const Reproduction& result, size_t column);

}  // namespace simile
