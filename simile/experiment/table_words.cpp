// SPDX-License-Identifier: Apache-2.0
#include "simile/experiment/detail/table_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cstring>

#include "simile/core/text_table.h"

namespace simile {
namespace {

constexpr int64_t kFewestRows = 5;  // of four, the two orders that agree most have p = 0.08

int digits_of(const TableColumn& column) { return column.scale < 10 ? 3 : 2; }

std::string signed_figure(const TableColumn& column, double fraction) {
  return fmt::format("{:+.{}f}", fraction * column.scale, digits_of(column));
}

// The first line of a message, and no more of it than a cell bears.
std::string shorten(const std::string& message, size_t most) {
  const std::string line = message.substr(0, message.find('\n'));
  return line.size() <= most ? line : line.substr(0, most - 3) + "...";
}

// As a shell reads it as one word.
std::string quoted(const std::string& word) {
  const bool is_plain = !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || std::strchr("_./=:+-", c) != nullptr;
  });
  if (is_plain) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

}  // namespace

std::string paper_figure(const TableColumn& column, const std::optional<double>& figure) {
  return figure ? fmt::format("{:.{}f}", *figure, digits_of(column)) : "";
}

std::string our_figure(const TableColumn& column, const TableCell& cell) {
  if (cell.values.empty()) {
    return (cell.has_failed ? "failed: " : "") + shorten(cell.problem, 40);
  }
  const Spread spread = cell.spread();
  const int digits = digits_of(column);
  std::string text = fmt::format("{:.{}f}", spread.mean * column.scale, digits);
  if (cell.values.size() > 1) {
    text += fmt::format(" ± {:.{}f}", spread.deviation * column.scale, digits);
  }
  if (!cell.folders.empty()) text += fmt::format(" ({})", cell.values.size());
  if (cell.interval) {
    text += fmt::format(" [{:.{}f}, {:.{}f}]", cell.interval->low * column.scale, digits,
                        cell.interval->high * column.scale, digits);
  }
  return text;
}

std::string table_head(const Reproduction& result) {
  const ReproduceOptions& options = result.options;
  std::string head = fmt::format("{} {}", options.runs, options.runs == 1 ? "seed" : "seeds");
  if (!result.model.empty()) head = fmt::format("from {}, {}", result.model, head);
  if (!result.settings.empty()) head += fmt::format(", settings '{}'", result.settings);
  if (!result.table.reference.empty()) {
    head += fmt::format(", * p < 0.05 and _ p < 0.1 against '{}'", result.table.reference);
  }
  if (options.limit > 0) {
    head += fmt::format(", a quick look: {} examples of each set", options.limit);
  }
  return head;
}

std::string figure_words(const Reproduction& result) {
  const std::string words = "mean ± standard deviation (seeds finished)";
  return result.options.intervals ? words + " [95 % interval over the test examples]" : words;
}

std::string table_command(const Reproduction& result) {
  const ReproduceOptions& options = result.options;
  std::string command = "simile reproduce " + quoted(result.asked);
  const auto add = [&command](const char* flag, const std::string& value) {
    if (!value.empty()) command += fmt::format(" {} {}", flag, quoted(value));
  };
  add("--data", options.data);
  add("--model", options.model);
  add("--settings", options.settings);
  add("--runs", fmt::format("{}", options.runs));
  if (options.limit > 0) add("--limit", fmt::format("{}", options.limit));
  if (options.show) {
    for (const std::string& set : options.set) add("--set", set);
  }
  return options.intervals ? command + " --intervals" : command;
}

std::string order_line(const Reproduction& result, const JudgedOrder& order) {
  const int64_t pairs = order.same + order.reversed;
  const bool can_decide = order.rows >= kFewestRows;
  const std::string verdict = can_decide
                                  ? fmt::format("{} (", name_of(order.verdict))
                                  : fmt::format("{} rows are too few to decide (", order.rows);
  return fmt::format(
      "{}: the paper's order of rows: {}Kendall's tau {:+.2f}, {}); {} of {} pairs stand as in the "
      "paper ({} of them with p < 0.05), {} the other way ({})",
      result.table.columns[order.column].label, verdict, order.tau, show_p_equation(order.p),
      order.same, pairs, order.same_significant, order.reversed, order.reversed_significant);
}

std::string claim_figures(const Reproduction& result, const JudgedClaim& judged) {
  const TableColumn& column = result.table.columns[judged.column];
  std::vector<std::string> parts;
  if (judged.seeds > 0) {
    parts.push_back(fmt::format("{}, {} {}", signed_figure(column, judged.difference), judged.seeds,
                                judged.seeds == 1 ? "seed" : "seeds"));
  }
  if (judged.t_test) {
    parts.push_back(fmt::format("{} (t), {} (permutation)", show_p_equation(judged.t_test->p),
                                show_p(judged.permutation->p)));
  }
  if (judged.interval) {
    parts.push_back(fmt::format("95 % interval over examples {} to {}",
                                signed_figure(column, judged.interval->low),
                                signed_figure(column, judged.interval->high)));
  }
  if (!judged.remark.empty()) parts.push_back(judged.remark);
  if (judged.paper_difference) {
    parts.push_back(fmt::format("paper {:+.{}f}", *judged.paper_difference, digits_of(column)));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::vector<std::string> table_remarks(const Reproduction& result) {
  std::vector<std::string> remarks;
  for (size_t r = 0; r < result.table.rows.size(); ++r) {
    const TableRow& row = result.table.rows[r];
    std::vector<std::string> told;
    for (size_t c = 0; c < result.table.columns.size(); ++c) {
      const TableCell& cell = result.cells[r][c];
      if (cell.start_kept > 0) {
        const std::string set = result.table.columns[c].set;
        const std::string kept = fmt::format(
            "{}{}: {} of {} runs kept the weights they began with", row.label,
            result.table.sets.size() > 1 ? " on " + set : "", cell.start_kept, cell.values.size());
        if (std::count(told.begin(), told.end(), kept) == 0) told.push_back(kept);
      }
      if (!cell.without_interval.empty()) {
        told.push_back(fmt::format("{}, {}: no interval: {}", row.label,
                                   result.table.columns[c].label,
                                   shorten(cell.without_interval, 400)));
      }
      if (cell.problem.empty() || !row.absent.empty()) continue;
      const std::string there =
          cell.values.empty() ? ""
                              : fmt::format("{} of {} seeds; the others: ", cell.values.size(),
                                            result.options.runs);
      const std::string problem =
          fmt::format("{}: {}{}", row.label, there, shorten(cell.problem, 400));
      if (std::count(told.begin(), told.end(), problem) == 0) told.push_back(problem);
    }
    remarks.insert(remarks.end(), told.begin(), told.end());
    if (!row.absent.empty()) remarks.push_back(fmt::format("{}: {}", row.label, row.absent));
    if (!row.note.empty()) remarks.push_back(fmt::format("{}: {}", row.label, row.note));
  }
  remarks.insert(remarks.end(), result.table.notes.begin(), result.table.notes.end());
  return remarks;
}

}  // namespace simile
