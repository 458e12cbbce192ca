// SPDX-License-Identifier: Apache-2.0
#include "simile/data/pair_data.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <map>

#include "simile/core/error.h"

namespace simile {
namespace {

using NamedScores = std::map<std::string, double>;

NamedScores parse_score_names(const std::vector<std::string>& names) {
  NamedScores scores;
  for (const std::string& name : names) {
    const size_t equals = name.rfind('=');
    double number = 0;
    bool good = equals != std::string::npos && equals > 0;
    if (good) {
      const char* end = name.data() + name.size();
      const auto parsed = std::from_chars(name.data() + equals + 1, end, number);
      good = parsed.ec == std::errc() && parsed.ptr == end && std::isfinite(number);
    }
    SIMILE_CHECK(good, ErrorKind::kRecipe,
                 fmt::format("score_names: expected NAME=NUMBER such as Good=1, found '{}'", name));
    scores[name.substr(0, equals)] = number;
  }
  return scores;
}

double read_score(const TableReader& reader, const Row& row, size_t column,
                  const NamedScores& names) {
  if (names.empty()) return reader.number(row, column);
  const auto named = names.find(row.fields[column]);
  if (named != names.end()) return named->second;
  std::string known;
  for (const auto& name : names) known += (known.empty() ? "" : ", ") + name.first;
  reader.fail(
      row, column,
      fmt::format("expected a name in score_names ({}), found '{}'", known, row.fields[column]));
}

}  // namespace

PairDataset read_pairs(const PairDataOptions& options) {
  SIMILE_CHECK(!options.path.empty(), ErrorKind::kRecipe, "no path of a file of pairs was given");
  const NamedScores names = parse_score_names(options.score_names);
  const bool scored = !options.score.empty(), grouped = !options.group.empty();
  std::vector<Column> columns = {{"left", {options.left}}, {"right", {options.right}}};
  const size_t score_column = columns.size();
  if (scored) columns.push_back({"score", {options.score}});
  const size_t group_column = columns.size();
  if (grouped) columns.push_back({"group", {options.group}});
  const size_t first_negative = columns.size();
  for (const std::string& name : options.negatives) columns.push_back({"negatives", {name}});

  TableReader reader(options.path, columns, ReadOptions{options.limit});
  PairDataset data;
  data.negatives.resize(options.negatives.size());
  for (Row row; reader.next(row);) {
    data.score.push_back(scored ? read_score(reader, row, score_column, names) / options.score_scale
                                : 1.0);
    data.left.push_back(std::move(row.fields[0]));
    data.right.push_back(std::move(row.fields[1]));
    if (grouped) data.group.push_back(std::move(row.fields[group_column]));
    for (size_t n = 0; n < data.negatives.size(); ++n) {
      data.negatives[n].push_back(std::move(row.fields[first_negative + n]));
    }
  }
  data.report = reader.report();
  return data;
}

}  // namespace simile
