// SPDX-License-Identifier: Apache-2.0
#include "simile/data/ranking_files.h"

#include <nlohmann/json.hpp>
#include <unordered_set>

#include "simile/core/check.h"
#include "simile/core/file.h"
#include "simile/data/detail/filter_node.h"
#include "simile/data/detail/row_parser.h"
#include "simile/data/line_reader.h"
#include "simile/text/utf8.h"

namespace simile {
namespace {

using Titles = CorpusReader::Titles;

std::vector<Column> columns_to_read(Titles titles, const CorpusColumns& chosen) {
  std::vector<Column> columns = {{"id", {"id", "_id"}}, {"text", {"text"}}};
  if (titles == Titles::kNoTexts) columns[1].required = false;
  if (titles != Titles::kIgnore) columns.push_back({"title", {"title"}, false});
  const std::string* const names[] = {&chosen.id, &chosen.text, &chosen.title};
  for (size_t c = 0; c < columns.size(); ++c) {
    if (names[c]->empty()) continue;
    columns[c].names = {*names[c]};
    columns[c].required = true;
  }
  return columns;
}

using Json = nlohmann::ordered_json;

constexpr const char* kSpace = " \t\r\v\f";

// Several separators together are one.
std::vector<std::string> split_fields(const std::string& line, const char* separators = kSpace) {
  std::vector<std::string> fields;
  for (size_t begin = 0;
       (begin = line.find_first_not_of(separators, begin)) != std::string::npos;) {
    const size_t end = std::min(line.find_first_of(separators, begin), line.size());
    std::string field = trim(line.substr(begin, end - begin));
    if (!field.empty()) fields.push_back(std::move(field));
    begin = end;
  }
  return fields;
}

template <typename Number>
Number read_number(const std::string& text, const LineReader& lines, const char* expected) {
  Number number = 0;
  SIMILE_CHECK(parse_number(text, number), ErrorKind::kInput, "{}: expected {}, found '{}'",
               lines.where(), expected, text);
  return number;
}

// The first line of the file decides what the fields of a line mean.
Judgement parse_judgement(const std::vector<std::string>& fields, bool header,
                          const LineReader& lines) {
  const size_t expected = header ? 3 : 4;
  SIMILE_CHECK(
      fields.size() == expected, ErrorKind::kInput, "{}: expected {} fields ({}), found {}{}",
      lines.where(), expected,
      header ? "query_id doc_id relevance" : "query iteration document relevance, as in TREC qrels",
      fields.size(),
      header || lines.line_number() > 1
          ? ""
          : "; a table of judgements has the header query_id doc_id relevance");
  return {fields[0], fields[expected - 2],
          read_number<int64_t>(fields[expected - 1], lines, "a whole number as relevance"),
          lines.line_number()};
}

}  // namespace

void CorpusColumns::visit_names(OptionVisitor& v) {
  v.field("id", id, {"column of the ids; id or _id by default"});
  v.field("text", text, {"column of the texts; text by default"});
  v.field("title", title, {"column put before the text; default: title, if there is one"});
}

void CorpusColumns::visit(OptionVisitor& v) {
  visit_names(v);
  v.field("metadata", metadata,
          {"columns kept with each document, to be shown and filtered by; * for all others"});
  table.visit(v);
}

CorpusReader::CorpusReader(const std::string& path, Titles titles, const CorpusColumns& columns)
    : CorpusReader(std::vector<std::string>{path}, titles, columns) {}

CorpusReader::CorpusReader(const std::vector<std::string>& paths, Titles titles,
                           const CorpusColumns& columns)
    : paths_(paths),
      reader_(paths, columns_to_read(titles, columns), {0, {}, columns.table, columns.metadata}),
      with_titles_(titles == Titles::kPrepend),
      missing_metadata_(columns.metadata.begin(), columns.metadata.end()) {}

void CorpusReader::check_id(const Row& row) {
  const std::string& id = row.fields[0];
  if (id.empty()) reader_.fail(row, 0, "expected an id, found nothing");
  const Place place{static_cast<int64_t>(places_.size()), row.line, row.file};
  const auto [found, is_new] = places_.emplace(id, place);
  if (is_new) return;
  const Place& first = found->second;
  reader_.fail(row, 0,
               fmt::format("the id '{}' already stands in line {}{}", id, first.line,
                           first.file == row.file ? "" : " of " + paths_[first.file]));
}

// The columns of a .jsonl are known when all of it was read.
void CorpusReader::check_metadata() const {
  if (missing_metadata_.empty() || missing_metadata_.count("*") > 0) return;
  if (table_format(paths_[0]) != TableFormat::kJsonl) return;
  throw_error(ErrorKind::kInput, "{}: no row has a column '{}', expected for 'metadata'", paths_[0],
              *missing_metadata_.begin());
}

std::string CorpusReader::metadata_of(Row& row) {
  if (row.others.empty()) return "";
  const bool is_typed = table_format(paths_[row.file]) == TableFormat::kJsonl;
  Json object = Json::object();
  for (const NamedField& field : row.others) {
    missing_metadata_.erase(field.name);
    object[field.name] = detail::value_of(field.value, field.kind, is_typed);
  }
  return object.dump(-1, ' ', false, Json::error_handler_t::replace);
}

bool CorpusReader::next(CorpusText& text) {
  Row row;
  do {
    if (!reader_.next(row)) {
      check_metadata();
      return false;
    }
  } while (!reader_.accept([&] { check_id(row); }));
  text.id = std::move(row.fields[0]);
  text.metadata = metadata_of(row);
  const bool titled = with_titles_ && !row.fields[2].empty();
  text.title = titled ? trim(row.fields[2]) : "";
  text.text = titled ? trim(row.fields[2] + " " + row.fields[1]) : std::move(row.fields[1]);
  return true;
}

int64_t CorpusReader::find(const std::string& id) const {
  const auto found = places_.find(id);
  return found == places_.end() ? -1 : found->second.position;
}

// Columns in another order would be misread.
void check_qrels_header(const std::vector<std::string>& fields, const LineReader& lines) {
  static const std::set<std::string> documents = {"doc_id", "doc-id", "corpus_id", "corpus-id"};
  SIMILE_CHECK(documents.count(fields[1]) > 0 && (fields[2] == "relevance" || fields[2] == "score"),
               ErrorKind::kInput,
               "{}: expected the columns query_id, doc_id, relevance (or query-id, corpus-id, "
               "score) in this order, found {}",
               lines.where(), fmt::join(fields, ", "));
}

std::vector<Judgement> read_qrels(const std::string& path, ReadReport* report,
                                  const std::string& encoding) {
  LineReader lines(path, encoding);
  std::vector<Judgement> judgements;
  std::unordered_map<std::string, size_t> seen;  // query, tab, document -> position
  int64_t blank_lines = 0;
  bool header = false, first = true;
  const char* separators = kSpace;
  for (std::string line; lines.next(line);) {
    const std::vector<std::string> fields = split_fields(line, separators);
    if (fields.empty()) {
      ++blank_lines;
      continue;
    }
    if (std::exchange(first, false)) {
      header = fields.size() == 3 && (fields[0] == "query_id" || fields[0] == "query-id");
      if (header) {
        check_qrels_header(fields, lines);
        if (line.find('\t') != std::string::npos) separators = "\t";  // an id may hold spaces
        continue;
      }
    }
    Judgement judgement = parse_judgement(fields, header, lines);
    const auto [known, is_new] =
        seen.emplace(judgement.query + '\t' + judgement.document, judgements.size());
    if (is_new) {
      judgements.push_back(std::move(judgement));
      continue;
    }
    const Judgement& before = judgements[known->second];
    SIMILE_CHECK(before.relevance == judgement.relevance, ErrorKind::kInput,
                 "{}: document '{}' has relevance {} for query '{}', but {} in line {}",
                 lines.where(), judgement.document, judgement.relevance, judgement.query,
                 before.relevance, before.line);
  }
  SIMILE_CHECK(!judgements.empty(), ErrorKind::kInput, path + ": the file holds no judgements");
  if (report != nullptr) {
    report->file = path;
    report->rows = static_cast<int64_t>(judgements.size());
    report->blank_lines = blank_lines;
    report->replaced_bytes = lines.replaced_bytes();
    report->first_replaced = fmt::format("line {}", lines.first_replaced());
  }
  return judgements;
}

std::vector<RunQuery> read_run(const std::string& path) {
  LineReader lines(path);
  std::vector<RunQuery> run;
  std::unordered_map<std::string, size_t> position;
  std::unordered_set<std::string> seen;  // query, tab, document
  for (std::string line; lines.next(line);) {
    const std::vector<std::string> fields = split_fields(line);
    if (fields.empty()) continue;
    SIMILE_CHECK(
        fields.size() == 6, ErrorKind::kInput,
        "{}: expected the 6 fields of a TREC run (query Q0 document rank score tag), found {}",
        lines.where(), fields.size());
    const auto [place, is_new] = position.emplace(fields[0], run.size());
    if (is_new) run.push_back({fields[0], {}, {}});
    SIMILE_CHECK(seen.insert(fields[0] + '\t' + fields[2]).second, ErrorKind::kInput,
                 "{}: document '{}' stands twice in the ranking of query '{}'", lines.where(),
                 fields[2], fields[0]);
    RunQuery& query = run[place->second];
    query.documents.push_back(fields[2]);
    query.scores.push_back(read_number<double>(fields[4], lines, "a number as score"));
  }
  SIMILE_CHECK(!run.empty(), ErrorKind::kInput, path + ": the file holds no rankings");
  return run;
}

void check_run_id(const std::string& id, const std::string& path) {
  SIMILE_CHECK(
      !id.empty() && id.find_first_of(" \t\r\n\v\f") == std::string::npos, ErrorKind::kInput,
      "{}: the id '{}' cannot stand in a TREC run; expected an id without white space", path, id);
}

std::string run_lines(const RunQuery& query, const std::string& tag, const std::string& name) {
  check_run_id(query.query, name);
  std::string text;
  for (size_t i = 0; i < query.documents.size(); ++i) {
    check_run_id(query.documents[i], name);
    // {} writes the shortest text that reads back to the same double.
    text += fmt::format("{} Q0 {} {} {} {}\n", query.query, query.documents[i], i + 1,
                        query.scores[i], tag);
  }
  return text;
}

void write_run(const std::string& path, const std::vector<RunQuery>& run, const std::string& tag) {
  AtomicFile file(path);
  check_run_id(tag, path);
  for (const RunQuery& query : run) file.write(run_lines(query, tag, path));
  file.commit();
}

}  // namespace simile
