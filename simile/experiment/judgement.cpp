// SPDX-License-Identifier: Apache-2.0
#include "simile/experiment/detail/judgement.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "simile/core/error.h"
#include "simile/core/text_table.h"
#include "simile/eval/report.h"
#include "simile/metric/agreement.h"
#include "simile/train/selection.h"

namespace simile {
namespace {

constexpr int64_t kSamples = 2000;  // of the bootstrap
constexpr int64_t kPermutations = 10000;

// The values of two cells under the seeds that both have.
struct PairedCells {
  std::vector<double> a, b;
  std::vector<std::string> a_folders, b_folders;

  PairedTest test(int64_t samples = 0) const { return test_pairs(b, a, samples); }
};

PairedCells pair_cells(const TableCell& a, const TableCell& b) {
  PairedCells pairs;
  for (size_t i = 0; i < a.seeds.size(); ++i) {
    const auto found = std::find(b.seeds.begin(), b.seeds.end(), a.seeds[i]);
    if (found == b.seeds.end()) continue;
    const auto place = static_cast<size_t>(found - b.seeds.begin());
    pairs.a.push_back(a.values[i]);
    pairs.b.push_back(b.values[place]);
    pairs.a_folders.push_back(a.folders[i]);
    pairs.b_folders.push_back(b.folders[place]);
  }
  return pairs;
}

// A baseline is the same for all seeds, unless each seed has a start of its own.
TableCell spread_over_seeds(const TableCell& baseline, const TableCell& trained) {
  TableCell cell = baseline;
  if (baseline.values.empty()) return cell;
  if (!baseline.is_per_seed) {
    cell.seeds = trained.seeds;
    cell.values.assign(trained.seeds.size(), baseline.values[0]);
  }
  cell.folders.assign(cell.seeds.size(), "");
  return cell;
}

// Forwards interruptions and drops the warnings of compare_runs(), which the table shows itself.
class InterruptedOnly : public EventSink {
 public:
  explicit InterruptedOnly(EventSink& events) : events_(events) {}
  void progress(const Progress& progress) override { events_.progress(progress); }

 private:
  EventSink& events_;
};

using Outcomes = std::vector<RunOutcome>;

TestedMetric compare_metric(const std::string& evaluation, const std::string& metric,
                            const Outcomes& outcomes) {
  TestedMetric tested;
  tested.name = evaluation + "." + metric;
  const auto find = [&](const RunOutcome& outcome) -> const double* {
    for (const Report& report : outcome.reports) {
      if (report.name == evaluation) return report.find_metric(metric);
    }
    return nullptr;
  };
  for (size_t i = 0; i < outcomes.size(); i += 2) {
    const double *const own = find(outcomes[i]), *const best = find(outcomes[i + 1]);
    if (own == nullptr || best == nullptr) continue;
    tested.own.push_back(*own);
    tested.best.push_back(*best);
  }
  if (!tested.own.empty()) static_cast<PairedTest&>(tested) = test_pairs(tested.own, tested.best);
  return tested;
}

}  // namespace

std::string name_of(ClaimVerdict verdict) {
  static const char* const names[] = {"undecided", "holds", "does not hold"};
  return names[static_cast<size_t>(verdict)];
}

bool are_apart(const std::vector<std::string>& metrics) {
  std::set<std::string> evaluations;
  for (const std::string& metric : metrics) {
    evaluations.insert(split_figure_name(metric).evaluation);
  }
  return evaluations.size() == metrics.size();
}

Interval interval_of_mean(const std::vector<FigureInterval>& figures) {
  double sum = 0, below = 0, above = 0;
  for (const FigureInterval& figure : figures) {
    sum += figure.value;
    below += std::pow(figure.value - figure.interval.low, 2);
    above += std::pow(figure.interval.high - figure.value, 2);
  }
  const auto n = static_cast<double>(figures.size());
  return {(sum - std::sqrt(below)) / n, (sum + std::sqrt(above)) / n};
}

std::optional<Interval> cell_interval(const TableColumn& column, const TableCell& cell,
                                      DrawnFigures& drawn, std::string& problem) {
  if (cell.folders.empty() || !are_apart(column.metrics)) return std::nullopt;
  std::vector<FigureInterval> figures;
  try {
    for (const std::string& metric : column.metrics) {
      const auto known = drawn.find({cell.folders, metric});
      const std::optional<FigureInterval> figure =
          known != drawn.end() ? known->second
                               : example_interval(cell.folders, metric, kSamples, problem);
      if (!figure) return std::nullopt;
      drawn.insert({{cell.folders, metric}, *figure});
      figures.push_back(*figure);
    }
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kInterrupted) throw;
    problem = error.what();
    return std::nullopt;
  }
  return interval_of_mean(figures);
}

