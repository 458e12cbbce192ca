// SPDX-License-Identifier: Apache-2.0
// A panel for each setting: the surrogate's mean over it with one standard deviation to each side,
// the trials as dots, the best of them filled.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "simile/report/plot.h"
#include "simile/tune/detail/svg_text.h"
#include "simile/tune/tuning.h"

namespace simile {
namespace {

constexpr double kPanelWidth = 300, kPanelHeight = 190, kPanelGap = 70, kPanelTop = 64;
constexpr size_t kPanelsInARow = 3;

class SettingPanel {
 public:
  SettingPanel(const Tuning& tuning, size_t setting, double low, double high)
      : tuning_(tuning), setting_(setting), low_(low), high_(high) {
    const size_t column = setting % kPanelsInARow, row = setting / kPanelsInARow;
    left_ = kPanelGap + static_cast<double>(column) * (kPanelWidth + kPanelGap);
    top_ = kPanelTop + static_cast<double>(row) * (kPanelHeight + kPanelGap);
  }

  std::string draw() const {
    std::string svg = draw_axes();
    const SettingEffect& effect = tuning_.effects[setting_];
    std::string line, above, below;
    for (size_t i = 0; i < effect.values.size(); ++i) {
      const double x = place_x(effect.values[i]), mean = effect.means[i],
                   deviation = effect.deviations[i];
      const auto at = [&](double y) { return fmt::format("{:.1f},{:.1f} ", x, place_y(y)); };
      line += at(mean);
      above += at(mean + deviation);
      below = at(mean - deviation) + below;
      if (is_choice()) {
        svg += fmt::format(
            "<line class=\"sd\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.1f}\" y2=\"{2:.1f}\"/>\n", x,
            place_y(mean - deviation), place_y(mean + deviation));
      }
    }
    if (!is_choice()) {
      svg += fmt::format("<polygon class=\"band\" points=\"{}{}\"/>\n", above, below);
      svg += fmt::format("<polyline class=\"mean\" points=\"{}\"/>\n", line);
    }
    return svg + draw_trials();
  }

 private:
  const SearchSetting& range() const { return tuning_.plan.space.settings()[setting_]; }
  bool is_choice() const { return range().kind == SearchSetting::Kind::kChoice; }

  double place_x(double value) const {
    double part = 0;
    if (is_choice()) {
      part = (value + 0.5) / static_cast<double>(range().choices);
    } else if (range().is_log) {
      part = std::log(value / range().low) / std::log(range().high / range().low);
    } else {
      part = (value - range().low) / (range().high - range().low);
    }
    return left_ + part * kPanelWidth;
  }
  double place_y(double value) const {
    const double part = std::clamp((value - low_) / (high_ - low_), 0.0, 1.0);
    return top_ + (1 - part) * kPanelHeight;
  }

  std::vector<double> ticks() const {
    if (!range().is_log) return axis_ticks(range().low, range().high, 4);
    std::vector<double> all;
    for (double power = std::floor(std::log10(range().low)); power <= std::log10(range().high);
         ++power) {
      for (const double digit : {1.0, 3.0}) {
        const double tick = digit * std::pow(10.0, power);
        if (tick >= range().low * 0.999 && tick <= range().high * 1.001) all.push_back(tick);
      }
    }
    return all;
  }

  std::string draw_axes() const {
    const double bottom = top_ + kPanelHeight;
    std::string svg =
        svg_text(left_, top_ - 10, "start",
                 fmt::format("{}, {:.0f} % of the variance", tuning_.setting_label(setting_),
                             100 * tuning_.effects[setting_].share));
    for (const double tick : axis_ticks(low_, high_, 4)) {
      svg += fmt::format(
          "<line class=\"grid\" x1=\"{0:.1f}\" x2=\"{1:.1f}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"/>\n",
          left_, left_ + kPanelWidth, place_y(tick));
      svg += svg_text(left_ - 6, place_y(tick) + 4, "end", tuning_.show(tick));
    }
    if (is_choice()) {
      for (size_t i = 0; i < range().choices; ++i) {
        const auto value = static_cast<double>(i);
        svg += svg_text(place_x(value), bottom + 16, "middle",
                        tuning_.plan.show_value(setting_, value));
      }
      return svg;
    }
    for (const double tick : ticks()) {
      svg += svg_text(place_x(tick), bottom + 16, "middle", fmt::format("{:.3g}", tick));
    }
    return svg;
  }

  std::string draw_trials() const {
    std::string svg;
    for (size_t i = 0; i < tuning_.trials.size(); ++i) {
      const Trial& trial = tuning_.trials[i];
      if (!trial.point[setting_] || !trial.value) continue;
      const bool is_best = tuning_.best == i;
      svg += fmt::format(
          "<circle class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\"><title>trial {}: {} "
          "{}</title></circle>\n",
          is_best                                 ? "best"
          : trial.state == Trial::State::kStopped ? "stopped"
                                                  : "trial",
          place_x(*trial.point[setting_]), place_y(*trial.value), is_best ? 6 : 4, trial.number,
          tuning_.plan.show_value(setting_, trial.point[setting_]), tuning_.show(*trial.value));
    }
    return svg;
  }

  const Tuning& tuning_;
  size_t setting_;
  double low_, high_, left_ = 0, top_ = 0;
};

}  // namespace

std::string Tuning::to_svg() const {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  const auto widen = [&](double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  };
  for (const Trial& trial : trials) {
    if (trial.value) widen(*trial.value);
  }
  for (const SettingEffect& effect : effects) {
    for (const double mean : effect.means) widen(mean);
  }
  const double room = low < high ? 0.05 * (high - low) : 1;
  const size_t panel_rows = (effects.size() + kPanelsInARow - 1) / kPanelsInARow;
  const auto rows = static_cast<double>(panel_rows);
  const auto columns =
      static_cast<double>(std::min(std::max<size_t>(effects.size(), 1), kPanelsInARow));
  const double width = kPanelGap + columns * (kPanelWidth + kPanelGap);
  const double height = kPanelTop + rows * (kPanelHeight + kPanelGap);
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
      "height=\"{1:.0f}\" role=\"img\" aria-label=\"{2}\">\n"
      "<style>text {{ font: 12px sans-serif; fill: #444 }} .grid {{ stroke: #ddd }} "
      ".mean {{ fill: none; stroke: #0072b2; stroke-width: 2 }} .band {{ fill: #0072b2; opacity: "
      ".15 }} "
      ".sd {{ stroke: #0072b2; stroke-width: 8; opacity: .3 }} "
      ".trial {{ fill: none; stroke: #444 }} .stopped {{ fill: none; stroke: #999; "
      "stroke-dasharray: 2 "
      "}} .best {{ fill: #d55e00 }}</style>\n<rect width=\"100%\" height=\"100%\" "
      "fill=\"#fff\"/>\n",
      width, height, escape_svg(plan.name));
  svg += svg_text(8, 18, "start",
                  fmt::format("{}: {} of {} trials; line: the surrogate's mean over the other "
                              "settings; ring: a trial, dashed: ended early; dot: the best",
                              plan.name, metric_name(), trials.size()));
  for (size_t s = 0; s < effects.size(); ++s) {
    svg += SettingPanel(*this, s, low - room, high + room).draw();
  }
  return svg + "</svg>\n";
}

}  // namespace simile
