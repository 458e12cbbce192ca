// SPDX-License-Identifier: Apache-2.0
#include "simile/data/pair_data.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <sstream>

#include "simile/core/check.h"
#include "simile/core/file.h"
#include "simile/core/random.h"
#include "simile/core/unused_options.h"
#include "simile/data/column_kinds.h"
#include "simile/data/detail/pair_rows.h"
#include "simile/data/detail/row_parser.h"
#include "simile/data/line_reader.h"
#include "simile/data/text_list.h"
#include "simile/text/utf8.h"
#include "simile/text/words.h"

namespace simile {
namespace {

// Formats that are read from `path`.
const std::vector<std::string> kFileFormats = {"table", "texts", "documents", "nli", "classes"};

// "; its numbers are in the columns rating, grade", or nothing.
std::string name_numbers(const std::string& file, const TableOptions& table) {
  std::vector<std::string> names;
  for (const ColumnSummary& column : summarise_columns(file, table)) {
    const std::string name = lower_text(column.name);
    // "id", "Row ID", "query_id" are nobody's score.
    const bool is_id = name == "id" || ends_with(name, "_id") || ends_with(name, " id");
    if (column.kind == ColumnKind::kNumber && !is_id) names.push_back(column.name);
  }
  if (names.empty()) return "";
  return fmt::format("; if a column of numbers is the score, set score: one of {}",
                     fmt::join(names, ", "));
}

// Which columns were taken though the options name others, and which look as if they were meant.
void describe_columns(const PairDataOptions& options, PairDataset& data) {
  const std::vector<std::string> files = pair_files(options);
  std::vector<std::string> header = read_table_header(files.front(), options.table);
  if (is_json_lines(files.front())) {
    for (const ColumnSummary& column : summarise_columns(files.front(), options.table, 1)) {
      header.push_back(column.name);
    }
  }
  const auto has = [&](const std::string& name) {
    return std::count(header.begin(), header.end(), name) > 0;
  };
  const std::string& file = data.report.file;
  const bool is_usual =
      header.empty() || (has(options.left) && (options.right.empty() || has(options.right)));
  std::vector<std::string> unread;
  for (const std::string& name : header) {
    if (starts_with(name, "negative") && options.negatives.empty()) unread.push_back(name);
  }
  if (!is_usual) {
    data.notes.push_back(fmt::format(
        "{}: took the columns {} by their usual names; data.left, right and score name others",
        file, list_names(used_columns(options, header))));
  }
  if (!unread.empty()) {
    data.notes.push_back(fmt::format("{}: not read: {}; negatives: [{}] takes them as negatives",
                                     file, fmt::join(unread, ", "), fmt::join(unread, ", ")));
  }
  if (!options.score.empty() && !data.has_scores && data.size() > 0) {
    data.notes.push_back(
        fmt::format("{}: no column '{}': all {} pairs are taken as positives (score 1){}", file,
                    options.score, data.size(), name_numbers(files.front(), options.table)));
  }
}

PairDataset read_table_pairs(const PairDataOptions& options) {
  PairRowReader reader(options);
  PairDataset data;
  data.negatives.resize(options.negatives.size());
  for (PairRow pair; reader.next(pair);) {
    data.left.push_back(std::move(pair.left));
    if (!options.right.empty()) data.right.push_back(std::move(pair.right));
    data.score.push_back(pair.score);
    if (!options.group.empty()) data.group.push_back(std::move(pair.group));
    for (size_t n = 0; n < data.negatives.size(); ++n) {
      data.negatives[n].push_back(std::move(pair.negatives[n]));
    }
  }
  data.report = reader.report();
  data.has_scores = reader.has_scores();
  describe_columns(options, data);
  SIMILE_CHECK(data.size() > 0 || options.skip == 0, ErrorKind::kInput,
               "{}: skip passes over all of its {} pairs", data.report.file, data.report.rows);
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
  TextListReader reader(pair_files(options), TextListOptions{true, 0, options.table});
  PairDataset data;
  int64_t blank = 0;
  for (TextItem item; (options.limit == 0 || data.size() < options.limit) && reader.next(item);) {
    if (is_blank(item.text)) {
      ++blank;
      continue;
    }
    data.left.push_back(item.text);
    data.right.push_back(std::move(item.text));
    data.score.push_back(1);
  }
  data.report = reader.report();
  SIMILE_CHECK(data.size() > 0, ErrorKind::kInput,
               "{}: no text was found; expected one text a line, or .jsonl with 'text'",
               data.report.file);
  if (blank > 0) {
    data.notes.push_back(fmt::format("{}: {} texts are blank", data.report.file, blank));
  }
  return data;
}

PairDataset read_ranking_pairs(const PairDataOptions& options) {
  const RankingData ranking = read_ranking_data(options.ranking);
  PairDataset data = pairs_from_ranking(ranking);
  SIMILE_CHECK(data.size() > 0, ErrorKind::kInput,
               "{}: no pair was found; expected judgements with a relevance of at least 1",
               options.ranking.file());
  if (options.limit > 0 && data.size() > options.limit) {
    std::vector<char> is_kept(data.left.size(), 0);
    std::fill_n(is_kept.begin(), options.limit, 1);
    keep_pairs(is_kept, data);
  }
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
                    options.ranking.file(), unknown));
  }
  data.notes.insert(data.notes.end(), ranking.notes.begin(), ranking.notes.end());
  return data;
}

