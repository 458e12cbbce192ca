// SPDX-License-Identifier: Apache-2.0
#include "simile/data/pair_data.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <sstream>

#include "simile/core/error.h"
#include "simile/core/random.h"
#include "simile/data/class_data.h"
#include "simile/data/leave_out.h"
#include "simile/data/nli_pairs.h"
#include "simile/data/text_list.h"

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

PairDataset read_table_pairs(const PairDataOptions& options) {
  const NamedScores names = parse_score_names(options.score_names);
  const bool scored = !options.score.empty(), grouped = !options.group.empty();
  const bool paired = !options.right.empty();
  std::vector<Column> columns = {{"left", {options.left}}};
  if (paired) columns.push_back({"right", {options.right}});
  const size_t score_column = columns.size();
  if (scored) columns.push_back({"score", {options.score}});
  const size_t group_column = columns.size();
  if (grouped) columns.push_back({"group", {options.group}});
  const size_t first_negative = columns.size();
  for (const std::string& name : options.negatives) columns.push_back({"negatives", {name}});

  const int64_t last = options.limit == 0 ? 0 : options.skip + options.limit;
  TableReader reader(options.path, columns, ReadOptions{last});
  PairDataset data;
  data.negatives.resize(options.negatives.size());
  int64_t rows = 0;
  for (Row row; reader.next(row);) {
    if (++rows <= options.skip) continue;
    data.score.push_back(scored ? read_score(reader, row, score_column, names) / options.score_scale
                                : 1.0);
    data.left.push_back(std::move(row.fields[0]));
    if (paired) data.right.push_back(std::move(row.fields[1]));
    if (grouped) data.group.push_back(std::move(row.fields[group_column]));
    for (size_t n = 0; n < data.negatives.size(); ++n) {
      data.negatives[n].push_back(std::move(row.fields[first_negative + n]));
    }
  }
  SIMILE_CHECK(data.size() > 0 || options.skip == 0, ErrorKind::kInput,
               fmt::format("{}: skip passes over all of its {} pairs", options.path, rows));
  data.report = reader.report();
  return data;
}

// Each word of `text`, separated by spaces, with probability `share`; at least one.
std::string keep_some_words(const std::string& text, double share, RandomStream& random) {
  std::istringstream words(text);
  std::string kept, last;
  for (std::string word; words >> word; last = word) {
    if (random.uniform() < share) kept += (kept.empty() ? "" : " ") + word;
  }
  return kept.empty() ? last : kept;
}

PairDataset read_text_pairs(const PairDataOptions& options) {
  TextListReader reader(options.path, TextListOptions{true, 0});
  PairDataset data;
  int64_t blank = 0;
  for (TextItem item; (options.limit == 0 || data.size() < options.limit) && reader.next(item);) {
    if (item.text.find_first_not_of(" \t") == std::string::npos) {
      ++blank;
      continue;
    }
    data.left.push_back(item.text);
    data.right.push_back(std::move(item.text));
    data.score.push_back(1);
  }
  SIMILE_CHECK(data.size() > 0, ErrorKind::kInput,
               fmt::format("{}: no text was found; expected one text a line, or .jsonl with 'text'",
                           options.path));
  data.report = reader.report();
  if (blank > 0) data.notes.push_back(fmt::format("{}: {} texts are blank", options.path, blank));
  return data;
}

template <typename T>
void keep_first(std::vector<T>& items, int64_t limit) {
  if (limit > 0 && static_cast<int64_t>(items.size()) > limit) {
    items.resize(static_cast<size_t>(limit));
  }
}

PairDataset read_ranking_pairs(const PairDataOptions& options) {
  const RankingData ranking = read_ranking_data(options.ranking);
  PairDataset data = pairs_from_ranking(ranking);
  SIMILE_CHECK(
      data.size() > 0, ErrorKind::kInput,
      fmt::format("{}: no pair was found; expected judgements with a relevance of at least 1",
                  options.ranking.qrels));
  keep_first(data.left, options.limit);
  keep_first(data.right, options.limit);
  keep_first(data.score, options.limit);
  keep_first(data.group, options.limit);
  data.report = ranking.reports.back();
  for (size_t i = 0; i + 1 < ranking.reports.size(); ++i) {
    const std::string warning = ranking.reports[i].warning();
    if (!warning.empty()) data.notes.push_back(warning);
  }
  const int64_t unknown =
      ranking.judgements_of_unknown_queries + ranking.judgements_of_unknown_documents;
  if (unknown > 0) {
    data.notes.push_back(
        fmt::format("{}: {} judgements of unknown queries or documents were left out",
                    options.ranking.qrels, unknown));
  }
  return data;
}

