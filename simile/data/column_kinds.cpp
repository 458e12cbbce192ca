// SPDX-License-Identifier: Apache-2.0
#include "simile/data/column_kinds.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include "simile/core/error.h"
#include "simile/data/detail/row_parser.h"
#include "simile/data/line_reader.h"
#include "simile/data/reader.h"
#include "simile/data/text_form.h"

namespace simile {
namespace {

constexpr size_t kShownBytes = 40;

constexpr int64_t kMostLabels = 10;
constexpr int64_t kRowsPerLabel = 5;
constexpr double kMostOfThem = 0.95;

// What was seen of a column so far.
struct ColumnCounts {
  int64_t filled = 0, numbers = 0, ids = 0, short_fields = 0;
  std::map<std::string, int64_t> values;  // at most kMostLabels + 1
  ColumnSummary summary;

  void add(const std::string& field) {
    if (field.empty()) return;
    if (++filled == 1) summary.example = shorten_text(field, kShownBytes);
    double number = 0;
    const char* end = field.data() + field.size();
    const auto parsed = std::from_chars(field.data(), end, number);
    if (parsed.ec == std::errc() && parsed.ptr == end && std::isfinite(number)) {
      summary.minimum = numbers == 0 ? number : std::min(summary.minimum, number);
      summary.maximum = numbers == 0 ? number : std::max(summary.maximum, number);
      ++numbers;
    }
    const bool is_word = field.find_first_of(" \t") == std::string::npos;
    if (is_word && field.find_first_of("0123456789") != std::string::npos) ++ids;
    if (field.size() <= 40 && text_form(field).words <= 2) ++short_fields;
    if (static_cast<int64_t>(values.size()) <= kMostLabels) ++values[field];
  }

  ColumnSummary finish() const {
    ColumnSummary result = summary;
    const auto labels = static_cast<int64_t>(values.size());
    if (filled == 0) {
      result.kind = ColumnKind::kEmpty;
    } else if (numbers == filled) {
      result.kind = ColumnKind::kNumber;
    } else if (short_fields == filled && labels <= kMostLabels &&
               filled >= kRowsPerLabel * labels) {
      result.kind = ColumnKind::kLabel;
    } else if (static_cast<double>(ids) >= kMostOfThem * static_cast<double>(filled)) {
      result.kind = ColumnKind::kId;
    } else {
      result.kind = ColumnKind::kText;
    }
    return result;
  }
};

class TableScan {
 public:
  TableScan(const std::string& path, int64_t rows)
      : format_(table_format(path)), lines_(path), rows_(rows) {}

  std::vector<ColumnSummary> summarise() {
    int64_t rows = format_ == TableFormat::kJsonl ? 0 : -1;  // the header is none
    for (std::string line; rows < rows_ && lines_.next(line);) {
      if (line.empty()) continue;
      if (format_ == TableFormat::kJsonl) {
        add_object(line);
      } else {
        add_fields(
            format_ == TableFormat::kTsv ? split_tsv(line, lines_.where()) : split_record(line),
            rows < 0);
      }
      ++rows;
    }
    std::vector<ColumnSummary> columns;
    for (const ColumnCounts& counts : columns_) columns.push_back(counts.finish());
    return columns;
  }

 private:
  std::vector<std::string> split_record(const std::string& line) {
    return split_csv(line, lines_.where(), [this](std::string& next) { return lines_.next(next); });
  }

  void add_fields(const std::vector<std::string>& fields, bool is_header) {
    for (size_t c = 0; c < fields.size(); ++c) {
      if (is_header) {
        columns_.emplace_back().summary.name = fields[c];
      } else if (c < columns_.size()) {
        columns_[c].add(fields[c]);
      }
    }
  }

  void add_object(const std::string& line) {
    for (const JsonField& member : parse_json_members(line, lines_.where())) {
      if (member.kind == JsonField::Kind::kList || member.kind == JsonField::Kind::kObject)
        continue;
      auto column = std::find_if(columns_.begin(), columns_.end(), [&](const ColumnCounts& counts) {
        return counts.summary.name == member.name;
      });
      if (column == columns_.end()) {
        columns_.emplace_back().summary.name = member.name;
        column = columns_.end() - 1;
      }
      column->add(member.value);
    }
  }

  TableFormat format_;
  LineReader lines_;
  int64_t rows_;
  std::vector<ColumnCounts> columns_;
};

const char* kind_name(ColumnKind kind) {
  switch (kind) {
    case ColumnKind::kEmpty:
      return "empty";
    case ColumnKind::kNumber:
      return "numbers";
    case ColumnKind::kId:
      return "ids";
    case ColumnKind::kLabel:
      return "labels";
    case ColumnKind::kText:
      return "texts";
  }
  return "";
}

}  // namespace

std::vector<ColumnSummary> summarise_columns(const std::string& path, int64_t rows) {
  try {
    return TableScan(path, rows).summarise();
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

std::string suggest_score_column(const std::string& path) {
  const std::vector<ColumnSummary> columns = summarise_columns(path);
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

std::string find_misplaced_side(const std::string& path, const std::vector<SideColumn>& sides) {
  const std::vector<ColumnSummary> columns = summarise_columns(path);
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

}  // namespace simile