void check_format_options(const PairDataOptions& options) {
  const auto& formats = pair_formats();
  SIMILE_CHECK(std::count(formats.begin(), formats.end(), options.format) == 1, ErrorKind::kRecipe,
               "format: expected one of {}, found '{}'", fmt::join(formats, ", "), options.format);
  const std::string foreign = find_foreign_options("format", "format", options);
  SIMILE_CHECK(foreign.empty(), ErrorKind::kRecipe, foreign);
  refuse_idle_options(
      "", find_idle_options(
              options,
              {{options.score.empty(),
                {"score_offset", "score_scale", "score_names"},
                "without a column `score`"},
               {!options.folds.is_set(), {"fold_seed"}, "without `folds`"},
               {options.per_class == 0, {"draw_seed"}, "without `per_class`"},
               {options.exclude_overlap == 0, {"exclude_shingle"}, "without `exclude_overlap`"},
               {!options.documents.hard_negatives,
                {"documents.negative_distance"},
                "without `hard_negatives`"}}));
  SIMILE_CHECK(options.format == "ranking" || !options.path.empty() || !options.paths.empty(),
               ErrorKind::kRecipe, "no path of a file of pairs was given");
  options.table.check();
  // Sides named in vain would mean that single texts are read where pairs were meant.
  const PairDataOptions untouched;
  const bool names_sides = options.left != untouched.left || options.right != untouched.right;
  SIMILE_CHECK(options.format != "classes" || options.text.empty() || !names_sides,
               ErrorKind::kRecipe,
               "`format: classes` expects single texts (column '{}'), found left or right; to use "
               "pairs, add `text: \"\"`",
               options.text);
}

PairDataset read_format(const PairDataOptions& options) {
  if (options.format == "texts") return read_text_pairs(options);
  if (options.format == "documents") {
    return read_document_pairs(pair_files(options), options.documents, options.limit);
  }
  if (options.format == "nli") return read_nli_pairs(options);
  if (options.format == "classes") return read_class_data(options);
  if (options.format == "ranking") return read_ranking_pairs(options);
  return read_table_pairs(options);
}

void leave_out_excluded(const PairDataOptions& options, PairDataset& data) {
  SIMILE_CHECK(!options.exclude.empty() || options.exclude_overlap == 0, ErrorKind::kRecipe,
               "{}: exclude_overlap is set, but `exclude` names no files of test sets",
               options.file());
  if (options.exclude.empty()) return;
  const double overlap = options.exclude_overlap;
  const int64_t shingle = options.exclude_shingle;
  const LeftOut left_out =
      leave_out_texts_of({expand_paths(options.exclude), options.table, overlap, shingle}, data);
  std::string note = fmt::format("{}: {} pairs have a text of the files to exclude", options.file(),
                                 left_out.equal);
  if (overlap > 0) {
    note += fmt::format(", {} more at least {:g} of one (shingles of {} words)", left_out.near,
                        overlap, shingle);
  }
  data.notes.insert(data.notes.end(), left_out.warnings.begin(), left_out.warnings.end());
  data.notes.push_back(fmt::format("{}; left out, {} remain", note, data.size()));
  SIMILE_CHECK(data.size() > 0, ErrorKind::kInput, note + ": none remains");
}

