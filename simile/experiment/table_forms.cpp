// SPDX-License-Identifier: Apache-2.0
// A reproduced table as text, Markdown and JSON.
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>

#include "simile/core/text_table.h"
#include "simile/experiment/detail/judgement.h"
#include "simile/experiment/reproduction.h"

namespace simile {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kPaper = "paper";
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

// "0.512 ± 0.010 (3) [0.490, 0.535], best 0.520", or why there is none.
std::string our_figure(const TableColumn& column, const TableCell& cell) {
  if (cell.values.empty()) return (cell.has_failed ? "failed: " : "") + shorten(cell.problem, 40);
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
  if (cell.best) text += fmt::format(", best {:.{}f}", *cell.best * column.scale, digits);
  return text;
}

std::string table_head(const Reproduction& result) {
  const ReproduceOptions& options = result.options;
  std::string head = counted(options.runs, "seed");
  if (!result.model.empty()) head = fmt::format("from {}, {}", result.model, head);
  if (!result.settings.empty()) head += fmt::format(", settings '{}'", result.settings);
  if (!result.table.reference.empty()) {
    head += fmt::format(
        ", * p < 0.05 and _ p < 0.1 against '{}' by the seeds alone (`simile compare` "
        "also asks the examples)",
        result.table.reference);
  }
  if (options.limit > 0) {
    head += fmt::format(", a quick look: {} examples of each set", options.limit);
  }
  return head;
}

std::string figure_words(const Reproduction& result) {
  std::string words = "mean ± standard deviation (seeds finished)";
  if (result.options.intervals) words += " [95 % interval over the test examples]";
  if (result.table.best_of_seeds) {
    words += ", best: the seed that is best on dev, as the paper's figures are";
  }
  return words;
}

// The command line: "simile reproduce bsc-table3 --data DIR --settings small --runs 5".
std::string table_command(const Reproduction& result) {
  const ReproduceOptions& options = result.options;
  std::string command = "simile reproduce " + quoted(result.asked);
  const auto add = [&command](const char* flag, const std::string& value) {
    if (!value.empty()) command += fmt::format(" {} {}", flag, quoted(value));
  };
  add("--data", options.data);
  add("--model", options.model);
  add("--settings", options.settings);
  add("--device", options.device);
  add("--runs", fmt::format("{}", options.runs));
  if (options.limit > 0) add("--limit", fmt::format("{}", options.limit));
  if (options.show) {
    for (const std::string& set : options.set) add("--set", set);
  }
  return options.intervals ? command + " --intervals" : command;
}

// "+0.200, 5 seeds; p = 0.0034 (t), 0.0625 (permutation), corrected 0.0102 (Benjamini-Hochberg),
// 0.0170 (Holm); 95 % interval over examples +0.100 to +0.300"
std::string claim_figures(const Reproduction& result, const JudgedClaim& judged) {
  const TableColumn& column = result.table.columns[judged.column];
  std::vector<std::string> parts;
  if (judged.seeds > 0) {
    parts.push_back(fmt::format("{}, {}", signed_figure(column, judged.difference),
                                counted(judged.seeds, "seed")));
    if (judged.better == Better::kLower) parts.emplace_back("lower is better");
  }
  if (judged.t_test) {
    std::string p = fmt::format("{} (t), {} (permutation)", show_p_equation(judged.t_test->p),
                                show_p(judged.permutation->p));
    if (judged.adjusted) {
      p += fmt::format(", corrected {} (Benjamini-Hochberg), {} (Holm)",
                       show_p(judged.adjusted->benjamini_hochberg), show_p(judged.adjusted->holm));
    }
    parts.push_back(std::move(p));
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

std::string correction_words(const Reproduction& result) {
  return fmt::format(
      "Verdicts: p corrected for {} (Benjamini-Hochberg), and the interval over the examples.",
      counted(result.tests, "test"));
}

// A row for each judged claim, a column for each of the table's: "+0.20 [+0.10, +0.30] **holds**".
TableRows claim_matrix(const Reproduction& result) {
  TableRows grid = {{"claim"}};
  for (const TableColumn& column : result.table.columns) grid[0].push_back(column.label);
  size_t last = result.table.claims.size();
  for (const JudgedClaim& judged : result.claims) {
    if (judged.seeds == 0) continue;
    if (judged.claim != last) {
      grid.push_back({result.table.claims[judged.claim].text});
      grid.back().resize(grid[0].size());
      last = judged.claim;
    }
    const TableColumn& column = result.table.columns[judged.column];
    std::string& cell = grid.back()[judged.column + 1];
    cell = signed_figure(column, judged.difference);
    if (judged.interval) {
      cell += fmt::format(" [{}, {}]", signed_figure(column, judged.interval->low),
                          signed_figure(column, judged.interval->high));
    }
    const bool is_decided = judged.verdict != ClaimVerdict::kUndecided;
    cell += fmt::format(" {0}{1}{0}", is_decided ? "**" : "", judged.verdict_words());
  }
  return grid;
}

// "CoSENT (CQA-A MAP, CQA-B MAP)"; the label alone where it is about all columns.
std::string with_columns(const Reproduction& result, const std::string& label,
                         const std::vector<std::string>& columns) {
  if (columns.size() == result.table.columns.size()) return label;
  return fmt::format("{} ({})", label, fmt::join(columns, ", "));
}

// The claims that no seed can judge, a line for each reason.
std::string unjudged_claims(const Reproduction& result) {
  std::map<std::string, std::map<size_t, std::vector<std::string>>> unjudged;  // reason, claim
  for (const JudgedClaim& judged : result.claims) {
    if (judged.seeds > 0) continue;
    unjudged[judged.remark][judged.claim].push_back(result.table.columns[judged.column].label);
  }
  std::string text;
  for (const auto& [reason, columns_of] : unjudged) {
    std::vector<std::string> names;
    for (const auto& [claim, columns] : columns_of) {
      names.push_back(with_columns(result, result.table.claims[claim].text, columns));
    }
    text += fmt::format("\nUndecided, because {}: {}.\n", reason, fmt::join(names, "; "));
  }
  return text;
}

// Problems of each row with their columns, and notes of rows and of the table.
std::vector<std::string> table_remarks(const Reproduction& result) {
  std::vector<std::string> remarks;
  for (size_t r = 0; r < result.table.rows.size(); ++r) {
    const TableRow& row = result.table.rows[r];
    std::vector<std::string> told;
    std::map<std::string, std::vector<std::string>> columns_of;  // each problem's
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
      columns_of[there + shorten(cell.problem, 400)].push_back(result.table.columns[c].label);
    }
    for (const auto& [problem, columns] : columns_of) {
      told.push_back(fmt::format("{}: {}", with_columns(result, row.label, columns), problem));
    }
    remarks.insert(remarks.end(), told.begin(), told.end());
    if (!row.absent.empty()) remarks.push_back(fmt::format("{}: {}", row.label, row.absent));
    if (!row.note.empty()) remarks.push_back(fmt::format("{}: {}", row.label, row.note));
  }
  remarks.insert(remarks.end(), result.table.notes.begin(), result.table.notes.end());
  return remarks;
}

std::string mark_of(const Reproduction& result, size_t row, size_t column) {
  const TableRow* reference = result.table.find_row(result.table.reference);
  if (reference == nullptr) return "";
  const auto place = static_cast<size_t>(reference - result.table.rows.data());
  if (place == row) return " (reference)";
  const std::string mark = cell_mark(result.cells[row][column], result.cells[place][column]);
  return mark.empty() ? "" : " " + mark;
}

bool has_paper(const Reproduction& result, size_t column) {
  const auto& rows = result.table.rows;
  return std::any_of(rows.begin(), rows.end(),
                     [column](const TableRow& row) { return row.paper[column].has_value(); });
}

// A head of two lines, then a line a row; the paper's figures only where it has some.
TableRows make_grid(const Reproduction& result) {
  TableRows grid(2, std::vector<std::string>(1));
  const std::vector<TableColumn>& columns = result.table.columns;
  for (size_t c = 0; c < columns.size(); ++c) {
    grid[0].push_back(columns[c].label);
    if (has_paper(result, c)) {
      grid[0].emplace_back();
      grid[1].emplace_back(kPaper);
    }
    grid[1].emplace_back("ours");
  }
  for (size_t r = 0; r < result.table.rows.size(); ++r) {
    std::vector<std::string> line = {result.table.rows[r].label};
    for (size_t c = 0; c < columns.size(); ++c) {
      if (has_paper(result, c)) {
        const std::optional<double>& paper = result.table.rows[r].paper[c];
        line.push_back(paper ? fmt::format("{:.{}f}", *paper, digits_of(columns[c])) : "");
      }
      line.push_back(our_figure(columns[c], result.cells[r][c]) + mark_of(result, r, c));
    }
    grid.push_back(std::move(line));
  }
  return grid;
}

// The rows that have runs, seed by seed, so that a repeated cell can be compared: "1: 81.1704".
TableRows seed_grid(const Reproduction& result) {
  TableRows grid = {{"seed: figure"}};
  const std::vector<TableColumn>& columns = result.table.columns;
  for (const TableColumn& column : columns) grid[0].push_back(column.label);
  for (size_t r = 0; r < result.table.rows.size(); ++r) {
    std::vector<std::string> line = {result.table.rows[r].label};
    bool has_runs = false;
    for (size_t c = 0; c < columns.size(); ++c) {
      const TableCell& cell = result.cells[r][c];
      std::vector<std::string> figures;
      for (size_t i = 0; i < cell.values.size() && !cell.folders.empty(); ++i) {
        figures.push_back(fmt::format("{}: {:.{}f}", cell.seeds[i],
                                      cell.values[i] * columns[c].scale,
                                      digits_of(columns[c]) + 2));
      }
      has_runs = has_runs || !figures.empty();
      line.push_back(fmt::format("{}", fmt::join(figures, ", ")));
    }
    if (has_runs) grid.push_back(std::move(line));
  }
  return grid;
}

std::string claim_words(const Reproduction& result, const JudgedClaim& judged) {
  return fmt::format("{} ({})", result.table.claims[judged.claim].text,
                     result.table.columns[judged.column].label);
}

Json optional_json(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

Json interval_json(const Interval& interval) {
  return {{"low", interval.low}, {"high", interval.high}};
}

Json cell_json(const TableCell& cell, const std::optional<double>& paper) {
  const Spread spread = cell.values.empty() ? Spread{} : cell.spread();
  Json json = {{"paper", optional_json(paper)}};
  if (!cell.values.empty()) {
    json["mean"] = spread.mean;
    if (cell.values.size() > 1) json["sd"] = spread.deviation;
    json["seeds"] = cell.seeds;
    json["values"] = cell.values;
    if (!cell.folders.empty()) json["runs"] = cell.folders;
    if (cell.best) json["best_on_dev"] = *cell.best;
    if (cell.start_kept > 0) json["start_kept"] = cell.start_kept;
    if (cell.interval) json["interval"] = interval_json(*cell.interval);
  }
  if (!cell.problem.empty()) json["problem"] = cell.problem;
  if (cell.has_failed) json["failed"] = true;
  return json;
}

Json claim_json(const Reproduction& result, const JudgedClaim& judged) {
  const TableClaim& claim = result.table.claims[judged.claim];
  Json json = {{"claim", claim.text},
               {"above", claim.above},
               {"below", claim.below},
               {"column", result.table.columns[judged.column].label},
               {"verdict", judged.verdict_words()},
               {"paper_difference", optional_json(judged.paper_difference)},
               {"seeds", judged.seeds}};
  if (judged.seeds > 0) json["difference"] = judged.difference;
  if (judged.better == Better::kLower) json["better"] = "lower";
  if (judged.t_test) json["t_test_p"] = judged.t_test->p;
  if (judged.permutation) json["permutation_p"] = judged.permutation->p;
  if (judged.adjusted) {
    json["benjamini_hochberg_p"] = judged.adjusted->benjamini_hochberg;
    json["holm_p"] = judged.adjusted->holm;
  }
  if (judged.interval) json["interval"] = interval_json(*judged.interval);
  if (!judged.remark.empty()) json["remark"] = judged.remark;
  return json;
}

}  // namespace

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

std::string Reproduction::to_text() const {
  std::string text = fmt::format("{}: {}\n", table.name, table.title);
  if (!table.source.empty()) text += table.source + "\n";
  const TableRows grid = make_grid(*this);
  std::string sides;  // the paper's figures on the right, ours on the left with what follows them
  for (const std::string& head : grid[1]) sides += head == kPaper ? 'r' : 'l';
  text += fmt::format("{}; ours: {}\n\n{}\n", table_head(*this), figure_words(*this),
                      text_table(grid, {0, sides, 1}));
  for (const JudgedOrder& order : orders) text += "order, " + order_line(*this, order) + "\n";
  if (tests > 0) text += correction_words(*this) + "\n";
  for (const JudgedClaim& judged : claims) {
    if (judged.seeds == 0) continue;
    text += fmt::format("{:13}  {}: {}\n", judged.verdict_words(), claim_words(*this, judged),
                        claim_figures(*this, judged));
  }
  text += unjudged_claims(*this);
  for (const std::string& remark : table_remarks(*this)) text += "note: " + remark + "\n";
  return text;
}

std::string Reproduction::to_markdown() const {
  std::string text = fmt::format("## {}: {}\n\n", table.name, table.title);
  if (!table.source.empty()) text += table.source + "; ";
  text += fmt::format("{}. Ours: {}.\n\n", table_head(*this), figure_words(*this));
  TableRows grid = make_grid(*this);
  grid.erase(grid.begin());
  grid[0] = {""};  // one line of head: a column's label stands before both its figures
  for (size_t c = 0; c < table.columns.size(); ++c) {
    const std::string& label = table.columns[c].label;
    if (has_paper(*this, c)) grid[0].push_back(label + ", paper");
    grid[0].push_back(has_paper(*this, c) ? label + ", ours" : label);
  }
  text += markdown_table(grid) + "\n";
  for (const JudgedOrder& order : orders) text += "- " + order_line(*this, order) + "\n";
  if (tests > 0) {
    text += fmt::format("\n{}\n\n{}", correction_words(*this), markdown_table(claim_matrix(*this)));
  }
  TableRows judgements = {{"claim", "verdict", "figures"}};
  for (const JudgedClaim& judged : claims) {
    if (judged.seeds == 0) continue;
    judgements.push_back(
        {claim_words(*this, judged), judged.verdict_words(), claim_figures(*this, judged)});
  }
  if (judgements.size() > 1) text += "\n" + markdown_table(judgements);
  text += unjudged_claims(*this);
  const std::vector<std::string> remarks = table_remarks(*this);
  if (!remarks.empty()) text += "\n";
  for (const std::string& remark : remarks) text += "- " + remark + "\n";
  const TableRows seeds = seed_grid(*this);
  if (seeds.size() > 1) text += "\nThe figures of each seed:\n\n" + markdown_table(seeds);
  return text + fmt::format("\nMade by `{}`; with `--row 'LABEL'{}` one {} of it.\n",
                            table_command(*this), table.sets.size() > 1 ? " --set NAME" : "",
                            table.sets.size() > 1 ? "cell" : "row");
}

std::string Reproduction::to_json() const {
  Json json = {{"table", table.name},    {"title", table.title}, {"source", table.source},
               {"model", model},         {"settings", settings}, {"runs", options.runs},
               {"limit", options.limit}, {"failed", failed},     {"command", table_command(*this)}};
  json["columns"] = Json::array();
  for (const TableColumn& column : table.columns) {
    json["columns"].push_back({{"label", column.label},
                               {"set", column.set},
                               {"metrics", column.metrics},
                               {"paper_scale", column.scale}});
  }
  json["rows"] = Json::array();
  for (size_t r = 0; r < table.rows.size(); ++r) {
    Json row = {{"label", table.rows[r].label}, {"cells", Json::array()}};
    if (!table.rows[r].absent.empty()) row["absent"] = table.rows[r].absent;
    for (size_t c = 0; c < table.columns.size(); ++c) {
      row["cells"].push_back(cell_json(cells[r][c], table.rows[r].paper[c]));
    }
    json["rows"].push_back(std::move(row));
  }
  json["order"] = Json::array();
  for (const JudgedOrder& order : orders) {
    json["order"].push_back({{"column", table.columns[order.column].label},
                             {"verdict", name_of(order.verdict)},
                             {"rows", order.rows},
                             {"tau", order.tau},
                             {"p", order.p},
                             {"same", order.same},
                             {"same_significant", order.same_significant},
                             {"reversed", order.reversed},
                             {"reversed_significant", order.reversed_significant}});
  }
  json["claims"] = Json::array();
  for (const JudgedClaim& judged : claims) json["claims"].push_back(claim_json(*this, judged));
  json["notes"] = table_remarks(*this);
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace simile
