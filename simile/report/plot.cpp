// SPDX-License-Identifier: Apache-2.0
#include "simile/report/plot.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "simile/report/detail/html.h"

namespace simile {
namespace {

// In the units of the view box; the page scales it.
constexpr double kWidth = 480, kHeight = 250;
constexpr double kLeft = 58, kRight = 12, kTop = 18, kBottom = 40;
constexpr int kMostTicks = 20;

// Values that differ only by rounding are equal: no tick fits between them.
bool are_apart(double low, double high) {
  return high - low > 1e-9 * std::max(std::abs(low), std::abs(high));
}

// Powers of ten, and three times them.
std::vector<double> log_ticks(double low, double high) {
  std::vector<double> ticks;
  for (double power = std::floor(std::log10(low)); power <= std::log10(high); ++power) {
    for (const double digit : {1.0, 3.0}) {
      const double tick = digit * std::pow(10.0, power);
      if (tick >= low * 0.999 && tick <= high * 1.001) ticks.push_back(tick);
    }
  }
  return ticks;
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

// Values of ticks and their texts.
std::vector<std::pair<double, std::string>> find_ticks(const PlotAxis& axis, int count,
                                                       const ShowTick& show) {
  std::vector<std::pair<double, std::string>> ticks;
  for (const std::string& name : axis.names) {
    ticks.emplace_back(static_cast<double>(ticks.size()), name);
  }
  if (!ticks.empty()) return ticks;
  const std::vector<double> values =
      axis.is_log ? log_ticks(axis.low, axis.high) : axis_ticks(axis.low, axis.high, count);
  const double step = values.size() > 1 ? values[1] - values[0] : 1;
  for (const double value : values) {
    ticks.emplace_back(value, show ? show(value) : show_tick(value, step));
  }
  return ticks;
}

std::string draw_axes(const PlotAxis& x, const PlotAxis& y, const std::string& x_label) {
  return draw_y_ticks(y, x.begin, x.end, 5) + draw_x_ticks(x, y.begin, y.begin + 4, "axis", 6) +
         svg_line("axis", x.begin, y.begin, x.end, y.begin) +
         svg_text((x.begin + x.end) / 2, kHeight - 6, "middle", x_label, "label");
}

std::string draw_line(const PlotLine& line, const PlotAxis& x, const PlotAxis& y) {
  static constexpr const char* kDashes[] = {"", " stroke-dasharray=\"7 3\"",
                                            " stroke-dasharray=\"2 3\""};
  const std::string colour = fmt::format("c{}", line.series % kPlotColours);
  std::string points, dots;
  for (const CurvePoint& point : line.points) {
    const double px = x.place(point.x), py = y.place(point.y);
    points += fmt::format("{}{:.1f},{:.2f}", points.empty() ? "" : " ", px, py);
    if (line.markers || line.points.size() == 1) {
      dots += svg_dot(("dot " + colour).c_str(), px, py, 3,
                      fmt::format("{}: {:.6g} at {}", line.label, point.y, point.x));
    }
  }
  return fmt::format("<g><title>{}</title><polyline class=\"curve {}\"{} points=\"{}\"/></g>\n{}",
                     escape_html(line.label), colour, kDashes[line.series / kPlotColours % 3],
                     points, dots);
}

std::string begin_svg(const std::string& title, const std::string& attributes = "") {
  return fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\"{}>\n", kWidth,
                     kHeight, escape_html(title), attributes);
}

// For axes within documents of their own.
constexpr const char* kStyle =
    "text { font: 12px sans-serif; fill: #444 } .grid { stroke: #ddd } .curve { fill: none; "
    "stroke: #0072b2; stroke-width: 2 } .band { fill: #0072b2; opacity: .15 } .bar { stroke: "
    "#0072b2; stroke-width: 8; opacity: .3 } .whisker { stroke: #0072b2; stroke-width: 2 } .faint "
    "{ stroke: #0072b2; opacity: .45 } .dot0 { fill: #0072b2 } .dot1 { fill: #d55e00 } .ring1 { "
    "fill: none; stroke: #d55e00; stroke-width: 2 } .ring { fill: none; stroke: #444 } .dashed { "
    "fill: none; stroke: #999; stroke-dasharray: 2 }";

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

double PlotAxis::place(double value) const {
  const double part = !names.empty() ? (value + 0.5) / static_cast<double>(names.size())
                      : is_log       ? std::log(value / low) / std::log(high / low)
                                     : (value - low) / (high - low);
  return begin + part * (end - begin);
}

std::string draw_x_ticks(const PlotAxis& x, double top, double bottom, const char* style, int count,
                         const ShowTick& show) {
  std::string svg;
  for (const auto& [value, text] : find_ticks(x, count, show)) {
    svg += svg_line(style, x.place(value), top, x.place(value), bottom);
    svg += svg_text(x.place(value), bottom + 13, "middle", text);
  }
  return svg;
}

std::string draw_y_ticks(const PlotAxis& y, double left, double right, int count,
                         const ShowTick& show) {
  std::string svg;
  for (const auto& [value, text] : find_ticks(y, count, show)) {
    svg += svg_line("grid", left, y.place(value), right, y.place(value));
    svg += svg_text(left - 6, y.place(value) + 4, "end", text);
  }
  return svg;
}

std::string svg_text(double x, double y, const char* anchor, const std::string& text,
                     const char* style) {
  return fmt::format("<text class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n",
                     style, x, y, anchor, escape_html(text));
}

std::string svg_line(const char* style, double x1, double y1, double x2, double y2) {
  return fmt::format(
      "<line class=\"{}\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>\n", style, x1,
      y1, x2, y2);
}

std::string svg_dot(const char* style, double x, double y, double radius,
                    const std::string& title) {
  return fmt::format(
      "<circle class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\"><title>{}</title></circle>\n",
      style, x, y, radius, escape_html(title));
}

std::string svg_document(double width, double height, const std::string& title,
                         const std::string& content) {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
      "height=\"{1:.0f}\" role=\"img\" aria-label=\"{2}\">\n<style>{3}</style>\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n{4}</svg>\n",
      width, height, escape_html(title), kStyle, content);
}

std::string plot_to_svg(const Plot& plot) {
  std::vector<PlotLine> lines;
  for (PlotLine line : plot.lines) {
    const auto is_broken = [](const CurvePoint& p) {
      return !std::isfinite(p.x) || !std::isfinite(p.y);
    };
    line.points.erase(std::remove_if(line.points.begin(), line.points.end(), is_broken),
                      line.points.end());
    if (!line.points.empty()) lines.push_back(std::move(line));
  }
  if (lines.empty()) return "";
  PlotAxis x{plot.first_x, plot.last_x, kLeft, kWidth - kRight};
  PlotAxis y{lines[0].points[0].y, lines[0].points[0].y, kHeight - kBottom, kTop};
  for (const PlotLine& line : lines) {
    for (const CurvePoint& point : line.points) {
      x.low = std::min(x.low, point.x);
      x.high = std::max(x.high, point.x);
      y.low = std::min(y.low, point.y);
      y.high = std::max(y.high, point.y);
    }
  }
  if (x.high <= x.low) x.high = x.low + 1;
  // Some room above and below, so that the range is not empty.
  const double room =
      are_apart(y.low, y.high) ? 0.05 * (y.high - y.low) : std::max(std::abs(y.high) * 0.1, 1e-9);
  y.low = y.low >= 0 && y.low - room < 0 ? 0 : y.low - room;
  y.high += room;
  // For scripts: the values at the ends of an axis, and where these are.
  const auto describe = [](const char* name, const PlotAxis& axis) {
    return fmt::format(" data-{}=\"{:.9g} {:.9g} {} {}\"", name, axis.low, axis.high, axis.begin,
                       axis.end);
  };
  std::string svg = begin_svg(plot.title, describe("x", x) + describe("y", y));
  std::vector<std::string> ends;  // the lines in words
  for (const PlotLine& line : lines) {
    const CurvePoint& end = line.points.back();
    ends.push_back(fmt::format("{}: {:.6g} at {} {}", line.label, end.y, plot.x_label, end.x));
  }
  svg += fmt::format("<desc>{}</desc>\n", escape_html(fmt::format("{}", fmt::join(ends, "; "))));
  svg += draw_axes(x, y, plot.x_label);
  for (const PlotMark& mark : plot.marks) {
    if (mark.x < x.low || mark.x > x.high) continue;
    const double place = x.place(mark.x);
    svg += svg_line("mark", place, y.begin, place, y.end);
    svg += svg_text(place + 4, y.end - 5, "start", mark.label);
  }
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
  const PlotAxis x{0, bars * static_cast<double>(width), kLeft, kWidth - kRight};
  const auto highest = static_cast<double>(*std::max_element(counts.begin(), counts.end()));
  const PlotAxis y{0, highest * 1.05, kHeight - kBottom, kTop};
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
        "<rect class=\"bar\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" "
        "height=\"{:.1f}\"><title>{}: {}</title></rect>\n",
        left + 1, top, std::max(right - left - 2, 1.0), y.begin - top, range, counts[i]);
  }
  return svg + "</svg>\n";
}

}  // namespace simile
