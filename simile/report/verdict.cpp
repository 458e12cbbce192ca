// SPDX-License-Identifier: Apache-2.0
#include "simile/report/verdict.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "simile/core/text_table.h"
#include "simile/report/run_files.h"

namespace simile {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kWork = 50000000;  // examples drawn in all
constexpr uint64_t kSeed = 1;

// One side's results in an evaluation; null if it has no such metric.
struct Measured {
  const Report* report = nullptr;
  const Predictions* predictions = nullptr;
};

Measured find_metric(const Scores& scores, const FigureName& figure) {
  for (size_t i = 0; i < scores.reports.size(); ++i) {
    const Report& report = scores.reports[i];
    if (report.name == figure.evaluation && report.find_metric(figure.metric) != nullptr) {
      return {&report, &scores.predictions[i]};
    }
  }
  return {};
}

// The difference of a metric over some of the examples, and those that are drawn.
struct Drawn {
  std::vector<int64_t> positions;
  Statistic difference;
  uint64_t seed;  // the same for all metrics of a set
};

void draw_interval(const std::vector<Drawn>& metrics, Gain& gain) {
  const int64_t samples = affordable_samples(gain.examples, kWork);
  gain.draws.assign(static_cast<size_t>(samples), 0.0);
  for (const Drawn& metric : metrics) {
    const auto difference = [&metric](std::vector<int64_t> at) {
      for (int64_t& position : at) position = metric.positions[static_cast<size_t>(position)];
      return metric.difference(at);
    };
    const auto values = bootstrap_values(static_cast<int64_t>(metric.positions.size()), difference,
                                         samples, metric.seed);
    for (size_t i = 0; i < values.size(); ++i) {
      gain.draws[i] += values[i] / static_cast<double>(metrics.size());
    }
  }
  gain.interval = percentile_interval(gain.draws, kIntervalConfidence);
}

// The positions of the examples that a gain is of.
std::vector<int64_t> choose_examples(const std::string& of, const Predictions& examples) {
  std::vector<int64_t> positions = all_positions(examples.left.size());
  if (of != "seen" && of != "unseen") return positions;
  if (examples.seen.empty()) return {};
  const auto is_other = [&](int64_t i) {
    return (examples.seen[static_cast<size_t>(i)] != 0) != (of == "seen");
  };
  positions.erase(std::remove_if(positions.begin(), positions.end(), is_other), positions.end());
  return positions;
}

// Always the most frequent gold class, the first of equal ones.
Predictions answer_majority(Predictions examples) {
  std::map<std::string, int64_t> counts;
  for (const std::string& name : examples.gold_class) ++counts[name];
  const auto most =
      std::max_element(counts.begin(), counts.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most != counts.end()) examples.predicted.assign(examples.left.size(), most->first);
  return examples;
}

std::string show_value(const Gain& gain, double value, bool with_sign = false) {
  return show_figure(value, gain.is_fraction(), with_sign);
}

double mean_of(const std::vector<double>& values) { return measure_spread(values).mean; }

std::string show_spread(const Gain& gain, const std::vector<double>& values) {
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  if (*least == *most) return show_value(gain, *least);
  const Spread spread = measure_spread(values);
  return show_value(gain, spread.mean) + " +- " + show_value(gain, spread.deviation);
}

std::vector<double> differences_of(const Gain& gain) {
  std::vector<double> differences;
  for (size_t i = 0; i < gain.start.size(); ++i) {
    differences.push_back(gain.trained[i] - gain.start[i]);
  }
  return differences;
}

// "61.20 -> 71.40 (+10.20, 95 % interval +8.31 to +12.15, 435 queries)"
std::string describe_gain(const Gain& gain, const Verdict& verdict) {
  std::string text =
      fmt::format("{} -> {} ({}", show_spread(gain, gain.start), show_spread(gain, gain.trained),
                  show_value(gain, gain.difference(), true));
  if (verdict.runs > 1) {
    const double deviation = measure_spread(differences_of(gain)).deviation;
    text +=
        fmt::format(" +- {} over {} {}", show_value(gain, deviation), verdict.runs, verdict.over);
  }
  if (gain.lower_is_better) text += ", lower is better";
  if (!gain.interval) return text + "; no interval: " + gain.no_interval + ")";
  return text + fmt::format(", 95 % interval {} to {}, {} {})",
                            show_value(gain, gain.interval->low, true),
                            show_value(gain, gain.interval->high, true), gain.examples, gain.unit);
}

// The text before the title of a gain in its line.
const char* label_of(const Gain& gain) {
  return gain.of == "seen"       ? "on documents that training saw: "
         : gain.of == "unseen"   ? "on documents that training did not see: "
         : gain.of == "bm25"     ? "from BM25 to the trained model: "
         : gain.of == "hybrid"   ? "with BM25, start and trained model: "
         : gain.of == "majority" ? "from the most frequent class to the trained model: "
                                 : "";
}

std::string word_of(int direction) {
  return direction > 0 ? "helped" : direction < 0 ? "hurt" : "undecided";
}

// The limits that the first line must state besides its word.
std::vector<std::string> limits_of(const Verdict& verdict) {
  std::vector<std::string> limits;
  const std::string word = verdict.word();
  if (verdict.start_kept == verdict.runs) {
    limits.emplace_back("the start was kept, as no later weights were better");
  } else if (verdict.start_kept > 0) {
    limits.push_back(
        fmt::format("{} of {} runs kept their start", verdict.start_kept, verdict.runs));
  }
  const Gain *seen = verdict.find("seen"), *unseen = verdict.find("unseen");
  const bool is_sure = unseen != nullptr && unseen->direction() > 0;
  if (word == "helped" && seen != nullptr && !is_sure) {
    const std::string others = unseen == nullptr
                                   ? "no others were tested"
                                   : fmt::format("others {}, {}", word_of(unseen->direction()),
                                                 show_value(*unseen, unseen->difference(), true));
    limits.push_back(fmt::format("only on documents that training saw ({})", others));
  }
  for (const char* of : {"bm25", "hybrid", "majority"}) {
    const Gain* gain = verdict.find(of);
    const bool is_told = word == "helped" || gain != verdict.find("hybrid");
    if (gain == nullptr || gain->direction() > 0 || !is_told) continue;
    const double start = mean_of(gain->start), trained = mean_of(gain->trained);
    const bool is_below = gain->of == "bm25" && trained < start;
    limits.push_back(fmt::format("{} {} ({} against {}){}",
                                 is_below          ? "still below"
                                 : trained > start ? "not surely better than"
                                                   : "no better than",
                                 gain->rival, show_value(*gain, trained), show_value(*gain, start),
                                 is_below ? ": do not use" : ""));
    const Gain* hybrid = verdict.find("hybrid");
    if (is_below && hybrid != nullptr && mean_of(hybrid->trained) > start) {
      limits.back() +=
          fmt::format(" without BM25 (with it {})", show_value(*hybrid, mean_of(hybrid->trained)));
    }
  }
  return limits;
}

Json gain_to_json(const Gain& gain) {
  Json json = {{"of", gain.of},
               {"metrics", gain.metrics},
               {"start", mean_of(gain.start)},
               {"trained", mean_of(gain.trained)},
               {"difference", gain.difference()}};
  if (gain.start.size() > 1) {
    json["differences"] = differences_of(gain);
    json["deviation"] = measure_spread(differences_of(gain)).deviation;
  }
  if (gain.interval) {
    json["interval"] = {{"low", gain.interval->low},
                        {"high", gain.interval->high},
                        {"confidence", kIntervalConfidence},
                        {"samples", gain.draws.size()},
                        {"over", fmt::format("{} {}", gain.examples, gain.unit)}};
  } else {
    json["no_interval"] = gain.no_interval;
  }
  return json;
}

// Adds run `number` to the sums in `joined`. Folds have other examples, so their draws must not go
// together: they begin elsewhere.
void add_run(const Gain& gain, size_t number, bool same_examples, Gain& joined) {
  joined.start.insert(joined.start.end(), gain.start.begin(), gain.start.end());
  joined.trained.insert(joined.trained.end(), gain.trained.begin(), gain.trained.end());
  if (!same_examples) joined.examples += gain.examples;
  if (!gain.no_interval.empty()) joined.no_interval = gain.no_interval;
  joined.draws.resize(std::min(joined.draws.size(), gain.draws.size()));
  const size_t begin = same_examples ? 0 : 37 * number;
  for (size_t i = 0; i < joined.draws.size(); ++i) {
    joined.draws[i] += gain.draws[(i + begin) % gain.draws.size()];
  }
}

}  // namespace