std::string JudgedClaim::verdict_words() const {
  const bool is_by_seeds = verdict != ClaimVerdict::kUndecided && !interval;
  return name_of(verdict) + (is_by_seeds ? " (t-test alone)" : "");
}

ClaimVerdict judge(double difference, const std::optional<AdjustedP>& adjusted,
                   const std::optional<Interval>& interval, Better better) {
  if (!adjusted || adjusted->benjamini_hochberg >= kSignificance) return ClaimVerdict::kUndecided;
  const bool is_above = difference > 0 && (!interval || interval->low > 0);
  const bool is_below = difference < 0 && (!interval || interval->high < 0);
  if (is_above == is_below || better == Better::kNeither) return ClaimVerdict::kUndecided;
  return is_above == (better == Better::kHigher) ? ClaimVerdict::kHolds
                                                 : ClaimVerdict::kDoesNotHold;
}

JudgedClaim test_claim(const TableColumn& column, TableCell above, TableCell below,
                       EventSink& events) {
  JudgedClaim judged;
  if (!column.metrics.empty()) judged.better = better_end(column.metrics[0]);
  const size_t trained = std::max(above.folders.size(), below.folders.size());
  const bool is_per_seed = above.is_per_seed || below.is_per_seed;
  const bool has_examples = !above.folders.empty() && !below.folders.empty();
  if (below.folders.empty()) below = spread_over_seeds(below, above);
  if (above.folders.empty()) above = spread_over_seeds(above, below);
  const PairedCells pairs = pair_cells(above, below);
  judged.seeds = pairs.a.size();
  if (judged.seeds == 0) {
    judged.remark = "no seed was finished by both rows";
    return judged;
  }
  static_cast<PairedTest&>(judged) = pairs.test(kPermutations);
  if (!judged.t_test) judged.remark = "one seed tells nothing of another";
  if (judged.better == Better::kNeither) judged.remark = "no end of the metric is the better one";
  if (is_per_seed && judged.seeds < trained) {
    judged.remark = fmt::format(
        "each seed has a random start of its own, and {} of {} were evaluated; the same command "
        "without --show evaluates the others",
        judged.seeds, trained);
  }
  if (has_examples && !column.metrics.empty() && are_apart(column.metrics)) {
    InterruptedOnly sink(events);
    ComparisonOptions options;
    options.metrics = column.metrics;
    options.samples = kSamples;
    try {
      const Comparison comparison =
          compare_runs(ChosenRuns{"below", pairs.b_folders}, ChosenRuns{"above", pairs.a_folders},
                       options, sink);
      std::vector<FigureInterval> figures;
      bool have_all = true;
      for (const ComparedReport& report : comparison.reports) {
        for (const ComparedMetric& metric : report.metrics) {
          have_all = have_all && metric.interval;
          if (metric.interval) figures.push_back({metric.difference, *metric.interval});
        }
      }
      if (have_all) judged.interval = interval_of_mean(figures);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::kInterrupted) throw;
      judged.remark = error.what();
    }
  }
  return judged;
}

