// SPDX-License-Identifier: Apache-2.0
#include "simile/data/column_kinds.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_set>

#include "simile/core/error.h"
#include "simile/data/detail/row_parser.h"
#include "simile/data/line_reader.h"
#include "simile/data/text_match.h"
#include "simile/text/utf8.h"

namespace simile {
namespace {

constexpr size_t kShownBytes = 40;

constexpr int64_t kMostLabels = 10;
constexpr int64_t kRowsPerLabel = 5;
constexpr double kMostOfThem = 0.95;

// Counts of the fields of a column so far.
struct ColumnCounts {
  int64_t filled = 0, numbers = 0, ids = 0, short_fields = 0;
  std::map<std::string, int64_t> values;  // at most kMostLabels + 1
  std::unordered_set<size_t> hashes;      // of all
  ColumnSummary summary;

  void add(const std::string& field) {
    if (field.empty()) return;
    if (++filled == 1) summary.example = shorten_text(field, kShownBytes);
    double number = 0;
    if (parse_number(field, number)) {
      summary.minimum = numbers == 0 ? number : std::min(summary.minimum, number);
      summary.maximum = numbers == 0 ? number : std::max(summary.maximum, number);
      ++numbers;
    }
    const bool is_word = field.find_first_of(" \t") == std::string::npos;
    if (is_word && field.find_first_of("0123456789-_/") != std::string::npos) ++ids;
    hashes.insert(std::hash<std::string>()(field));
    if (field.size() <= 40 && text_form(field).words <= 2) ++short_fields;
    if (static_cast<int64_t>(values.size()) <= kMostLabels) ++values[field];
  }

  ColumnKind kind() const {
    const auto labels = static_cast<int64_t>(values.size());
    if (filled == 0) return ColumnKind::kEmpty;
    if (numbers == filled) return ColumnKind::kNumber;
    if (short_fields == filled && labels <= kMostLabels && filled >= kRowsPerLabel * labels) {
      return ColumnKind::kLabel;
    }
    const bool is_id = static_cast<double>(ids) >= kMostOfThem * static_cast<double>(filled);
    return is_id ? ColumnKind::kId : ColumnKind::kText;
  }
};

using Counts = std::vector<ColumnCounts>;

Counts count_fields(const std::string& path, TableOptions table, int64_t rows) {
  const std::vector<std::string> names = read_table_header(path, table);
  std::vector<Column> columns;  // whose names stand once in the header
  for (const std::string& name : names) {
    if (std::count(names.begin(), names.end(), name) == 1) columns.push_back({name, {name}});
  }
  table.on_error = "skip";
  TableReader reader(path, columns, {rows, {}, table});
  Counts counts(columns.size());
  for (size_t c = 0; c < columns.size(); ++c) counts[c].summary.name = columns[c].role;
  for (Row row; reader.next(row);) {
    for (size_t c = 0; c < columns.size(); ++c) counts[c].add(row.fields[c]);
  }
  return counts;
}

Counts count_members(const std::string& path, const TableOptions& table, int64_t rows) {
  LineReader lines(path, table.encoding);
  Counts counts;
  for (std::string line; rows >= 0 && lines.next(line);) {
    if (is_blank(line)) continue;
    if (rows > 0 && --rows == 0) rows = -1;
    for (const JsonField& member : parse_json_members(line, lines.where())) {
      if (is_nested(member)) continue;
      auto column = std::find_if(counts.begin(), counts.end(), [&](const ColumnCounts& of) {
        return of.summary.name == member.name;
      });
      if (column == counts.end()) {
        counts.emplace_back().summary.name = member.name;
        column = counts.end() - 1;
      }
      column->add(member.value);
    }
  }
  return counts;
}

const char* kind_name(ColumnKind kind) {
  constexpr const char* kNames[] = {"empty", "numbers", "ids", "labels", "texts"};
  return kNames[static_cast<size_t>(kind)];
}

double scale_end(double highest) {
  if (highest <= 1) return 1;
  if (highest <= 10 && highest == std::round(highest)) return highest;
  if (highest <= 4) return 4;
  if (highest <= 5) return 5;
  double end = 10;
  while (end < highest) end *= 10;
  return end;
}

}  // namespace

std::vector<ColumnSummary> read_columns(const std::string& path, const TableOptions& table,
                                        int64_t rows) {
  std::vector<ColumnSummary> columns;
  for (const ColumnCounts& counts :
       is_json_lines(path) ? count_members(path, table, rows) : count_fields(path, table, rows)) {
    columns.push_back(counts.summary);
    columns.back().kind = counts.kind();
    columns.back().filled = counts.filled;
    columns.back().distinct = static_cast<int64_t>(counts.hashes.size());
  }
  return columns;
}

std::vector<ColumnSummary> summarise_columns(const std::string& path, const TableOptions& table,
                                             int64_t rows) {
  try {
    return read_columns(path, table, rows);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kInput) throw;
    return {};  // what is wrong with the file is the reader's to say
  }
}

