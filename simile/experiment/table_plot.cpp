// SPDX-License-Identifier: Apache-2.0
// A reproduced table drawn: a panel a column, a line a row; the paper's figure a ring, ours a dot
// with its standard deviation, each seed a tick. Both are drawn as differences from the mean of the
// rows that have both, as the level of another encoder or set would hide the order of the rows.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "simile/experiment/reproduction.h"
#include "simile/report/plot.h"

namespace simile {
namespace {

constexpr double kLabels = 250, kPanel = 230, kGap = 24, kLine = 22, kHead = 76, kFoot = 62;

double bottom_of(const Reproduction& result) {
  return kHead + kLine * static_cast<double>(result.table.rows.size());
}

PlotAxis row_axis(const Reproduction& result) {
  PlotAxis rows{0, 1, kHead, bottom_of(result)};
  for (const TableRow& row : result.table.rows) rows.names.push_back(row.label);
  return rows;
}

class TablePanel {
 public:
  TablePanel(const Reproduction& result, size_t column) : result_(result), column_(column) {
    x_.begin = kLabels + static_cast<double>(column) * (kPanel + kGap);
    x_.end = x_.begin + kPanel;
    find_levels();
    for (size_t r = 0; r < result.table.rows.size(); ++r) {
      if (const auto& figure = paper(r)) widen(*figure - paper_level_);
      if (!result.table.rows[r].is_trained()) continue;  // one far off would squeeze the others
      for (const double value : cell(r).values) widen(value * scale() - our_level_);
    }
    const double room = x_.low < x_.high ? 0.08 * (x_.high - x_.low) : 1;
    x_.low -= room;
    x_.high += room;
  }

  std::string draw() const {
    const double middle = (x_.begin + x_.end) / 2;
    std::string svg = svg_text(middle, kHead - 32, "middle", result_.table.columns[column_].label);
    if (has_levels_) {
      svg += svg_text(middle, kHead - 16, "middle",
                      fmt::format("means: paper {:.4g}, ours {:.4g}", paper_level_, our_level_));
    }
    if (x_.low > x_.high) return svg;  // nothing to draw
    svg += draw_x_ticks(x_, kHead - 8, bottom_of(result_), "grid", 4, [&](double tick) {
      return has_levels_ ? fmt::format("{:+.4g}", tick) : fmt::format("{:.4g}", tick);
    });
    const PlotAxis rows = row_axis(result_);
    for (size_t r = 0; r < result_.table.rows.size(); ++r) {
      const double y = rows.place(static_cast<double>(r));
      svg += draw_ours(r, y);
      if (paper(r)) {
        svg += svg_dot("ring1", x_.place(*paper(r) - paper_level_), y, 5,
                       fmt::format("paper {}", *paper(r)));
      }
    }
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

  double place(double ours) const { return x_.place(ours - our_level_); }
  void widen(double value) {
    x_.low = std::min(x_.low, value);
    x_.high = std::max(x_.high, value);
  }

  // A number at the edge for what lies beyond the panel.
  std::string draw_ours(size_t row, double y) const {
    if (cell(row).values.empty()) return "";
    const Spread spread = cell(row).spread();
    const double mean = spread.mean * scale(), sd = spread.deviation * scale();
    if (mean - our_level_ < x_.low) {
      return svg_text(x_.begin, y + 4, "start", fmt::format("← {:.4g}", mean));
    }
    if (mean - our_level_ > x_.high) {
      return svg_text(x_.end, y + 4, "end", fmt::format("{:.4g} →", mean));
    }
    std::string svg;
    for (const double value : cell(row).values) {
      svg += svg_line("faint", place(value * scale()), y - 5, place(value * scale()), y + 5);
    }
    return svg + svg_line("whisker", place(mean - sd), y, place(mean + sd), y) +
           svg_dot("dot0", place(mean), y, 4, fmt::format("ours {:.3f} ± {:.3f}", mean, sd));
  }

  const Reproduction& result_;
  size_t column_;
  bool has_levels_ = false;  // there are figures of the paper, and ours beside them
  double paper_level_ = 0, our_level_ = 0;
  PlotAxis x_{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
};

}  // namespace

std::string Reproduction::to_svg() const {
  const double width = kLabels + static_cast<double>(table.columns.size()) * (kPanel + kGap);
  const double height = bottom_of(*this) + kFoot;
  std::string svg = svg_text(8, 18, "start", fmt::format("{}: {}", table.name, table.title));
  svg += draw_y_ticks(row_axis(*this), kLabels - 8, width, 0);
  for (size_t c = 0; c < table.columns.size(); ++c) svg += TablePanel(*this, c).draw();
  svg += svg_text(8, height - 24, "start",
                  "ring: paper; dot and line: ours, mean and standard deviation; ticks: seeds");
  svg += svg_text(8, height - 8, "start",
                  "where the paper has figures, each less the mean of the rows that have both");
  return svg_document(width, height, table.title, svg);
}

}  // namespace simile