// Keeps `per_class` rows of each class, drawn at random, in the order of the file.
void draw_per_class(const PairDataOptions& options, PairDataset& data) {
  if (options.per_class == 0) return;
  std::vector<size_t> order(data.left.size());
  std::iota(order.begin(), order.end(), size_t{0});
  RandomStream random(static_cast<uint64_t>(options.draw_seed), "rows of each class");
  shuffle(order, random);
  std::vector<int64_t> drawn(data.class_names.size());
  std::vector<char> is_kept(order.size());
  for (const size_t row : order) {
    is_kept[row] = ++drawn[static_cast<size_t>(data.classes[row])] <= options.per_class ? 1 : 0;
  }
  keep_pairs(is_kept, data);
  data.notes.push_back(
      fmt::format("{}: {} of {} rows drawn, {} of each class at most (draw_seed {})",
                  options.file(), data.size(), order.size(), options.per_class, options.draw_seed));
}

// Gives a share of the pairs the right text of another one, and the score 0. A text that would come
// beside the same right text as before keeps its score.
void mismatch(double share, PairDataset& data) {
  if (share == 0) return;
  SIMILE_CHECK(!data.right.empty(), ErrorKind::kRecipe,
               "mismatched: the data are single texts; expected pairs, whose second texts can "
               "change places");
  RandomStream random(1, "mismatched pairs");
  std::vector<size_t> places(data.left.size());
  std::iota(places.begin(), places.end(), 0);
  shuffle(places, random);
  places.resize(static_cast<size_t>(std::lround(share * static_cast<double>(places.size()))));
  const std::vector<std::string> right = data.right;
  for (size_t i = 0; i < places.size(); ++i) {
    const std::string& other = right[places[(i + 1) % places.size()]];
    if (other == right[places[i]]) continue;
    data.right[places[i]] = other;
    data.score[places[i]] = 0;
  }
  data.has_scores = true;
}

}  // namespace

void PairDataOptions::visit(OptionVisitor& v) {
  v.only_for("format", kFileFormats, [&](OptionVisitor& of) {
    of.field("path", path,
             path_info("file of pairs, or of texts to make pairs from: .tsv, .csv, .jsonl, or text "
                       "for the formats texts and documents; also with .gz or .zst; a * in its "
                       "name matches any characters: all such files, sorted by name"));
    of.field("paths", paths, path_info("more such files, read after path as if they were one"));
  });
  v.field(
      "format", format,
      choice_info(
          "kind of file: a table of pairs; texts, each paired with itself; documents, "
          "a paragraph a line and a blank line between articles, or a .jsonl in which "
          "each object is an article; nli, a table of premises (left), hypotheses (right) and "
          "labels (entailment, neutral, contradiction, or 0, 1, 2); classes, a table of texts or "
          "pairs with their class; ranking, which reads the files of the group ranking instead of "
          "path",
          pair_formats()));
  visit_columns(v);
  visit_class_columns(v);
  v.only_for("format", {"texts"}, [&](OptionVisitor& of) {
    of.field("keep_words", keep_words,
             {"share of the words that each side keeps, drawn separately for each", "", 0.01, 1});
  });
  v.only_for("format", {"table", "texts"}, [&](OptionVisitor& of) {
    of.field("mismatched", mismatched,
             {"share of the pairs, drawn at random, whose second texts change places: their score "
              "is 0",
              "", 0, 1});
  });
  v.only_for("format", {"table", "classes"}, [&](OptionVisitor& of) {
    of.field("skip", skip, {"pairs to skip at the start", "pairs", 0});
  });
  v.field(
      "limit", limit,
      {"pairs to read; 0: all; for documents a uniform sample, otherwise the first", "pairs", 0});
  v.only_for("format", {"table", "nli", "classes"}, [&](OptionVisitor& of) {
    of.field("first_rows", first_rows,
             {"rows of the files to look at, before the filter (limit counts after it); 0: all",
              "rows", 0});
  });
  v.only_for("format", {"classes"}, [&](OptionVisitor& of) {
    of.field(
        "per_class", per_class,
        {"rows to draw of each class at random, for training on few examples; 0: all", "rows", 0});
    of.field("draw_seed", draw_seed,
             {"seed of the rows that per_class draws; each of a recipe's `runs` adds 1"});
  });
  visit_filter(v);
  v.only_for("format", {"table", "nli", "classes"},
             [&](OptionVisitor& of) { table.visit_delimiter(of); });
  v.only_for("format", {"table", "texts", "nli", "classes"},
             [&](OptionVisitor& of) { table.visit_lines(of); });
  v.only_for("format", kFileFormats, [&](OptionVisitor& of) { folds.visit(of); });
  v.field("exclude", exclude,
          path_info("files of test sets: pairs with a text of at least four words that also occurs "
                    "there, ignoring case and punctuation, are left out after reading"));
  v.field("exclude_overlap", exclude_overlap,
          {"also leave out pairs with a near-duplicate: a text with at least this share of the "
           "shingles (runs of exclude_shingle words, weighted by their rarity there) of a text of "
           "`exclude`; 0: only equal texts",
           "", 0, 1});
  v.field(
      "exclude_shingle", exclude_shingle,
      {"words of a shingle; texts of fewer than two are only compared as wholes", "words", 1, 100});
  v.only_for("format", {"documents"}, [&](OptionVisitor& of) {
    of.group("documents", documents, "which pairs to make of articles");
  });
  v.only_for("format", {"ranking"}, [&](OptionVisitor& of) {
    of.group("ranking", ranking, "pairs of queries and their relevant documents");
  });
}