std::string describe(const std::vector<ColumnSummary>& columns) {
  std::vector<std::string> parts;
  for (const ColumnSummary& column : columns) {
    parts.push_back(column.kind == ColumnKind::kNumber
                        ? fmt::format("{} (numbers from {:g} to {:g})", column.name, column.minimum,
                                      column.maximum)
                        : fmt::format("{} ({})", column.name, kind_name(column.kind)));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string suggest_score_column(const std::string& path, const TableOptions& table) {
  const std::vector<ColumnSummary> columns = summarise_columns(path, table);
  if (columns.empty()) return "";
  const auto numbers = std::find_if(columns.begin(), columns.end(), [](const auto& column) {
    return column.kind == ColumnKind::kNumber;
  });
  const std::string advice =
      numbers == columns.end()
          ? "no column holds numbers alone: set score: \"\" if there is no score, or score_names "
            "if scores are given as names"
          : fmt::format("set score: {} (score: \"\" if it is no score)", numbers->name);
  return fmt::format("; the columns look like {}; {}", describe(columns), advice);
}

std::string find_misplaced_side(const std::string& path, const std::vector<SideColumn>& sides,
                                const TableOptions& table) {
  const std::vector<ColumnSummary> columns = summarise_columns(path, table);
  const auto is_side = [&](const std::string& name) {
    return std::any_of(sides.begin(), sides.end(),
                       [&](const SideColumn& side) { return side.second == name; });
  };
  const auto text = std::find_if(columns.begin(), columns.end(), [&](const auto& column) {
    return column.kind == ColumnKind::kText && !is_side(column.name);
  });
  if (text == columns.end()) return "";
  for (const auto& [role, name] : sides) {
    const auto found = std::find_if(columns.begin(), columns.end(),
                                    [&, &name = name](const auto& c) { return c.name == name; });
    if (found == columns.end() || found->kind == ColumnKind::kText) continue;
    return fmt::format(
        "{}: `{}` is mapped to the column '{}', which holds {} (such as '{}'), while the column "
        "'{}' holds texts (such as '{}') and is not read as one; set {}: {}. The columns look like "
        "{}",
        path, role, name, kind_name(found->kind), found->example, text->name, text->example, role,
        text->name, describe(columns));
  }
  return "";
}

ScoreMapping guess_score_mapping(double minimum, double maximum) {
  // A score that was divided and multiplied again may be off by a rounding.
  const auto tidy = [](double score) {
    return std::abs(score - std::round(score)) < 1e-6 ? std::round(score) : score;
  };
  const double low = tidy(minimum), high = tidy(maximum);
  double begin = 0, end = scale_end(high);
  if (low >= 1 && end > 1) begin = 1;
  if (low < 0) {
    begin = -scale_end(-low);
    if (high <= 0) end = 0;
  }
  return {begin, end - begin};
}

std::string describe_score_mapping(const ScoreMapping& mapping) {
  if (mapping.offset == 0) return fmt::format("set data.score_scale: {:g}", mapping.scale);
  return fmt::format("set data.score_offset: {:g} and data.score_scale: {:g}", mapping.offset,
                     mapping.scale);
}

}  // namespace simile
