// SPDX-License-Identifier: Apache-2.0
// A reproduced table as text, Markdown and JSON.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "simile/core/text_table.h"
#include "simile/experiment/detail/judgement.h"
#include "simile/experiment/detail/table_words.h"
#include "simile/experiment/reproduction.h"

namespace simile {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kPaper = "paper";

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
        line.push_back(paper_figure(columns[c], result.table.rows[r].paper[c]));
      }
      line.push_back(our_figure(columns[c], result.cells[r][c]) + mark_of(result, r, c));
    }
    grid.push_back(std::move(line));
  }
  return grid;
}

// The paper's figures on the right, ours on the left with what follows them.
std::string align(const TableRows& grid) {
  std::string sides;
  for (const std::string& head : grid[1]) sides += head == kPaper ? 'r' : 'l';
  return text_table(grid, {0, sides, 1});
}

// One line of head: a column's label stands before both its figures.
std::vector<std::string> markdown_head(const Reproduction& result) {
  std::vector<std::string> head(1);
  for (size_t c = 0; c < result.table.columns.size(); ++c) {
    const std::string& label = result.table.columns[c].label;
    if (has_paper(result, c)) head.push_back(label + ", paper");
    head.push_back(has_paper(result, c) ? label + ", ours" : label);
  }
  return head;
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
  if (judged.t_test) json["t_test_p"] = judged.t_test->p;
  if (judged.permutation) json["permutation_p"] = judged.permutation->p;
  if (judged.interval) json["interval"] = interval_json(*judged.interval);
  if (!judged.remark.empty()) json["remark"] = judged.remark;
  return json;
}

}  // namespace

std::string Reproduction::to_text() const {
  std::string text = fmt::format("{}: {}\n", table.name, table.title);
  if (!table.source.empty()) text += table.source + "\n";
  text += fmt::format("{}; ours: {}\n\n{}\n", table_head(*this), figure_words(*this),
                      align(make_grid(*this)));
  for (const JudgedOrder& order : orders) text += "order, " + order_line(*this, order) + "\n";
  for (const JudgedClaim& judged : claims) {
    text += fmt::format("{:13}  {}: {}\n", judged.verdict_words(), claim_words(*this, judged),
                        claim_figures(*this, judged));
  }
  for (const std::string& remark : table_remarks(*this)) text += "note: " + remark + "\n";
  return text;
}

std::string Reproduction::to_markdown() const {
  std::string text = fmt::format("## {}: {}\n\n", table.name, table.title);
  if (!table.source.empty()) text += table.source + "; ";
  text += fmt::format("{}. Ours: {}.\n\n", table_head(*this), figure_words(*this));
  TableRows grid = make_grid(*this);
  grid.erase(grid.begin());
  grid[0] = markdown_head(*this);
  text += markdown_table(grid) + "\n";
  for (const JudgedOrder& order : orders) text += "- " + order_line(*this, order) + "\n";
  TableRows judgements = {{"claim", "verdict", "figures"}};
  for (const JudgedClaim& judged : claims) {
    judgements.push_back(
        {claim_words(*this, judged), judged.verdict_words(), claim_figures(*this, judged)});
  }
  if (!claims.empty()) text += "\n" + markdown_table(judgements);
  const std::vector<std::string> remarks = table_remarks(*this);
  if (!remarks.empty()) text += "\n";
  for (const std::string& remark : remarks) text += "- " + remark + "\n";
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
