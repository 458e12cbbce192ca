// SPDX-License-Identifier: Apache-2.0
// A reproduced table drawn: a panel a column, a line a row; the paper's figure a ring, ours a dot
// with its standard deviation, each seed a tick. Both are drawn as differences from the mean of the
// rows that have both, as the level of another encoder or set would hide the order of the rows.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "simile/report/plot.h"
#include "simile/tune/detail/svg_text.h"
#include "simile/tune/reproduction.h"

namespace simile {
namespace {

constexpr double kLabels = 250, kPanel = 230, kGap = 24, kLine = 22, kHead = 76, kFoot = 62;

class Panel {
 public:
  Panel(const Reproduction& result, size_t column) : result_(result), column_(column) {
    left_ = kLabels + static_cast<double>(column) * (kPanel + kGap);
    find_levels();
    for (size_t r = 0; r < result.table.rows.size(); ++r) {
      if (const auto& figure = paper(r)) widen(*figure - paper_level_);
      if (!result.table.rows[r].is_trained()) continue;  // one far off would squeeze the others
      for (const double value : cell(r).values) widen(value * scale() - our_level_);
    }
    const double room = low_ < high_ ? 0.08 * (high_ - low_) : 1;
    low_ -= room;
    high_ += room;
  }

  std::string draw() const {
    std::string svg =
        svg_text(left_ + kPanel / 2, kHead - 32, "middle", result_.table.columns[column_].label);
    if (has_levels_) {
      svg += svg_text(left_ + kPanel / 2, kHead - 16, "middle",
                      fmt::format("means: paper {:.4g}, ours {:.4g}", paper_level_, our_level_));
    }
    if (low_ > high_) return svg;  // nothing to draw
    const double bottom = kHead + kLine * static_cast<double>(result_.table.rows.size());
    for (const double tick : axis_ticks(low_, high_, 4)) {
      svg += fmt::format(
          "<line class=\"grid\" x1=\"{0:.1f}\" y1=\"{1}\" x2=\"{0:.1f}\" y2=\"{2}\"/>\n",
          place(tick), kHead - 8, bottom);
      svg += svg_text(place(tick), bottom + 16, "middle",
                      fmt::format(has_levels_ ? "{:+.4g}" : "{:.4g}", tick));
    }
    for (size_t r = 0; r < result_.table.rows.size(); ++r) svg += draw_row(r);
    return svg;
  }

 private:
  const TableCell& cell(size_t row) const { return result_.cells[row][column_]; }
  const std::optional<double>& paper(size_t row) const {
    return result_.table.rows[row].paper[column_];
  }
  double scale() const { return result_.table.columns[column_].scale; }

  void find_levels() {
    double papers = 0, ours = 0;
    int64_t rows = 0;
    for (size_t r = 0; r < result_.table.rows.size(); ++r) {
      if (!paper(r) || cell(r).values.empty()) continue;
      papers += *paper(r);
      ours += cell(r).spread().mean * scale();
      ++rows;
    }
    has_levels_ = rows > 0;
    if (!has_levels_) return;
    paper_level_ = papers / static_cast<double>(rows);
    our_level_ = ours / static_cast<double>(rows);
  }

  double place(double value) const { return left_ + (value - low_) / (high_ - low_) * kPanel; }
  void widen(double value) {
    low_ = std::min(low_, value);
    high_ = std::max(high_, value);
  }

  // What lies beyond the panel, as a number at its edge.
  std::string draw_far(double mean, double y) const {
    const bool is_low = mean - our_level_ < low_;
    return svg_text(is_low ? left_ : left_ + kPanel, y + 4, is_low ? "start" : "end",
                    is_low ? fmt::format("← {:.4g}", mean) : fmt::format("{:.4g} →", mean));
  }

  std::string draw_row(size_t row) const {
    const double y = kHead + kLine * (static_cast<double>(row) + 0.5);
    return draw_ours(row, y) + draw_paper(row, y);
  }

  std::string draw_ours(size_t row, double y) const {
    if (cell(row).values.empty()) return "";
    const Spread spread = cell(row).spread();
    const double mean = spread.mean * scale(), sd = spread.deviation * scale();
    if (mean - our_level_ < low_ || mean - our_level_ > high_) return draw_far(mean, y);
    std::string svg;
    for (const double value : cell(row).values) {
      svg += fmt::format(
          "<line class=\"seed\" x1=\"{0:.1f}\" y1=\"{1:.1f}\" x2=\"{0:.1f}\" y2=\"{2:.1f}\"/>\n",
          place(value * scale() - our_level_), y - 5, y + 5);
    }
    return svg + fmt::format(
                     "<line class=\"sd\" x1=\"{0:.1f}\" y1=\"{2:.1f}\" x2=\"{1:.1f}\" "
                     "y2=\"{2:.1f}\"/>\n<circle class=\"ours\" cx=\"{3:.1f}\" cy=\"{2:.1f}\" "
                     "r=\"4\"><title>ours {4:.3f} ± {5:.3f}</title></circle>\n",
                     place(mean - sd - our_level_), place(mean + sd - our_level_), y,
                     place(mean - our_level_), mean, sd);
  }

  std::string draw_paper(size_t row, double y) const {
    const std::optional<double>& figure = paper(row);
    if (!figure) return "";
    return fmt::format(
        "<circle class=\"paper\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5\"><title>paper "
        "{}</title></circle>\n",
        place(*figure - paper_level_), y, *figure);
  }

  const Reproduction& result_;
  size_t column_;
  double left_ = 0;
  bool has_levels_ = false;  // there are figures of the paper, and ours beside them
  double paper_level_ = 0, our_level_ = 0;
  double low_ = std::numeric_limits<double>::infinity();
  double high_ = -std::numeric_limits<double>::infinity();
};

}  // namespace

std::string Reproduction::to_svg() const {
  const auto rows = static_cast<double>(table.rows.size());
  const auto columns = static_cast<double>(table.columns.size());
  const double width = kLabels + columns * (kPanel + kGap), height = kHead + rows * kLine + kFoot;
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
      "height=\"{1:.0f}\" role=\"img\" aria-label=\"{2}\">\n"
      "<style>text {{ font: 12px sans-serif; fill: #444 }} .grid {{ stroke: #ddd }} "
      ".seed {{ stroke: #0072b2; opacity: .45 }} .sd {{ stroke: #0072b2; stroke-width: 2 }} "
      ".ours {{ fill: #0072b2 }} .paper {{ fill: none; stroke: #d55e00; stroke-width: 2 "
      "}}</style>\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
      width, height, escape_svg(table.title));
  svg += svg_text(8, 18, "start", fmt::format("{}: {}", table.name, table.title));
  for (size_t r = 0; r < table.rows.size(); ++r) {
    svg += svg_text(kLabels - 14, kHead + kLine * (static_cast<double>(r) + 0.5) + 4, "end",
                    table.rows[r].label);
  }
  for (size_t c = 0; c < table.columns.size(); ++c) svg += Panel(*this, c).draw();
  svg += svg_text(8, height - 24, "start",
                  "ring: paper; dot and line: ours, mean and standard deviation; ticks: seeds");
  svg += svg_text(8, height - 8, "start",
                  "where the paper has figures, each less the mean of the rows that have both");
  return svg + "</svg>\n";
}

}  // namespace simile
