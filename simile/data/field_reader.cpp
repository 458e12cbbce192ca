// SPDX-License-Identifier: Apache-2.0
#include "simile/data/detail/field_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "simile/core/error.h"
#include "simile/data/detail/row_parser.h"
#include "simile/data/line_reader.h"
#include "simile/data/text_list.h"
#include "simile/text/utf8.h"

namespace simile {

class FieldReader::Source {
 public:
  virtual ~Source() = default;
  virtual bool next(std::vector<std::string>& fields, int64_t& line) = 0;
  virtual const ReadReport& report() const = 0;
};

namespace {

class ListSource : public FieldReader::Source {
 public:
  explicit ListSource(const std::string& path) : reader_(path, TextListOptions{true, 0}) {}

  bool next(std::vector<std::string>& fields, int64_t& line) override {
    TextItem item;
    if (!reader_.next(item)) return false;
    fields.assign(1, std::move(item.text));
    line = item.line;
    return true;
  }
  const ReadReport& report() const override { return reader_.report(); }

 private:
  TextListReader reader_;
};

class TableSource : public FieldReader::Source {
 public:
  TableSource(const std::string& path, const std::vector<std::string>& columns)
      : reader_(path, as_columns(columns)) {}

  bool next(std::vector<std::string>& fields, int64_t& line) override {
    Row row;
    if (!reader_.next(row)) return false;
    fields = std::move(row.fields);
    line = row.line;
    return true;
  }
  const ReadReport& report() const override { return reader_.report(); }

 private:
  static std::vector<Column> as_columns(const std::vector<std::string>& names) {
    std::vector<Column> columns;
    for (const std::string& name : names) columns.push_back({"columns", {name}});
    return columns;
  }

  TableReader reader_;
};

class ObjectSource : public FieldReader::Source {
 public:
  ObjectSource(const std::string& path, std::vector<std::string> columns)
      : lines_(path), columns_(std::move(columns)) {
    report_.file = path;
  }

  bool next(std::vector<std::string>& fields, int64_t& line) override {
    std::string text;
    do {
      if (!lines_.next(text)) return finish();
    } while (is_blank(text));
    ++report_.rows;
    report_.replaced_bytes = lines_.replaced_bytes();
    line = lines_.line_number();
    fields.clear();
    for (JsonField& member : parse_json_members(text, lines_.where())) {
      if (member.kind != JsonField::Kind::kText || !is_wanted(member.name)) continue;
      fields.push_back(std::move(member.value));
      found_ = true;
    }
    return true;
  }
  const ReadReport& report() const override { return report_; }

 private:
  bool is_wanted(const std::string& name) const {
    return columns_.empty() || std::count(columns_.begin(), columns_.end(), name) > 0;
  }

  bool finish() const {
    SIMILE_CHECK(found_ || columns_.empty(), ErrorKind::kInput,
                 fmt::format("{}: no object has a text named {}", lines_.name(),
                             fmt::join(columns_, " or ")));
    return false;
  }

  LineReader lines_;
  std::vector<std::string> columns_;
  ReadReport report_;
  bool found_ = false;
};

std::vector<std::string> choose_columns(const std::string& path,
                                        const std::vector<std::string>& wanted) {
  const std::vector<std::string> header = read_table_header(path);
  if (wanted.empty()) return header;
  std::vector<std::string> chosen;
  for (const std::string& name : wanted) {
    if (std::count(header.begin(), header.end(), name) > 0) chosen.push_back(name);
  }
  SIMILE_CHECK(!chosen.empty(), ErrorKind::kInput,
               no_column(path + ": expected one of the columns " +
                             fmt::format("{}", fmt::join(wanted, ", ")),
                         wanted.front(), header));
  return chosen;
}

std::unique_ptr<FieldReader::Source> open_source(const std::string& path,
                                                 const std::vector<std::string>& columns) {
  if (!is_table(path)) return std::make_unique<ListSource>(path);
  if (is_json_lines(path)) return std::make_unique<ObjectSource>(path, columns);
  return std::make_unique<TableSource>(path, choose_columns(path, columns));
}

}  // namespace

FieldReader::FieldReader(const std::string& path, const std::vector<std::string>& columns)
    : source_(open_source(path, columns)) {}
FieldReader::FieldReader(FieldReader&&) noexcept = default;
FieldReader::~FieldReader() = default;

bool FieldReader::next(std::vector<std::string>& fields, int64_t& line) {
  return source_->next(fields, line);
}
const ReadReport& FieldReader::report() const { return source_->report(); }

}  // namespace simile
