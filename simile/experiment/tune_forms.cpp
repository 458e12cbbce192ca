// SPDX-License-Identifier: Apache-2.0
// A search as text, Markdown, JSON and a drawing: a panel for each setting with the surrogate's
// mean over it and one standard deviation to each side, trials as dots, the best filled.
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "simile/core/text_table.h"
#include "simile/experiment/tuning.h"
#include "simile/report/plot.h"
#include "simile/train/selection.h"

namespace simile {
namespace {

using TuneJson = nlohmann::ordered_json;

std::string last_part(const std::string& path) { return path.substr(path.rfind('.') + 1); }

bool is_shown_as_fraction(const std::vector<std::string>& metrics) {
  return std::all_of(metrics.begin(), metrics.end(), [](const std::string& metric) {
    return simile::is_shown_as_fraction(metric);
  });
}

std::string show_spread(const std::string& metric, const std::vector<double>& values) {
  const Spread spread = measure_spread(values);
  const bool is_fraction = is_shown_as_fraction({metric});
  return fmt::format("{} ± {}", show_figure(spread.mean, is_fraction),
                     show_figure(spread.deviation, is_fraction));
}

TableRows trial_rows(const Tuning& tuning) {
  TableRows rows = {{"trial", "of"}};
  for (size_t s = 0; s < tuning.plan.tuned.size(); ++s) rows[0].push_back(tuning.setting_label(s));
  rows[0].insert(rows[0].end(), {tuning.metric_name(), ""});
  for (size_t i = 0; i < tuning.trials.size(); ++i) {
    const Trial& trial = tuning.trials[i];
    std::vector<std::string> row = {fmt::format("{}", trial.number), trial.origin};
    for (size_t s = 0; s < trial.point.size(); ++s) {
      row.push_back(tuning.plan.show_value(s, trial.point[s]));
    }
    row.push_back(trial.value ? tuning.show(*trial.value) : "-");
    const bool is_best = tuning.best == i;
    row.push_back(is_best                                  ? "best"
                  : trial.state == Trial::State::kFinished ? ""
                                                           : name_of(trial.state));
    rows.push_back(std::move(row));
  }
  return rows;
}

TableRows effect_rows(const Tuning& tuning) {
  TableRows rows = {{"setting", "share of variance", "length scale", "best alone"}};
  for (size_t s = 0; s < tuning.effects.size(); ++s) {
    const SettingEffect& effect = tuning.effects[s];
    if (effect.means.empty()) continue;
    const auto best = tuning.plan.lower_is_better
                          ? std::min_element(effect.means.begin(), effect.means.end())
                          : std::max_element(effect.means.begin(), effect.means.end());
    const double value = effect.values[static_cast<size_t>(best - effect.means.begin())];
    rows.push_back({tuning.setting_label(s), fmt::format("{:.0f} %", 100 * effect.share),
                    fmt::format("{:.2f}", effect.length_scale), tuning.plan.show_value(s, value)});
  }
  return rows;
}

TableRows test_rows(const Tuning& tuning) {
  TableRows rows = {{"", "recipe as it is", "best", "difference", "p"}};
  for (const TestedMetric& tested : tuning.tests) {
    const double difference = measure_spread(tested.best).mean - measure_spread(tested.own).mean;
    rows.push_back({tested.name, show_spread(tested.name, tested.own),
                    show_spread(tested.name, tested.best),
                    show_figure(difference, is_shown_as_fraction({tested.name}), true),
                    tested.t_test ? show_p(tested.t_test->p) : "-"});
  }
  return rows;
}

std::string head_line(const Tuning& tuning) {
  const Trial& best = tuning.trials[*tuning.best];
  std::string line = fmt::format("best: trial {}, {} {}", best.number, tuning.metric_name(),
                                 tuning.show(*best.value));
  const Trial& first = tuning.trials[0];
  if (first.origin == "recipe" && first.value) {
    line += fmt::format("; the recipe as it is {}", tuning.show(*first.value));
  }
  const bool has_start = !best.values.empty() && best.values.front().step == 0;
  if (has_start &&
      !is_better(*best.value, best.values.front().value, tuning.plan.lower_is_better)) {
    line += "; NOTHING WAS GAINED: that is the value before the first step";
  }
  return line;
}

std::string effect_words(const Tuning& tuning) {
  return fmt::format(
      "Share of variance: the part of the predicted score's variance that the setting explains "
      "alone. Length scale: how far the setting must move to change the score (1: its whole "
      "range). Noise of a trial: {}.",
      tuning.show(tuning.noise));
}

std::string test_words(const Tuning& tuning) {
  return fmt::format(
      "Seeds {}, none of them a trial's: mean ± standard deviation, p of the paired t-test.",
      fmt::join(tuning.seeds, ", "));
}

constexpr double kPanelWidth = 300, kPanelHeight = 190, kPanelGap = 70, kPanelTop = 64;
constexpr size_t kPanelsInARow = 3;

class SettingPanel {
 public:
  // `y` has the range of all panels.
  SettingPanel(const Tuning& tuning, size_t setting, PlotAxis y)
      : tuning_(tuning), setting_(setting), y_(std::move(y)) {
    const size_t row = setting / kPanelsInARow;
    const auto column = static_cast<double>(setting - row * kPanelsInARow);
    y_.end = kPanelTop + static_cast<double>(row) * (kPanelHeight + kPanelGap);
    y_.begin = y_.end + kPanelHeight;
    const SearchSetting& range = tuning.plan.space.settings()[setting];
    x_ = {range.low, range.high, kPanelGap + column * (kPanelWidth + kPanelGap), 0, range.is_log};
    x_.end = x_.begin + kPanelWidth;
    if (range.kind != SearchSetting::Kind::kChoice) return;
    for (size_t i = 0; i < range.choices; ++i) {
      x_.names.push_back(tuning.plan.show_value(setting, static_cast<double>(i)));
    }
  }

