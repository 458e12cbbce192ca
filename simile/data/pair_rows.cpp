// SPDX-License-Identifier: Apache-2.0
#include "simile/data/detail/pair_rows.h"

#include <algorithm>

#include "simile/core/check.h"
#include "simile/data/column_kinds.h"
#include "simile/data/detail/row_parser.h"
#include "simile/data/line_reader.h"
#include "simile/text/utf8.h"

namespace simile {
namespace {

std::map<std::string, double> parse_score_names(const std::vector<std::string>& names) {
  std::map<std::string, double> scores;
  for (const std::string& name : names) {
    const size_t equals = name.rfind('=');
    double number = 0;
    const bool is_named = equals != std::string::npos && equals > 0;
    SIMILE_CHECK(is_named && parse_number(name.substr(equals + 1), number), ErrorKind::kRecipe,
                 "score_names: expected NAME=NUMBER such as Good=1, found '{}'", name);
    scores[name.substr(0, equals)] = number;
  }
  return scores;
}

// The names a column may have: its own, else those usual with sentence-transformers.
std::vector<std::string> usual_names(const std::string& name, const std::string& untouched,
                                     const std::vector<std::string>& others) {
  std::vector<std::string> names = {name};
  if (name == untouched) names.insert(names.end(), others.begin(), others.end());
  return names;
}

std::vector<Column> list_columns(const PairDataOptions& options) {
  const PairDataOptions untouched;
  std::vector<Column> columns = {
      {"left", usual_names(options.left, untouched.left,
                           {"anchor", "query", "question", "question1", "text1", "sentence_A",
                            "sentence_a", "premise"})}};
  if (!options.right.empty()) {
    columns.push_back(
        {"right", usual_names(options.right, untouched.right,
                              {"positive", "answer", "passage", "document", "question2", "text2",
                               "sentence_B", "sentence_b", "hypothesis"})});
  }
  if (!options.score.empty()) {
    columns.push_back(
        {"score",
         usual_names(options.score, untouched.score, {"label", "similarity_score", "similarity"}),
         options.score != untouched.score});
  }
  if (!options.group.empty()) columns.push_back({"group", {options.group}});
  for (const std::string& name : options.negatives) columns.push_back({"negatives", {name}});
  return columns;
}

}  // namespace

std::vector<std::string> pair_files(const PairDataOptions& options) {
  std::vector<std::string> paths = options.paths;
  if (!options.path.empty()) paths.insert(paths.begin(), options.path);
  return expand_paths(paths);
}

std::vector<std::string> used_columns(const PairDataOptions& options,
                                      const std::vector<std::string>& header) {
  std::vector<std::string> used;
  for (const Column& column : list_columns(options)) {
    const auto found = std::find_if(
        column.names.begin(), column.names.end(),
        [&](const auto& name) { return std::count(header.begin(), header.end(), name) > 0; });
    if (found != column.names.end()) used.push_back(*found);
  }
  return used;
}

ReadOptions row_options(const PairDataOptions& options, int64_t limit) {
  ReadOptions rows{limit, options.filter, options.table};
  rows.first_rows = options.first_rows;
  return rows;
}

PairRowReader::PairRowReader(const PairDataOptions& options)
    : options_(options),
      files_(pair_files(options)),
      score_names_(parse_score_names(options.score_names)),
      score_column_(options.right.empty() ? 1 : 2),
      group_column_(score_column_ + (options.score.empty() ? 0 : 1)),
      first_negative_(group_column_ + (options.group.empty() ? 0 : 1)),
      reader_(files_, list_columns(options),
              row_options(options, options.limit == 0 ? 0 : options.skip + options.limit)) {}

bool PairRowReader::next(PairRow& pair) {
  for (Row row; reader_.next(row);) {
    if (!reader_.accept([&] { check(row, pair.score); })) continue;
    if (passed_over_ < options_.skip) {
      ++passed_over_;
      continue;
    }
    pair.left = std::move(row.fields[0]);
    if (!options_.right.empty()) pair.right = std::move(row.fields[1]);
    if (!options_.group.empty()) pair.group = std::move(row.fields[group_column_]);
    pair.negatives.resize(options_.negatives.size());
    for (size_t n = 0; n < pair.negatives.size(); ++n) {
      pair.negatives[n] = std::move(row.fields[first_negative_ + n]);
    }
    return true;
  }
  return false;
}

void PairRowReader::check(const Row& row, double& score) {
  reader_.check_text(row, 0);
  if (!options_.right.empty()) reader_.check_text(row, 1);
  for (size_t n = 0; n < options_.negatives.size(); ++n)
    reader_.check_text(row, first_negative_ + n);
  score = 1;
  if (options_.score.empty()) return;
  if (!reader_.has_column(score_column_)) {
    ++unscored_;
    return;
  }
  if (unscored_ > 0) {
    reader_.fail(row, score_column_,
                 fmt::format("a score stands here, but in none of the {} rows before; give all "
                             "rows one, or set score: \"\"",
                             unscored_));
  }
  score = (read_score(row) - options_.score_offset) / options_.score_scale;
}

double PairRowReader::read_score(const Row& row) const {
  // A score that is no number is most often a wrong column: the error says which would do.
  if (score_names_.empty()) {
    try {
      return reader_.number(row, score_column_);
    } catch (const Error& error) {
      if (options_.table.skips()) throw;  // many rows may have none
      throw Error(error.kind(),
                  error.what() + suggest_score_column(files_[row.file], options_.table));
    }
  }
  const std::string& field = row.fields[score_column_];
  const auto named = score_names_.find(field);
  if (named != score_names_.end()) return named->second;
  std::string known;
  for (const auto& name : score_names_) known += (known.empty() ? "" : ", ") + name.first;
  reader_.fail(row, score_column_,
               fmt::format("expected a name in score_names ({}), found '{}'", known,
                           begin_of_text(field, 80)));
}

}  // namespace simile
