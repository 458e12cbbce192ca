// SPDX-License-Identifier: Apache-2.0
// Plots as inline SVG, which needs no script. Colours are the custom properties --c0 .. --c7 of the
// page, text and lines have the classes that html_report.cpp styles, so that a plot is legible in
// light and dark.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simile/report/run_log.h"

namespace simile {

constexpr int kPlotColours = 8;

struct PlotLine {
  std::string label;  // shown when the pointer rests on the line
  std::vector<CurvePoint> points;
  int series = 0;        // colour, and beyond kPlotColours also dashes
  bool markers = false;  // a dot at each point
};

struct PlotMark {
  double x = 0;
  std::string label;
};

struct Plot {
  std::string title, x_label;
  std::vector<PlotLine> lines;  // points that are not finite are left out
  std::vector<PlotMark> marks;  // vertical lines; those beyond the axis are left out
  double last_x = 0;            // the x axis goes from 0 to here, and as far as there are points
};

// Empty without a point to draw.
std::string plot_to_svg(const Plot& plot);

struct Histogram {
  std::string title, x_label;
  std::vector<int64_t> values;  // not negative
};

// Bars of equal width, at most 24 of them. Empty without values.
std::string histogram_to_svg(const Histogram& histogram);

// Round numbers that divide [low, high] into about `count` parts, from at or above `low` on; of
// equal ends that number alone.
std::vector<double> axis_ticks(double low, double high, int count);

}  // namespace simile
