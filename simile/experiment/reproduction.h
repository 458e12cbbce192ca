// SPDX-License-Identifier: Apache-2.0
// Trains a paper's table (simile/experiment/paper_table.h) row by row on the data that is there,
// and compares figures and claims with the paper's.
//
// Each row, set and seed is a run (simile/experiment/planned_run.h) in OUT/SET/ROW/run-SEED, all of
// them with seed 1 first, then with seed 2. Interrupted or killed work continues where it was. A
// row that fails, or whose data is missing, has the reason in its cells and does not affect the
// others. Several processes, also on several machines, may work in one folder: each run is done by
// one of them, and each shows the results of all.
//
// A claim that one row beats another is judged by their means over the seeds both have finished. On
// a column whose metric is better the lower it is, the row with the lower figure is the better one:
//
//   holds          it is as claimed: p < 0.05 of the paired t-test over seeds, corrected by
//                  Benjamini and Hochberg for all claims on all columns of all tables of the call,
//                  and the 95 % bootstrap interval over the examples lies on the claimed side of 0
//   does not hold  it is the reverse, by the same two
//   undecided      otherwise, and with fewer than two seeds
//
// Holm's p stands beside it. A column that is the mean of several evaluations has the interval that
// follows from theirs (interval_of_mean()). There is none for a mean of several metrics of one
// evaluation and against a baseline; the t-test decides there, and the verdict says so: "holds
// (t-test alone)".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "simile/core/error.h"
#include "simile/core/options.h"
#include "simile/eval/report.h"
#include "simile/experiment/paper_table.h"
#include "simile/metric/significance.h"

namespace simile {

struct ReproduceOptions {
  std::string data;
  std::string model;
  std::string settings;
  std::string device;
  int64_t runs = 0;
  int64_t limit = 0;
  std::string rows;
  std::vector<std::string> row, set;
  std::string out;
  bool keep_models = false;
  bool show = false;
  bool intervals = false;

  void visit(OptionVisitor& v);
};

// One figure of ours.
struct TableCell {
  std::vector<int64_t> seeds;
  std::vector<double> values;        // one per seed; fractions
  std::vector<std::string> folders;  // of the runs; empty for baselines
  bool is_per_seed = false;          // a baseline that depends on the seed: a random start
  std::optional<double> best;        // the value of the seed that is best on dev, where asked for
  double best_on_dev = 0;
  int64_t start_kept = 0;            // runs whose model is the one they began with
  std::optional<Interval> interval;  // 95 %, of the mean over the test examples: where asked for
  std::string without_interval;      // why it has none, of a trained one
  std::string problem;               // why there are none, or fewer than asked for
  bool has_failed = false;           // one of the runs: it is not for want of data or time

  Spread spread() const { return measure_spread(values); }
};

enum class ClaimVerdict { kUndecided, kHolds, kDoesNotHold };
std::string name_of(ClaimVerdict verdict);

struct JudgedClaim : PairedTest {   // b: the row that is claimed to be better, `above`
  size_t claim = 0, column = 0;     // places in the table's lists
  Better better = Better::kHigher;  // of the column's figures
  std::optional<double> paper_difference;
  size_t seeds = 0;                   // that both rows have
  std::optional<AdjustedP> adjusted;  // of t_test, for the number of claims
  std::optional<Interval> interval;
  ClaimVerdict verdict = ClaimVerdict::kUndecided;
  std::string remark;  // why it could not be judged

  std::string verdict_words() const;
};

// Judges a difference that is claimed to be above 0, or below it where lower is better; without an
// interval by the t-test alone. Without `adjusted` it is undecided.
ClaimVerdict judge(double difference, const std::optional<AdjustedP>& adjusted,
                   const std::optional<Interval>& interval, Better better = Better::kHigher);

// All pairs of rows that the paper orders in a column; there is none for a column that it does
// not. The paper's order holds (does not hold) where tau is above (below) 0 with p < 0.05.
struct JudgedOrder {
  size_t column = 0;
  int64_t same = 0, same_significant = 0, reversed = 0, reversed_significant = 0;
  int64_t rows = 0;       // that both have
  double tau = 0, p = 1;  // compare_orders() of their means, over all seeds of each
  ClaimVerdict verdict = ClaimVerdict::kUndecided;
};

struct Reproduction {
  PaperTable table;
  std::string asked;  // for it: a name or path
  ReproduceOptions options;
  std::string model, settings;
  std::vector<std::vector<TableCell>> cells;  // [rows][columns]
  std::vector<JudgedClaim> claims;
  int64_t tests = 0;  // claims on columns that were tested in all tables of the call
  std::vector<JudgedOrder> orders;
  int64_t failed = 0;   // runs that were asked for
  int64_t at_hand = 0;  // runs that were asked for whose data are there

  std::string to_text() const;
  std::string to_markdown() const;
  std::string to_json() const;
  std::string to_svg() const;  // paper and ours as dots, one line a row
};

// Trains the unfinished runs of each table and reads the others (with `show` it only reads); also
// writes NAME.txt, NAME.md, NAME.json and NAME.svg to each table's folder, which is OUT for one
// table and OUT/NAME for several. Errors: ErrorKind::kUsage for options that make no sense and for
// two tables with one folder; ErrorKind::kRecipe for a table that cannot be read;
// ErrorKind::kInterrupted.
std::vector<Reproduction> reproduce(const std::vector<std::string>& tables,
                                    const ReproduceOptions& options, EventSink& events);

}  // namespace simile