// An option that only some formats have.
struct FormatOption {
  const char* name;
  bool is_set;
  std::vector<std::string> formats;
};

template <typename Options>
bool is_set(Options options) {
  Options untouched;
  return options_to_json(options) != options_to_json(untouched);
}

std::vector<FormatOption> list_format_options(const PairDataOptions& options) {
  const PairDataOptions untouched;
  return {
      {"path", !options.path.empty(), {"table", "texts", "documents", "nli", "classes"}},
      {"left", options.left != untouched.left, {"table", "nli", "classes"}},
      {"right", options.right != untouched.right, {"table", "nli", "classes"}},
      {"score", !options.score.empty() && options.score != untouched.score, {"table"}},
      {"score_scale", options.score_scale != untouched.score_scale, {"table"}},
      {"score_names", !options.score_names.empty(), {"table"}},
      {"group", !options.group.empty(), {"table"}},
      {"negatives", !options.negatives.empty(), {"table"}},
      {"keep_words", options.keep_words != 1, {"texts"}},
      {"skip", options.skip != 0, {"table", "classes"}},
      {"text", !options.text.empty() && options.text != untouched.text, {"classes"}},
      {"label", options.label != untouched.label, {"nli", "classes"}},
      {"class_names", !options.class_names.empty(), {"classes"}},
      {"documents", is_set(options.documents), {"documents"}},
      {"ranking", is_set(options.ranking), {"ranking"}},
  };
}

// Sides named in vain would mean that single texts are read where pairs were meant.
void check_class_sides(const PairDataOptions& options) {
  const PairDataOptions untouched;
  const bool names_sides = options.left != untouched.left || options.right != untouched.right;
  SIMILE_CHECK(
      options.format != "classes" || options.text.empty() || !names_sides, ErrorKind::kRecipe,
      fmt::format("single texts are read from the column '{}', yet left or right is given; for "
                  "pairs with a class set text to nothing (text: \"\")",
                  options.text));
}

void check_format_options(const PairDataOptions& options) {
  const auto& formats = pair_formats();
  SIMILE_CHECK(std::count(formats.begin(), formats.end(), options.format) == 1, ErrorKind::kRecipe,
               fmt::format("format: expected one of {}, found '{}'", fmt::join(formats, ", "),
                           options.format));
  std::vector<std::string> strange;
  for (const FormatOption& option : list_format_options(options)) {
    const auto& owners = option.formats;
    const bool belongs = std::count(owners.begin(), owners.end(), options.format) > 0;
    if (option.is_set && !belongs) strange.push_back(option.name);
  }
  SIMILE_CHECK(strange.empty(), ErrorKind::kRecipe,
               fmt::format("the format {} does not take: {}; remove it, or choose the format it "
                           "belongs to",
                           options.format, fmt::join(strange, ", ")));
  SIMILE_CHECK(options.format == "ranking" || !options.path.empty(), ErrorKind::kRecipe,
               "no path of a file of pairs was given");
  check_class_sides(options);
}

PairDataset read_format(const PairDataOptions& options) {
  if (options.format == "texts") return read_text_pairs(options);
  if (options.format == "documents") {
    return read_document_pairs(options.path, options.documents, options.limit);
  }
  if (options.format == "nli") {
    return read_nli_pairs(options.path, {options.left, options.right, options.label},
                          options.limit);
  }
  if (options.format == "classes") {
    return read_class_data(options.path, {options.text, options.left, options.right, options.label},
                           options.class_names, options.skip, options.limit);
  }
  if (options.format == "ranking") return read_ranking_pairs(options);
  return read_table_pairs(options);
}

void leave_out_excluded(const PairDataOptions& options, PairDataset& data) {
  if (options.exclude.empty()) return;
  const int64_t left_out = leave_out_texts_of(options.exclude, data);
  data.notes.push_back(fmt::format("{}: {} pairs have a text of the files to exclude; left out",
                                   options.file(), left_out));
  SIMILE_CHECK(data.size() > 0, ErrorKind::kInput,
               fmt::format("{}: every pair has a text of the files to exclude", options.file()));
}

void drop_words(double share, PairDataset& data) {
  RandomStream random(1, "words kept");
  for (size_t i = 0; i < data.left.size(); ++i) {
    data.left[i] = keep_some_words(data.left[i], share, random);
    data.right[i] = keep_some_words(data.right[i], share, random);
  }
}

}  // namespace

PairDataset read_pairs(const PairDataOptions& options) {
  check_format_options(options);
  PairDataset data = read_format(options);
  leave_out_excluded(options, data);
  if (options.keep_words < 1) drop_words(options.keep_words, data);  // whole texts were compared
  return data;
}

}  // namespace simile