void Scores::add(Scores more) {
  std::move(more.reports.begin(), more.reports.end(), std::back_inserter(reports));
  std::move(more.predictions.begin(), more.predictions.end(), std::back_inserter(predictions));
}

double Gain::difference() const { return mean_of(trained) - mean_of(start); }

int Gain::direction() const {
  if (!interval || (interval->low <= 0 && interval->high >= 0)) return 0;
  return (interval->low > 0) == lower_is_better ? -1 : 1;
}

bool Gain::is_fraction() const {
  return of != "loss" && std::all_of(metrics.begin(), metrics.end(), [](const auto& metric) {
           return simile::is_fraction(split_figure_name(metric).metric);
         });
}

std::optional<Gain> measure_gain(const std::string& of, const std::vector<std::string>& metrics,
                                 const Scores& start, const Scores& trained) {
  Gain gain;
  gain.of = of;
  gain.rival = of == "bm25" ? "BM25" : of == "hybrid" ? "the start when both have BM25" : "";
  gain.metrics = metrics;
  gain.lower_is_better =
      !metrics.empty() &&
      find_metric_row(split_figure_name(metrics[0]).metric).better == Better::kLower;
  gain.start = gain.trained = {0};
  std::vector<std::string> names;
  std::vector<Drawn> drawn;
  std::map<const Predictions*, uint64_t> seeds;
  for (const std::string& metric : metrics) {
    const FigureName figure = split_figure_name(metric);
    const Measured from = find_metric(start, figure), to = find_metric(trained, figure);
    if (from.report == nullptr || to.report == nullptr) return std::nullopt;
    const Predictions& examples = *to.predictions;
    const bool is_whole = of != "seen" && of != "unseen", is_made = of == "majority";
    const Predictions made = is_made ? answer_majority(examples) : Predictions();
    const std::vector<int64_t> positions = choose_examples(of, examples);
    const Statistic a =
        make_statistic(is_made ? made : *from.predictions, figure.metric, from.report);
    const Statistic b = make_statistic(examples, figure.metric, to.report);
    double before = from.report->metric(figure.metric), after = to.report->metric(figure.metric);
    const bool has_single = a && b && gives_reported(b, examples, after) &&
                            (is_made || gives_reported(a, *from.predictions, before));
    if (!has_single) {
      gain.no_interval = fmt::format("{} is not a metric of single examples", figure.metric);
    } else if (!is_made) {
      check_same_examples(*from.predictions, examples);
    }
    const bool has_examples = !positions.empty() && (!is_made || !examples.gold_class.empty());
    if ((!is_whole || is_made) && !(has_single && has_examples)) return std::nullopt;
    if (!is_whole || is_made) before = a(positions);
    if (!is_whole) after = b(positions);
    gain.start[0] += before / static_cast<double>(metrics.size());
    gain.trained[0] += after / static_cast<double>(metrics.size());
    const auto [seed, is_new] = seeds.try_emplace(&examples, kSeed + seeds.size());
    if (is_new) {
      const std::string unit = examples.kind == PredictionKind::kQueries ? "queries"
                               : examples.right.empty()                  ? "texts"
                                                                         : "pairs";
      gain.unit = gain.unit.empty() || gain.unit == unit ? unit : "examples";
      gain.examples += static_cast<int64_t>(positions.size());
    }
    drawn.push_back({positions, [a, b](const auto& at) { return b(at) - a(at); }, seed->second});
    names.push_back(figure.evaluation + " " + figure.metric);
    if (is_made) gain.rival = fmt::format("always answering '{}'", made.predicted[0]);
  }
  if (names.empty()) return std::nullopt;
  gain.title = fmt::format("{}{}", names.size() > 1 ? "mean of " : "", fmt::join(names, ", "));
  if (gain.no_interval.empty()) draw_interval(drawn, gain);
  return gain;
}

