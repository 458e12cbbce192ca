// SPDX-License-Identifier: Apache-2.0
// Pairs of texts for training and evaluation: read by column name from .tsv, .csv or .jsonl, or
// made of raw data.
//
//   table      columns left, right, score, group and negatives of a table; without `right`, single
//              texts. Left, right and score that are not named may have the usual names (anchor,
//              positive, label, ...), and a score that is not named may be missing: all pairs
//              get 1. score = (the field - score_offset) / score_scale: SICK's 1..5 come to 0..1
//              with score_offset: 1, score_scale: 4
//   texts      one text a line, or .jsonl with `text`: left and right are the same text, told apart
//              by dropout alone (unsupervised SimCSE: Gao et al., EMNLP 2021, section 3). Blank
//              lines are skipped. With keep_words below 1 each side is a random part of the text's
//              words, in their order, at least one: rare words then decide which texts belong
//              together (token deletion: Wu et al., CLEAR, 2020; Izacard et al., Contriever, 2022)
//   documents  articles: simile/data/document_pairs.h
//   nli        premises with labelled hypotheses: simile/data/class_data.h
//   classes    single texts, or pairs, each with its class: simile/data/class_data.h
//   ranking    queries and the documents judged relevant to them (relevance of at least 1); the
//              group is the query's id: simile/data/ranking_data.h
//
// All formats but `table` give every pair the score 1.
//
// In this order: the files of `path` and `paths` are read one after the other
// (simile/data/line_reader.h); rows that do not meet `filter` or are malformed (on_error: skip) are
// left out (simile/data/reader.h), and rows beyond `first_rows` not looked at; skip and limit
// choose among the others; folds cut what was read (simile/data/pair_dataset.h); `exclude` leaves
// out pairs of the part (simile/data/text_match.h). Malformed in a table is also a score that is no
// number, an unknown label, and a text that is empty - but in nli, where rows without a text are
// not used, and in texts, where they are blank.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simile/core/options.h"
#include "simile/data/document_pairs.h"
#include "simile/data/pair_dataset.h"
#include "simile/data/ranking_data.h"
#include "simile/data/text_match.h"

namespace simile {

// Kinds of files, by how pairs are made of them: PairDataOptions::format.
inline const std::vector<std::string>& pair_formats() {
  static const std::vector<std::string> formats = {"table", "texts",   "documents",
                                                   "nli",   "classes", "ranking"};
  return formats;
}

struct PairDataOptions {
  std::string path;
  std::vector<std::string> paths;
  std::string format = "table";
  std::string left = "sentence1";
  std::string right = "sentence2";
  std::string score = "score";
  double score_offset = 0;
  double score_scale = 1;
  std::vector<std::string> score_names;
  std::string group;
  std::vector<std::string> negatives;
  std::string text = "sentence";
  std::string label = "label";
  std::vector<std::string> class_names;
  double keep_words = 1;
  int64_t skip = 0;
  int64_t limit = 0;
  int64_t first_rows = 0;
  int64_t per_class = 0;
  int64_t draw_seed = 1;
  std::vector<std::string> filter;
  TableOptions table;
  FoldOptions folds;
  std::vector<std::string> exclude;
  double exclude_overlap = 0;
  int64_t exclude_shingle = kShingleWords;
  DocumentPairOptions documents;
  RankingDataOptions ranking;

  // The file that messages name: "a.tsv", "a.tsv and 3 more files".
  std::string file() const;
  // Whether a score is looked for; that one was found says PairDataset::has_scores.
  bool has_scores() const { return format == "table" && !score.empty(); }

  void visit(OptionVisitor& v);
  void visit_columns(OptionVisitor& v);        // of pairs and their scores
  void visit_class_columns(OptionVisitor& v);  // of texts with a class
  void visit_filter(OptionVisitor& v);
};

// Errors: ErrorKind::kInput from the readers, for a score that is neither a number nor a known
// name, for a label that is no class, for an empty text of a table, and for a file that yields no
// pair; ErrorKind::kRecipe for score_names that are not NAME=NUMBER, an empty path, a filter or
// folds that make no sense, an unknown format, and for options set that do not belong to the
// format.
PairDataset read_pairs(const PairDataOptions& options);

// The files of `path` and `paths`, in the order in which they are read; none of the format
// `ranking`. Errors: those of expand_paths() (simile/data/line_reader.h).
std::vector<std::string> pair_files(const PairDataOptions& options);

}  // namespace simile
