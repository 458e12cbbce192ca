// SPDX-License-Identifier: Apache-2.0
#include "simile/report/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "simile/report/detail/html.h"

namespace simile {
namespace {

// In the units of the view box; the page scales it.
constexpr double kWidth = 480, kHeight = 250;
constexpr double kLeft = 58, kRight = 12, kTop = 18, kBottom = 40;
constexpr int kMostTicks = 20;

struct Axis {
  double low = 0, high = 1;
  double begin = 0, end = 0;  // where low and high stand
  double place(double value) const { return begin + (value - low) / (high - low) * (end - begin); }
};

// Values that differ by rounding alone are equal: no tick could stand between them.
bool are_apart(double low, double high) {
  return high - low > 1e-9 * std::max(std::abs(low), std::abs(high));
}

// A range that is not empty, with some room around it.
void spread_range(double& low, double& high) {
  const double room =
      are_apart(low, high) ? 0.05 * (high - low) : std::max(std::abs(high) * 0.1, 1e-9);
  low = low >= 0 && low - room < 0 ? 0 : low - room;
  high += room;
}

std::string show_tick(double value, double step) {
  if (value == 0) return "0";
  if (std::abs(value) >= 1e6 || step < 1e-3) {
    const double exponent = std::floor(std::log10(std::abs(value)) + 1e-9);
    return fmt::format("{:.3g}e{:.0f}", value / std::pow(10, exponent), exponent);
  }
  const int digits = std::max(0, static_cast<int>(std::ceil(-std::log10(step) - 1e-9)));
  return fmt::format("{:.{}f}", value, digits);
}

std::string text_at(double x, double y, const char* anchor, const char* style,
                    const std::string& text) {
  return fmt::format("<text class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n",
                     style, x, y, anchor, escape_html(text));
}

std::string line_between(const char* style, double x1, double y1, double x2, double y2) {
  return fmt::format(
      "<line class=\"{}\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>\n", style, x1,
      y1, x2, y2);
}

std::string draw_axes(const Axis& x, const Axis& y, const std::string& x_label) {
  std::string svg;
  const std::vector<double> y_ticks = axis_ticks(y.low, y.high, 5);
  const double y_step = y_ticks.size() > 1 ? y_ticks[1] - y_ticks[0] : 1;
  for (const double tick : y_ticks) {
    svg += line_between("grid", x.begin, y.place(tick), x.end, y.place(tick));
    svg += text_at(x.begin - 6, y.place(tick) + 4, "end", "tick", show_tick(tick, y_step));
  }
  const std::vector<double> x_ticks = axis_ticks(x.low, x.high, 6);
  const double x_step = x_ticks.size() > 1 ? x_ticks[1] - x_ticks[0] : 1;
  for (const double tick : x_ticks) {
    svg += line_between("axis", x.place(tick), y.begin, x.place(tick), y.begin + 4);
    svg += text_at(x.place(tick), y.begin + 17, "middle", "tick", show_tick(tick, x_step));
  }
  svg += line_between("axis", x.begin, y.begin, x.end, y.begin);
  return svg + text_at((x.begin + x.end) / 2, kHeight - 6, "middle", "label", x_label);
}

std::string draw_line(const PlotLine& line, const Axis& x, const Axis& y) {
  static constexpr const char* kDashes[] = {"", " stroke-dasharray=\"7 3\"",
                                            " stroke-dasharray=\"2 3\""};
  const std::string colour = fmt::format("var(--c{})", line.series % kPlotColours);
  std::string points, dots;
  for (const CurvePoint& point : line.points) {
    const double px = x.place(point.x), py = y.place(point.y);
    points += fmt::format("{}{:.1f},{:.1f}", points.empty() ? "" : " ", px, py);
    if (line.markers || line.points.size() == 1) {
      dots += fmt::format(
          "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\"><title>{}: {:.6g} at "
          "{}</title></circle>\n",
          px, py, colour, escape_html(line.label), point.y, point.x);
    }
  }
  return fmt::format(
      "<g><title>{}</title><polyline class=\"curve\" style=\"stroke:{}\"{} points=\"{}\"/></g>\n{}",
      escape_html(line.label), colour, kDashes[line.series / kPlotColours % 3], points, dots);
}

std::string draw_marks(const std::vector<PlotMark>& marks, const Axis& x, const Axis& y) {
  std::string svg;
  for (const PlotMark& mark : marks) {
    if (mark.x < x.low || mark.x > x.high) continue;
    const double place = x.place(mark.x);
    svg += line_between("mark", place, y.begin, place, y.end);
    svg += text_at(place + 4, y.end - 5, "start", "tick", mark.label);
  }
  return svg;
}

std::string begin_svg(const std::string& title) {
  return fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">\n", kWidth,
                     kHeight, escape_html(title));
}

std::vector<PlotLine> finite_lines(const Plot& plot) {
  std::vector<PlotLine> lines;
  for (PlotLine line : plot.lines) {
    const auto is_broken = [](const CurvePoint& p) {
      return !std::isfinite(p.x) || !std::isfinite(p.y);
    };
    line.points.erase(std::remove_if(line.points.begin(), line.points.end(), is_broken),
                      line.points.end());
    if (!line.points.empty()) lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace

std::vector<double> axis_ticks(double low, double high, int count) {
  if (!are_apart(low, high)) return {low};
  const double rough = (high - low) / count;
  const double magnitude = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * magnitude;
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * magnitude >= rough * (1 - 1e-9)) {
      step = factor * magnitude;
      break;
    }
  }
  std::vector<double> ticks;
  const double first = std::ceil(low / step - 1e-9);
  for (int i = 0; i < kMostTicks; ++i) {
    const double tick = (first + i) * step;
    if (tick > high + 1e-9 * step) break;
    ticks.push_back(tick);
  }
  return ticks;
}

std::string plot_to_svg(const Plot& plot) {
  const std::vector<PlotLine> lines = finite_lines(plot);
  if (lines.empty()) return "";
  Axis x{0, plot.last_x, kLeft, kWidth - kRight};
  Axis y{lines[0].points[0].y, lines[0].points[0].y, kHeight - kBottom, kTop};
  for (const PlotLine& line : lines) {
    for (const CurvePoint& point : line.points) {
      x.low = std::min(x.low, point.x);
      x.high = std::max(x.high, point.x);
      y.low = std::min(y.low, point.y);
      y.high = std::max(y.high, point.y);
    }
  }
  if (x.high <= x.low) x.high = x.low + 1;
  spread_range(y.low, y.high);
  std::string svg = begin_svg(plot.title) + draw_axes(x, y, plot.x_label);
  svg += draw_marks(plot.marks, x, y);
  for (const PlotLine& line : lines) svg += draw_line(line, x, y);
  return svg + "</svg>\n";
}

std::string histogram_to_svg(const Histogram& histogram) {
  if (histogram.values.empty()) return "";
  constexpr int64_t kBars = 24;
  const int64_t largest = *std::max_element(histogram.values.begin(), histogram.values.end());
  const int64_t width = largest / kBars + 1;
  std::vector<int64_t> counts(static_cast<size_t>(largest / width) + 1, 0);
  for (const int64_t value : histogram.values) ++counts[static_cast<size_t>(value / width)];
  const auto bars = static_cast<double>(counts.size());
  const Axis x{0, bars * static_cast<double>(width), kLeft, kWidth - kRight};
  const auto highest = static_cast<double>(*std::max_element(counts.begin(), counts.end()));
  const Axis y{0, highest * 1.05, kHeight - kBottom, kTop};
  std::string svg = begin_svg(histogram.title) + draw_axes(x, y, histogram.x_label);
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) continue;
    const int64_t first = static_cast<int64_t>(i) * width, last = first + width - 1;
    const std::string range =
        width == 1 ? std::to_string(first) : fmt::format("{} to {}", first, last);
    const double left = x.place(static_cast<double>(first));
    const double right = x.place(static_cast<double>(first + width));
    const double top = y.place(static_cast<double>(counts[i]));
    svg += fmt::format(
        "<rect class=\"bar\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\">"
        "<title>{}: {}</title></rect>\n",
        left + 1, top, std::max(right - left - 2, 1.0), y.begin - top, range, counts[i]);
  }
  return svg + "</svg>\n";
}

}  // namespace simile