const Gain* Verdict::find(const std::string& of) const {
  const auto found =
      std::find_if(gains.begin(), gains.end(), [&](const Gain& gain) { return gain.of == of; });
  return found == gains.end() ? nullptr : &*found;
}

std::string Verdict::word() const {
  if (gains.empty()) return "none";
  return start_kept == runs ? "nothing gained" : word_of(gains[0].direction());
}

std::string Verdict::to_line() const {
  if (gains.empty()) {
    return "verdict: none, as nothing was measured both on the start and on the trained model: "
           "give the recipe `evaluations`";
  }
  std::string line = "verdict: " + word();
  const std::vector<std::string> limits = limits_of(*this);
  if (!limits.empty()) {
    line += fmt::format("{}{}", word() == "helped" ? ", but " : ", ", fmt::join(limits, ", "));
  }
  line += fmt::format("; {} {}", gains[0].title, describe_gain(gains[0], *this));
  return gains[0].selects ? line + ", which also selected the weights" : line;
}

std::vector<std::string> Verdict::details() const {
  std::vector<std::string> lines;
  for (size_t i = 1; i < gains.size(); ++i) {
    const Gain& gain = gains[i];
    lines.push_back(fmt::format("{}{} {}{}", label_of(gain), gain.title, describe_gain(gain, *this),
                                gain.selects ? ", which selected the weights" : ""));
  }
  return lines;
}

