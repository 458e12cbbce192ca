// SPDX-License-Identifier: Apache-2.0
// Drawings as SVG, without scripts: plots within a page, which gives them their style
// (html_report.cpp: colours are its --c0 .. --c7, for light and dark), and the axes, marks and
// texts that documents of their own are made of. Texts are escaped here.
#pragma once

#include <cstdint>
#include <functional>
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
  std::vector<PlotLine> lines;     // points that are not finite are left out
  std::vector<PlotMark> marks;     // vertical lines; those beyond the axis are left out
  double first_x = 0, last_x = 0;  // the x axis goes so far at least, and as there are points
};

// Empty without a point to draw.
std::string plot_to_svg(const Plot& plot);

struct Histogram {
  std::string title, x_label;
  std::vector<int64_t> values;  // not negative
};

// Bars of equal width, at most 24 of them. Empty without values.
std::string histogram_to_svg(const Histogram& histogram);

// Round numbers that divide [low, high] into about `count` parts; of equal ends that number alone.
std::vector<double> axis_ticks(double low, double high, int count);

// An axis with equal or logarithmic steps, or a place for each of `names`, the values 0, 1, ...
struct PlotAxis {
  double low = 0, high = 1;   // values at its ends
  double begin = 0, end = 0;  // and where these are drawn
  bool is_log = false;
  std::vector<std::string> names = {};

  double place(double value) const;
};

using ShowTick = std::function<std::string(double)>;

// About `count` ticks with their texts: below an x axis, whose lines go from `top` to `bottom`, and
// to the left of a y axis, with a grid from `left` to `right`.
std::string draw_x_ticks(const PlotAxis& x, double top, double bottom, const char* style, int count,
                         const ShowTick& show = {});
std::string draw_y_ticks(const PlotAxis& y, double left, double right, int count,
                         const ShowTick& show = {});

// `anchor`: start, middle or end.
std::string svg_text(double x, double y, const char* anchor, const std::string& text,
                     const char* style = "tick");
std::string svg_line(const char* style, double x1, double y1, double x2, double y2);
// `title` is shown when the pointer rests on it.
std::string svg_dot(const char* style, double x, double y, double radius, const std::string& title);

// A file of its own. Styles: grid; curve and band; bar, a thick and pale line; whisker; dot and
// ring in two colours (dot0, ring1), ring, dashed; faint, a thin line.
std::string svg_document(double width, double height, const std::string& title,
                         const std::string& content);

}  // namespace simile