  std::string draw() const {
    const SettingEffect& effect = tuning_.effects[setting_];
    std::string svg = svg_text(x_.begin, y_.end - 10, "start",
                               fmt::format("{}, {:.0f} % of the variance",
                                           tuning_.setting_label(setting_), 100 * effect.share));
    svg += draw_y_ticks(y_, x_.begin, x_.end, 4, [&](double tick) { return tuning_.show(tick); });
    svg += draw_x_ticks(x_, y_.begin, y_.begin + 4, "grid", 4,
                        [](double tick) { return fmt::format("{:.3g}", tick); });
    std::string line, above, below;
    for (size_t i = 0; i < effect.values.size(); ++i) {
      const double x = x_.place(effect.values[i]), mean = effect.means[i],
                   deviation = effect.deviations[i];
      const auto at = [&](double y) { return fmt::format("{:.1f},{:.1f} ", x, place_y(y)); };
      line += at(mean);
      above += at(mean + deviation);
      below = at(mean - deviation) + below;
      if (!x_.names.empty()) {
        svg += svg_line("bar", x, place_y(mean - deviation), x, place_y(mean + deviation));
      }
    }
    if (x_.names.empty()) {
      svg += fmt::format("<polygon class=\"band\" points=\"{}{}\"/>\n", above, below);
      svg += fmt::format("<polyline class=\"curve\" points=\"{}\"/>\n", line);
    }
    return svg + draw_trials();
  }

 private:
  double place_y(double value) const { return y_.place(std::clamp(value, y_.low, y_.high)); }

  std::string draw_trials() const {
    std::string svg;
    for (size_t i = 0; i < tuning_.trials.size(); ++i) {
      const Trial& trial = tuning_.trials[i];
      if (!trial.point[setting_] || !trial.value) continue;
      const bool is_best = tuning_.best == i;
      const char* style = is_best                                 ? "dot1"
                          : trial.state == Trial::State::kStopped ? "dashed"
                                                                  : "ring";
      svg +=
          svg_dot(style, x_.place(*trial.point[setting_]), place_y(*trial.value), is_best ? 6 : 4,
                  fmt::format("trial {}: {} {}", trial.number,
                              tuning_.plan.show_value(setting_, trial.point[setting_]),
                              tuning_.show(*trial.value)));
    }
    return svg;
  }

