// SPDX-License-Identifier: Apache-2.0
#include "simile/data/trec.h"

#include <fmt/format.h>

#include <unordered_map>
#include <unordered_set>

#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/data/detail/row_parser.h"
#include "simile/data/line_reader.h"

namespace simile {
namespace {

constexpr const char* kSpace = " \t\r\v\f";

std::vector<std::string> split_on_space(const std::string& line) {
  std::vector<std::string> fields;
  for (size_t begin = 0; (begin = line.find_first_not_of(kSpace, begin)) != std::string::npos;) {
    const size_t end = std::min(line.find_first_of(kSpace, begin), line.size());
    fields.push_back(line.substr(begin, end - begin));
    begin = end;
  }
  return fields;
}

template <typename Number>
Number read_number(const std::string& text, const LineReader& lines, const char* expected) {
  Number number = 0;
  SIMILE_CHECK(parse_number(text, number), ErrorKind::kInput,
               fmt::format("{}: expected {}, found '{}'", lines.where(), expected, text));
  return number;
}

bool is_header(const std::vector<std::string>& fields) {
  return fields.size() == 3 && (fields[0] == "query_id" || fields[0] == "query-id");
}

// The first line of the file decides what the fields of a line mean.
Judgement parse_judgement(const std::vector<std::string>& fields, bool header,
                          const LineReader& lines) {
  const size_t expected = header ? 3 : 4;
  SIMILE_CHECK(
      fields.size() == expected, ErrorKind::kInput,
      fmt::format("{}: expected {} fields ({}), found {}{}", lines.where(), expected,
                  header ? "query_id doc_id relevance"
                         : "query iteration document relevance, as in TREC qrels",
                  fields.size(),
                  header || lines.line_number() > 1
                      ? ""
                      : "; a table of judgements has the header query_id doc_id relevance"));
  Judgement judgement;
  judgement.query = fields[0];
  judgement.document = fields[expected - 2];
  judgement.relevance =
      read_number<int64_t>(fields[expected - 1], lines, "a whole number as relevance");
  judgement.line = lines.line_number();
  return judgement;
}

void fill_report(const LineReader& lines, int64_t rows, int64_t blank_lines, ReadReport* report) {
  if (report == nullptr) return;
  report->file = lines.name();
  report->rows = rows;
  report->blank_lines = blank_lines;
  report->replaced_bytes = lines.replaced_bytes();
}

void check_id(const std::string& id, const std::string& path) {
  SIMILE_CHECK(!id.empty() && id.find_first_of(" \t\r\n\v\f") == std::string::npos,
               ErrorKind::kInput,
               fmt::format("{}: the id '{}' cannot stand in a TREC run; expected an id without "
                           "white space",
                           path, id));
}

}  // namespace

std::vector<Judgement> read_qrels(const std::string& path, ReadReport* report) {
  LineReader lines(path);
  std::vector<Judgement> judgements;
  std::unordered_map<std::string, size_t> seen;  // query, tab, document -> position
  int64_t blank_lines = 0;
  bool header = false, first = true;
  for (std::string line; lines.next(line);) {
    const std::vector<std::string> fields = split_on_space(line);
    if (fields.empty()) {
      ++blank_lines;
      continue;
    }
    if (first && is_header(fields)) {
      header = true;
      first = false;
      continue;
    }
    Judgement judgement = parse_judgement(fields, header, lines);
    first = false;
    const auto added = seen.emplace(judgement.query + '\t' + judgement.document, judgements.size());
    if (added.second) {
      judgements.push_back(std::move(judgement));
      continue;
    }
    const Judgement& before = judgements[added.first->second];
    SIMILE_CHECK(before.relevance == judgement.relevance, ErrorKind::kInput,
                 fmt::format("{}: document '{}' has relevance {} for query '{}', but {} in line {}",
                             lines.where(), judgement.document, judgement.relevance,
                             judgement.query, before.relevance, before.line));
  }
  SIMILE_CHECK(!judgements.empty(), ErrorKind::kInput, path + ": the file holds no judgements");
  fill_report(lines, static_cast<int64_t>(judgements.size()), blank_lines, report);
  return judgements;
}

std::vector<RunQuery> read_run(const std::string& path, ReadReport* report) {
  LineReader lines(path);
  std::vector<RunQuery> run;
  std::unordered_map<std::string, size_t> position;
  std::unordered_set<std::string> seen;  // query, tab, document
  int64_t blank_lines = 0, rows = 0;
  for (std::string line; lines.next(line);) {
    const std::vector<std::string> fields = split_on_space(line);
    if (fields.empty()) {
      ++blank_lines;
      continue;
    }
    SIMILE_CHECK(
        fields.size() == 6, ErrorKind::kInput,
        fmt::format("{}: expected the 6 fields of a TREC run (query Q0 document rank score "
                    "tag), found {}",
                    lines.where(), fields.size()));
    const auto added = position.emplace(fields[0], run.size());
    if (added.second) run.push_back({fields[0], {}, {}});
    SIMILE_CHECK(seen.insert(fields[0] + '\t' + fields[2]).second, ErrorKind::kInput,
                 fmt::format("{}: document '{}' stands twice in the ranking of query '{}'",
                             lines.where(), fields[2], fields[0]));
    RunQuery& query = run[added.first->second];
    query.documents.push_back(fields[2]);
    query.scores.push_back(read_number<double>(fields[4], lines, "a number as score"));
    ++rows;
  }
  SIMILE_CHECK(!run.empty(), ErrorKind::kInput, path + ": the file holds no rankings");
  fill_report(lines, rows, blank_lines, report);
  return run;
}

std::string run_lines(const RunQuery& query, const std::string& tag, const std::string& name) {
  check_id(query.query, name);
  std::string text;
  for (size_t i = 0; i < query.documents.size(); ++i) {
    check_id(query.documents[i], name);
    // {} writes the shortest text that reads back to the same double.
    text += fmt::format("{} Q0 {} {} {} {}\n", query.query, query.documents[i], i + 1,
                        query.scores[i], tag);
  }
  return text;
}

void write_run(const std::string& path, const std::vector<RunQuery>& run, const std::string& tag) {
  AtomicFile file(path);
  check_id(tag, path);
  for (const RunQuery& query : run) file.write(run_lines(query, tag, path));
  file.commit();
}

}  // namespace simile
