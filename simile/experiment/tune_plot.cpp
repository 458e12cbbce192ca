// SPDX-License-Identifier: Apache-2.0
// A panel for each setting: the surrogate's mean over it with one standard deviation to each side,
// the trials as dots, the best of them filled.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "simile/experiment/tuning.h"
#include "simile/report/plot.h"

namespace simile {
namespace {

constexpr double kPanelWidth = 300, kPanelHeight = 190, kPanelGap = 70, kPanelTop = 64;
constexpr size_t kPanelsInARow = 3;

class SettingPanel {
 public:
  // `y` has the range of all panels.
  SettingPanel(const Tuning& tuning, size_t setting, PlotAxis y)
      : tuning_(tuning), setting_(setting), y_(std::move(y)) {
    const auto column = static_cast<double>(setting % kPanelsInARow);
    const auto row = static_cast<double>(setting / kPanelsInARow);
    y_.end = kPanelTop + row * (kPanelHeight + kPanelGap);
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