  const Tuning& tuning_;
  size_t setting_;
  PlotAxis x_, y_;
};

}  // namespace

std::string Tuning::metric_name() const { return name_metrics(plan.settings.metric); }

std::string Tuning::show(double value) const {
  return show_figure(value, is_shown_as_fraction(plan.settings.metric));
}

std::string Tuning::setting_label(size_t setting) const {
  const std::string& path = plan.tuned[setting].path;
  const std::string label = last_part(path);
  const auto same = std::count_if(plan.tuned.begin(), plan.tuned.end(),
                                  [&](const auto& one) { return last_part(one.path) == label; });
  return same > 1 ? path : label;
}

std::string Tuning::to_text() const {
  std::string text =
      fmt::format("{}: {} by {}, {} trials\n\n{}\n", plan.name, metric_name(), plan.settings.method,
                  trials.size(), text_table(trial_rows(*this)));
  text += head_line(*this) + "\n";
  if (!effects.empty()) {
    text += fmt::format("\n{}{}\n", text_table(effect_rows(*this)), effect_words(*this));
  }
  if (!tests.empty()) {
    text += fmt::format("\n{}{}\n", text_table(test_rows(*this)), test_words(*this));
  }
  return text + fmt::format("\nbest recipe: {0}/best.yaml; page: {0}/tune.md\n", options.out);
}

std::string Tuning::to_markdown() const {
  std::string text = fmt::format("# {}: {} by {}, {} trials\n\n{}\n\n", plan.name, metric_name(),
                                 plan.settings.method, trials.size(), head_line(*this));
  if (!tests.empty()) {
    text +=
        fmt::format("## Test\n\n{}\n{}\n\n", markdown_table(test_rows(*this)), test_words(*this));
  }
  if (!effects.empty()) {
    text += fmt::format(
        "## Settings\n\n![What the surrogate says of each setting](tune.svg)\n\n{}\n{}\n\n",
        markdown_table(effect_rows(*this)), effect_words(*this));
  }
  text += fmt::format("## Trials\n\n{}\n", markdown_table(trial_rows(*this)));
  return text + fmt::format("## Best recipe\n\n```yaml\n{}```\n", best_recipe);
}

std::string Tuning::to_json() const {
  TuneJson json = {
      {"name", plan.name}, {"metric", metric_name()}, {"method", plan.settings.method}};
  if (best) json["best"] = trials[*best].number;
  json["trials"] = TuneJson::array();
  for (const Trial& trial : trials) {
    TuneJson row = {
        {"trial", trial.number}, {"origin", trial.origin}, {"state", name_of(trial.state)}};
    for (size_t s = 0; s < plan.tuned.size(); ++s) {
      if (!trial.point[s]) continue;
      const bool is_range = plan.tuned[s].choices.empty();
      row["settings"][plan.tuned[s].path] =
          is_range ? TuneJson(*trial.point[s]) : TuneJson(plan.show_value(s, trial.point[s]));
    }
    if (trial.value) row["value"] = *trial.value;
    if (!trial.error.empty()) row["error"] = trial.error;
    row["folder"] = trial.folder;
    json["trials"].push_back(std::move(row));
  }
  json["settings"] = TuneJson::array();
  for (size_t s = 0; s < effects.size(); ++s) {
    json["settings"].push_back({{"setting", plan.tuned[s].path},
                                {"share", effects[s].share},
                                {"length_scale", effects[s].length_scale},
                                {"values", effects[s].values},
                                {"means", effects[s].means},
                                {"deviations", effects[s].deviations}});
  }
  json["tests"] = TuneJson::array();
  for (const TestedMetric& tested : tests) {
    TuneJson row = {{"metric", tested.name}, {"recipe", tested.own}, {"best", tested.best}};
    if (tested.t_test) row["p"] = tested.t_test->p;
    json["tests"].push_back(std::move(row));
  }
  json["seeds"] = seeds;
  json["best_recipe"] = best_recipe;
  return json.dump(2, ' ', false, TuneJson::error_handler_t::replace);
}

std::string Tuning::to_svg() const {
  PlotAxis y{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
  const auto widen = [&](double value) {
    y.low = std::min(y.low, value);
    y.high = std::max(y.high, value);
  };
  for (const Trial& trial : trials) {
    if (trial.value) widen(*trial.value);
  }
  for (const SettingEffect& effect : effects) {
    for (const double mean : effect.means) widen(mean);
  }
  const double room = y.low < y.high ? 0.05 * (y.high - y.low) : 1;
  y.low -= room;
  y.high += room;
  const size_t rows = (effects.size() + kPanelsInARow - 1) / kPanelsInARow;
  const size_t columns = std::clamp<size_t>(effects.size(), 1, kPanelsInARow);
  std::string svg =
      svg_text(8, 18, "start",
               fmt::format("{}: {} of {} trials; line: the surrogate's mean over the other "
                           "settings; ring: a trial, dashed: ended early; dot: the best",
                           plan.name, metric_name(), trials.size()));
  for (size_t s = 0; s < effects.size(); ++s) svg += SettingPanel(*this, s, y).draw();
  return svg_document(kPanelGap + static_cast<double>(columns) * (kPanelWidth + kPanelGap),
                      kPanelTop + static_cast<double>(rows) * (kPanelHeight + kPanelGap), plan.name,
                      svg);
}

}  // namespace simile