std::string Verdict::to_text() const {
  std::string text = to_line();
  for (const std::string& line : details()) text += "\n  " + line;
  return text;
}

std::string Verdict::to_json() const {
  using namespace run_format;
  Json json = {{kLine, to_line()},
               {"word", word()},
               {kDetails, details()},
               {kRuns, runs},
               {kStartKept, start_kept},
               {"gains", Json::array()},
               {"stages_that_kept_their_start", stages_that_kept_theirs},
               {kCauses, causes}};
  for (const Gain& gain : gains) json["gains"].push_back(gain_to_json(gain));
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Verdict join_verdicts(const std::vector<Verdict>& runs, const std::string& over) {
  if (runs.size() == 1) return runs[0];
  Verdict joined = runs[0];
  joined.over = over;
  for (size_t r = 1; r < runs.size(); ++r) {
    joined.runs += runs[r].runs;
    joined.start_kept += runs[r].start_kept;
    if (joined.causes.empty()) joined.causes = runs[r].causes;
    for (const std::string& stage : runs[r].stages_that_kept_theirs) {
      std::vector<std::string>& stages = joined.stages_that_kept_theirs;
      if (std::count(stages.begin(), stages.end(), stage) == 0) stages.push_back(stage);
    }
  }
  joined.gains.clear();
  for (Gain gain : runs[0].gains) {
    size_t having = 1;
    for (size_t r = 1; r < runs.size(); ++r) {
      const Gain* same = runs[r].find(gain.of);
      if (same == nullptr) continue;
      add_run(*same, r, over == "seeds", gain);
      ++having;
    }
    if (having < runs.size()) continue;
    for (double& draw : gain.draws) draw /= static_cast<double>(having);
    gain.interval.reset();
    if (!gain.draws.empty()) gain.interval = percentile_interval(gain.draws, kIntervalConfidence);
    joined.gains.push_back(std::move(gain));
  }
  return joined;
}

}  // namespace simile
