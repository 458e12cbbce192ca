// SPDX-License-Identifier: Apache-2.0
#include "simile/data/field_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "simile/core/error.h"
#include "simile/data/detail/row_parser.h"
#include "simile/data/line_reader.h"
#include "simile/data/text_list.h"
#include "simile/text/utf8.h"

namespace simile {
namespace {

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::count(names.begin(), names.end(), name) > 0;
}

std::vector<Column> choose_columns(const std::string& path,
                                   const std::vector<std::string>& wanted) {
  const std::vector<std::string> header = read_table_header(path);
  std::vector<Column> chosen;
  for (const std::string& name : wanted.empty() ? header : wanted) {
    if (has(header, name)) chosen.push_back({"columns", {name}});
  }
  SIMILE_CHECK(wanted.empty() || !chosen.empty(), ErrorKind::kInput,
               no_column(path + ": expected one of the columns " +
                             fmt::format("{}", fmt::join(wanted, ", ")),
                         wanted.front(), header));
  return chosen;
}

}  // namespace

FieldReader::FieldReader(const std::string& path, const std::vector<std::string>& columns) {
  if (!is_table(path)) {
    list_.emplace(path, TextListOptions{true, 0});
  } else if (is_json_lines(path)) {
    ReadOptions options;
    options.others = {"*"};
    members_ = columns;
    table_.emplace(path, std::vector<Column>(), options);
  } else {
    table_.emplace(path, choose_columns(path, columns));
  }
}

bool FieldReader::next(std::vector<std::string>& fields, int64_t& line) {
  if (list_) {
    TextItem item;
    if (!list_->next(item)) return false;
    fields.assign(1, std::move(item.text));
    line = item.line;
    return true;
  }
  Row row;
  if (!table_->next(row)) {
    SIMILE_CHECK(found_ || members_.empty(), ErrorKind::kInput,
                 fmt::format("{}: no object has a text named {}", report().file,
                             fmt::join(members_, " or ")));
    return false;
  }
  fields = std::move(row.fields);
  line = row.line;
  for (NamedField& member : row.others) {
    if (member.kind != NamedField::Kind::kText) continue;
    if (!members_.empty() && !has(members_, member.name)) continue;
    fields.push_back(std::move(member.value));
    found_ = true;
  }
  return true;
}

std::vector<std::string> read_candidate_texts(const std::string& path, EventSink& events) {
  FieldReader reader(path, {"title", "text"});
  std::vector<std::string> texts, fields;
  for (int64_t line = 0; reader.next(fields, line);) {
    fields.erase(std::remove_if(fields.begin(), fields.end(),
                                [](const std::string& field) { return is_blank(field); }),
                 fields.end());
    if (!fields.empty()) texts.push_back(fmt::format("{}", fmt::join(fields, " ")));
  }
  SIMILE_CHECK(
      !texts.empty(), ErrorKind::kInput,
      fmt::format("{}: no text was found; expected a column 'text', or one text a line", path));
  if (!reader.report().warning().empty()) events.warning(reader.report().warning());
  return texts;
}

}  // namespace simile