void judge_claims(std::vector<Reproduction>& tables) {
  std::vector<JudgedClaim*> tested;
  std::vector<double> p;
  for (Reproduction& table : tables) {
    for (JudgedClaim& judged : table.claims) {
      if (!judged.t_test) continue;
      tested.push_back(&judged);
      p.push_back(judged.t_test->p);
    }
  }
  const std::vector<AdjustedP> adjusted = adjust_p_values(p);
  for (size_t i = 0; i < tested.size(); ++i) {
    JudgedClaim& judged = *tested[i];
    judged.adjusted = adjusted[i];
    judged.verdict = judge(judged.difference, judged.adjusted, judged.interval, judged.better);
  }
  for (Reproduction& table : tables) table.tests = static_cast<int64_t>(p.size());
}

std::string cell_mark(const TableCell& cell, const TableCell& reference) {
  if (cell.folders.empty() || reference.folders.empty()) return "";
  const PairedCells pairs = pair_cells(cell, reference);
  if (pairs.a.size() < 2) return "";
  return significance_mark(pairs.test().t_test->p);
}

JudgedOrder judge_order(const Reproduction& result, size_t column) {
  const std::vector<TableRow>& rows = result.table.rows;
  std::vector<double> paper, ours;  // the rows' means
  for (size_t r = 0; r < rows.size(); ++r) {
    const std::optional<double>& figure = rows[r].paper[column];
    const TableCell& cell = result.cells[r][column];
    if (!rows[r].is_trained() || !figure || cell.values.empty()) continue;
    paper.push_back(*figure);
    ours.push_back(cell.spread().mean);
  }
  const OrderAgreement agreement = compare_orders(paper, ours);
  JudgedOrder order;
  order.column = column;
  order.rows = static_cast<int64_t>(paper.size());
  order.tau = agreement.tau;
  order.p = agreement.p;
  if (order.p < kSignificance) {
    order.verdict = order.tau > 0 ? ClaimVerdict::kHolds : ClaimVerdict::kDoesNotHold;
  }
  for (size_t a = 0; a < rows.size(); ++a) {
    for (size_t b = 0; b < rows.size(); ++b) {
      const std::optional<double>&high = rows[a].paper[column], &low = rows[b].paper[column];
      if (!rows[a].is_trained() || !rows[b].is_trained() || !high || !low || *high <= *low) {
        continue;
      }
      const PairedCells pairs = pair_cells(result.cells[a][column], result.cells[b][column]);
      if (pairs.a.empty()) continue;
      const PairedTest test = pairs.test();
      const bool is_significant = test.t_test && test.t_test->p < kSignificance;
      if (test.difference > 0) {
        ++order.same;
        order.same_significant += is_significant ? 1 : 0;
      } else if (test.difference < 0) {
        ++order.reversed;
        order.reversed_significant += is_significant ? 1 : 0;
      }
    }
  }
  return order;
}

std::vector<TestedMetric> compare_tests(const TrainOptions& recipe, const Outcomes& outcomes) {
  const auto& shown = recipe.tests.empty() ? recipe.evaluations : recipe.tests;
  std::vector<TestedMetric> all;
  const auto add = [&](const std::string& evaluation, const std::string& metric) {
    TestedMetric tested = compare_metric(evaluation, metric, outcomes);
    const bool is_there = std::any_of(
        all.begin(), all.end(), [&](const TestedMetric& one) { return one.name == tested.name; });
    if (!is_there && !tested.own.empty()) all.push_back(std::move(tested));
  };
  for (const size_t first : {size_t{0}, size_t{1}}) {  // the recipe's may have failed
    for (size_t i = first; i < outcomes.size(); i += 2) {
      for (const Report& report : outcomes[i].reports) {
        const bool is_shown = std::any_of(shown.begin(), shown.end(), [&](const auto& evaluation) {
          return evaluation.name == report.name;
        });
        if (!is_shown) continue;
        for (const auto& metric : report.metrics) add(report.name, metric.first);
      }
    }
  }
  return all;
}

}  // namespace simile
