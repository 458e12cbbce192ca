// SPDX-License-Identifier: Apache-2.0
#include "simile/data/text_list.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "simile/core/check.h"
#include "simile/core/file.h"
#include "simile/core/file_kind.h"
#include "simile/data/detail/row_parser.h"
#include "simile/text/utf8.h"

namespace simile {
namespace {

std::vector<Column> choose_columns(const std::string& path, const std::vector<std::string>& wanted,
                                   const TableOptions& table) {
  const std::vector<std::string> header = read_table_header(path, table);
  std::vector<Column> chosen;
  for (const std::string& name : wanted.empty() ? header : wanted) {
    if (std::count(header.begin(), header.end(), name) > 0) chosen.push_back({"columns", {name}});
  }
  SIMILE_CHECK(wanted.empty() || !chosen.empty(), ErrorKind::kInput,
               no_column(path + ": expected one of the columns " +
                             fmt::format("{}", fmt::join(wanted, ", ")),
                         wanted.front(), header));
  return chosen;
}

// An object may lack a column that others have.
std::vector<Column> choose_members(const std::vector<std::string>& wanted) {
  std::vector<Column> chosen;
  for (const std::string& name : wanted) chosen.push_back({"columns", {name}, false});
  return chosen;
}

const TextListOptions kOptions{/*skip_blank_lines=*/true, /*limit=*/0};
constexpr int64_t kReportEvery = 20000;  // texts between two reports of progress

CorpusFile inspect_file(const std::string& path, EventSink& events) {
  check_no_pipe(path);
  warn_about_table(path, events);
  CorpusFile file;
  file.path = path;
  TextListReader reader(path, kOptions);
  for (TextItem item; reader.next(item);) {
    ++file.texts;
    file.bytes += static_cast<int64_t>(item.text.size());
    if (file.texts % kReportEvery == 0) events.progress({"read", file.texts, 0, "texts", {}});
  }
  SIMILE_CHECK(file.texts > 0, ErrorKind::kInput, "'{}' has no text; expected one text a line",
               path);
  const ReadReport& report = reader.report();
  SIMILE_CHECK(report.replaced_bytes * 100 <= file.bytes, ErrorKind::kInput,
               "'{}' is not text: {} of its bytes are not UTF-8; expected plain, gzip or zstd text",
               path, report.replaced_bytes);
  if (report.replaced_bytes > 0) events.warning(report.warning());
  return file;
}

}  // namespace

TextListReader::TextListReader(const std::string& path, TextListOptions options)
    : TextListReader(std::vector<std::string>{path}, std::move(options)) {}

TextListReader::TextListReader(std::vector<std::string> paths, TextListOptions options)
    : paths_(std::move(paths)), options_(std::move(options)) {
  SIMILE_CHECK(!paths_.empty(), ErrorKind::kRecipe, "no file of texts was given");
  report_.file = name_paths(paths_);
  open(0);
}

TextListReader::TextListReader(std::istream& stream, const std::string& name, bool jsonl,
                               TextListOptions options)
    : paths_({name}),
      options_(std::move(options)),
      jsonl_(jsonl),
      lines_(LineReader(stream, name, options_.table.encoding)) {
  report_.file = name;
}

bool TextListReader::next(TextItem& item) {
  std::string line;
  while ((options_.limit == 0 || report_.rows < options_.limit) && next_line(line)) {
    const bool blank = is_blank(line);
    if (blank) ++report_.blank_lines;
    if (blank && (jsonl_ || options_.skip_blank_lines)) continue;
    if (!read(line, item)) continue;
    ++report_.rows;
    return true;
  }
  check_malformed(report_);
  return false;
}

void TextListReader::open(size_t number) {
  number_ = number;
  jsonl_ = is_json_lines(paths_[number]);
  lines_.emplace(paths_[number], options_.table.encoding);
}

bool TextListReader::next_line(std::string& line) {
  while (!lines_->next(line)) {
    if (number_ + 1 == paths_.size()) return false;
    replaced_bytes_ += lines_->replaced_bytes();
    open(number_ + 1);
  }
  report_.replaced_bytes = replaced_bytes_ + lines_->replaced_bytes();
  const bool is_first = report_.replaced_bytes > 0 && report_.first_replaced.empty();
  if (is_first) report_.first_replaced = lines_->where();
  return true;
}

// Returns false for a malformed object that is left out.
bool TextListReader::read(std::string& line, TextItem& item) {
  item = TextItem();
  item.line = lines_->line_number();
  item.file = number_;
  if (!jsonl_) {
    const std::string json = item.line == 1 ? describe_json_line(line) : "";
    SIMILE_CHECK(json.empty(), ErrorKind::kInput, "{}: it {}", lines_->where(), json);
    item.text = std::move(line);
    return true;
  }
  try {
    bool has_text = false;
    std::vector<std::string> names;
    for (JsonField& field : parse_json_members(line, lines_->where())) {
      names.push_back(field.name);
      if (field.kind == JsonField::Kind::kNull) continue;
      const bool is_value =
          field.kind == JsonField::Kind::kText || field.kind == JsonField::Kind::kNumber;
      if (field.name == "title" && is_value) item.title = std::move(field.value);
      const bool is_text = field.name == "text";
      if (!is_text && field.name != "pair") continue;
      if (field.kind != JsonField::Kind::kText) {
        throw RowError(
            fmt::format("{}: '{}' should be a text in quotes", lines_->where(), field.name));
      }
      (is_text ? has_text : item.has_pair) = true;
      (is_text ? item.text : item.pair) = std::move(field.value);
    }
    if (has_text) return true;
    throw RowError(fmt::format(
        "{}: expected an object with 'text' (and 'pair' of two texts), found the names: {}",
        lines_->where(), list_names(names)));
  } catch (const RowError& error) {
    leave_out_malformed(error, options_.table.skips(), report_);
    return false;
  }
}

void warn_about_table(const std::string& path, EventSink& events, const TableOptions& table,
                      const std::string& done, const std::string& advice) {
  if (!is_table(path) || is_json_lines(path) || !file_exists(path)) return;
  std::vector<std::string> names;
  try {
    names = read_table_header(path, table);
  } catch (const Error&) {
    return;  // a list after all, or what reading it will tell
  }
  if (names.size() < 2) return;
  events.warning(fmt::format(
      "{}: every line is {} whole, the first one too, though its name is that of a table and its "
      "first line has {} fields ({}); {}",
      path, done, names.size(), shorten_text(fmt::format("{}", fmt::join(names, ", ")), 80),
      advice));
}

std::vector<std::string> read_texts(const std::string& path, TextListOptions options,
                                    ReadReport* report) {
  TextListReader reader(path, std::move(options));
  std::vector<std::string> texts;
  for (TextItem item; reader.next(item);) texts.push_back(std::move(item.text));
  if (report != nullptr) *report = reader.report();
  return texts;
}

FieldReader::FieldReader(const std::string& path, const std::vector<std::string>& columns,
                         const TableOptions& table) {
  if (!is_table(path)) {
    list_.emplace(path, TextListOptions{true, 0, table});
  } else if (is_json_lines(path)) {
    members_ = columns;
    ReadOptions options{0, {}, table};
    if (columns.empty()) options.others = {"*"};
    table_.emplace(path, choose_members(columns), options);
  } else {
    table_.emplace(path, choose_columns(path, columns, table), ReadOptions{0, {}, table});
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
    bool found = members_.empty();
    for (size_t c = 0; c < members_.size(); ++c) found = found || table_->has_column(c);
    SIMILE_CHECK(found, ErrorKind::kInput, "{}: no object has a text named {}", report().file,
                 fmt::join(members_, " or "));
    return false;
  }
  fields = std::move(row.fields);
  line = row.line;
  for (NamedField& member : row.others) {
    if (member.kind == NamedField::Kind::kText) fields.push_back(std::move(member.value));
  }
  return true;
}

std::vector<std::string> read_candidate_texts(const std::string& path, EventSink& events,
                                              const TableOptions& table,
                                              const std::string& column) {
  FieldReader reader(path, {"title", column.empty() ? "text" : column}, table);
  std::vector<std::string> texts, fields;
  int64_t blank = 0;
  for (int64_t line = 0; reader.next(fields, line);) {
    fields.erase(std::remove_if(fields.begin(), fields.end(),
                                [](const std::string& field) { return is_blank(field); }),
                 fields.end());
    blank += fields.empty() ? 1 : 0;
    if (!fields.empty()) texts.push_back(fmt::format("{}", fmt::join(fields, " ")));
  }
  SIMILE_CHECK(!texts.empty(), ErrorKind::kInput,
               "{}: no text was found; expected a column 'text', or one text a line", path);
  const ReadReport& report = reader.report();
  if (!report.warning().empty()) events.warning(report.warning());
  if (blank > 0) {
    events.warning(
        fmt::format("{}: {} of {} rows have no text and were left out", path, blank, report.rows));
  }
  return texts;
}

std::vector<CorpusFile> inspect_corpus(const std::vector<std::string>& paths, EventSink& events) {
  SIMILE_CHECK(!paths.empty(), ErrorKind::kRecipe, "the recipe names no `corpus` file");
  std::vector<CorpusFile> files;
  for (const std::string& path : expand_paths(paths)) files.push_back(inspect_file(path, events));
  return files;
}

TextStream::TextStream(const std::vector<CorpusFile>& files, int64_t buffer, uint64_t seed,
                       uint64_t epoch)
    : capacity_(static_cast<size_t>(std::max<int64_t>(buffer, 1))),
      random_(seed, "text stream", epoch) {
  for (const CorpusFile& file : files) {
    sources_.push_back({TextListReader(file.path, kOptions), file.texts, 0});
  }
}

bool TextStream::next(std::string& text) {
  std::string read;
  while (buffer_.size() < capacity_ && read_next(read)) buffer_.push_back(std::move(read));
  if (buffer_.empty()) return false;
  const auto place = static_cast<size_t>(random_.below(buffer_.size()));
  text = std::move(buffer_[place]);
  buffer_[place] = std::move(buffer_.back());
  buffer_.pop_back();
  return true;
}

// From the file that is least far through; the first of equals.
bool TextStream::read_next(std::string& text) {
  Source* chosen = nullptr;
  for (Source& source : sources_) {
    if (source.read >= source.texts) continue;
    if (chosen == nullptr || source.read * chosen->texts < chosen->read * source.texts) {
      chosen = &source;
    }
  }
  if (chosen == nullptr) return false;
  TextItem item;
  SIMILE_CHECK(chosen->reader.next(item), ErrorKind::kInput,
               "'{}' holds fewer texts than when the run began; do not change corpus files",
               chosen->reader.report().file);
  ++chosen->read;
  text = std::move(item.text);
  return true;
}

}  // namespace simile
