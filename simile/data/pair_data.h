// SPDX-License-Identifier: Apache-2.0
// Pairs of texts for training and evaluation: columns of .tsv, .csv or .jsonl, or made of raw data.
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
//   nli        premises with labelled hypotheses: read_nli_pairs()
//   classes    single texts, or pairs, each with its class: read_class_data()
//   ranking    queries and the documents judged relevant to them (relevance of at least 1); the
//              group is the query's id: simile/data/ranking_data.h
//
// All formats but `table` give every pair the score 1. With `mismatched`, in the formats table and
// texts, this share of the pairs, drawn at random, swap their right texts among each other and get
// the score 0: a text beside another one. With `texts` and 0.5 these are the pairs of PolarBERT's
// contrastive task, whose batch is doubled and half of the copies are turned round (section 4).
//
// In this order: the files of `path` and `paths` are read one after the other
// (simile/data/line_reader.h). Rows that do not match `filter` or are malformed (on_error: skip)
// are left out (simile/data/reader.h), and rows beyond `first_rows` are not read. Skip and limit
// choose among the others, folds cut these (simile/data/pair_dataset.h), and `exclude` leaves out
// pairs of the part (simile/data/text_match.h). In a table, a row is also malformed if its score is
// not a number, its label is unknown, or a text is empty - except in nli, where rows without a text
// are not used, and in texts, where they are blank.
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
  double mismatched = 0;
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
// name, for a label that is not a class, for an empty text of a table, and for a file that yields
// no pair; ErrorKind::kRecipe for score_names that are not NAME=NUMBER, an empty path, a filter or
// folds that make no sense, an unknown format, and options that do not belong to the format.
PairDataset read_pairs(const PairDataOptions& options);

// The files of `path` and `paths`, in the order in which they are read; none of the format
// `ranking`. Errors: those of expand_paths() (simile/data/line_reader.h).
std::vector<std::string> pair_files(const PairDataOptions& options);

// One element per row, in the order of the files: texts in `left` (pairs in `left` and `right`
// where the option `text` is empty), the number of the class in `classes`, score 1. `class_names`
// are the classes as the label column names them, by number; empty: the classes of the used rows,
// sorted, as numbers if all are whole numbers. `notes` names them.
//
// Malformed rows: those of TableReader, an empty text, a label that is empty or not in
// `class_names`. Errors: ErrorKind::kInput for one of these (file, line, column, known names), for
// nothing left after `skip`, and TableReader's; ErrorKind::kRecipe for a class named twice.
PairDataset read_class_data(const PairDataOptions& options);

// Triples as SimCSE makes them (Gao et al., EMNLP 2021, section 4): premise (the column `left`), a
// hypothesis (`right`) it entails, a hypothesis it contradicts. One triple for each entailed
// hypothesis of each premise that also has contradicted ones, which are taken in turn: left
// premise, right the entailed one, one column of negatives; score 1. Premises in the order of their
// first row; `limit` > 0 keeps the first triples. Labels are entailment, neutral and contradiction,
// or 0, 1 and 2, or the three `class_names`; another is malformed. Rows whose annotators did not
// agree (label "-", "-1" or nothing) and rows with an empty text are not used. `notes` says how
// many rows and premises were left out. Memory: the file.
//
// Errors: ErrorKind::kRecipe for class_names that are not three; ErrorKind::kInput: another label
// (file and line), no triple at all, and the errors of TableReader.
PairDataset read_nli_pairs(const PairDataOptions& options);

}  // namespace simile