void PairDataOptions::visit_columns(OptionVisitor& v) {
  v.only_for("format", {"table", "nli", "classes"}, [&](OptionVisitor& of) {
    of.field("left", left,
             {"column of the first text; default in a table: the first of this, anchor, query, "
              "question, question1, text1, sentence_A and premise"});
    of.field(
        "right", right,
        {"column of the second text; empty: single texts; default in a table: the first of this, "
         "positive, answer, passage, document, question2, text2, sentence_B and hypothesis"});
  });
  v.only_for("format", {"table"}, [&](OptionVisitor& of) {
    of.field("score", score,
             {"column of the score; default in a table: the first of score, label, "
              "similarity_score and similarity. Without one, or if empty, all pairs have score 1"});
    of.field("score_offset", score_offset, {"subtracted from scores before they are divided"});
    of.field("score_scale", score_scale,
             {"scores are divided by this: 5 brings 0..5 to 0..1; 4 with score_offset 1 brings "
              "1..5 there",
              "", 1e-300});
    of.field("score_names", score_names,
             {"numbers for scores given as names: [Good=1, Bad=0]; scaled like the others"});
    of.field("group", group,
             {"column that groups rows which belong together, such as a query; may be empty"});
    of.field("negatives", negatives, {"columns of texts that do not match the first text"});
  });
}

void PairDataOptions::visit_class_columns(OptionVisitor& v) {
  v.only_for("format", {"classes"}, [&](OptionVisitor& of) {
    of.field("text", text,
             {"column of the text; empty: they are pairs, of the columns left and right"});
  });
  v.only_for("format", {"nli", "classes"},
             [&](OptionVisitor& of) { of.field("label", label, {"column of the class"}); });
  v.only_for("format", {"nli", "classes"}, [&](OptionVisitor& of) {
    of.field("class_names", class_names,
             {"the classes in order, as the column label has them; empty: those found there, "
              "sorted (as numbers when all are whole numbers). nli: the labels there for "
              "entailment, neutral and contradiction"});
  });
}

void PairDataOptions::visit_filter(OptionVisitor& v) {
  v.only_for("format", {"table", "nli", "classes"}, [&](OptionVisitor& of) {
    of.field("filter", filter,
             conditions_info("filters that rows must all pass, written as for search --filter: "
                             "[score >= 3 and genre = news, \"source not in (web, forum)\"], with "
                             "= != < <= > >= in contains, and or not, parentheses, quotes"));
  });
}

std::string PairDataOptions::file() const {
  if (format == "ranking") return ranking.file();
  std::vector<std::string> files = paths;
  if (!path.empty()) files.insert(files.begin(), path);
  return name_paths(files);
}

PairDataset read_pairs(const PairDataOptions& options) {
  check_format_options(options);
  PairDataset data = read_format(options);
  if (!data.report.note().empty()) data.notes.push_back(data.report.note());
  if (options.folds.is_set()) {
    const FoldPart part = choose_part(options.folds, fold_groups(data), options.file(), "pairs");
    keep_pairs(part.is_kept, data);
    data.notes.push_back(part.note);
  }
  leave_out_excluded(options, data);
  draw_per_class(options, data);
  mismatch(options.mismatched, data);
  if (options.keep_words == 1) return data;
  RandomStream random(1, "words kept");  // after whole texts were compared
  for (size_t i = 0; i < data.left.size(); ++i) {
    data.left[i] = keep_some_words(data.left[i], options.keep_words, random);
    data.right[i] = keep_some_words(data.right[i], options.keep_words, random);
  }
  return data;
}

}  // namespace simile
