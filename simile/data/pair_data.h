// SPDX-License-Identifier: Apache-2.0
// Pairs of texts for training and evaluation: read by column name from .tsv, .csv or .jsonl, or
// made of raw data.
//
//   table      columns left, right, score, group and negatives of a table; without `right`, single
//   texts texts      one text a line, or .jsonl with `text`: left and right are the same text, told
//   apart
//              by dropout alone (unsupervised SimCSE: Gao et al., EMNLP 2021, section 3). Blank
//              lines are skipped. With keep_words below 1 each side is a random part of the text's
//              words, in their order, at least one: rare words then decide which texts belong
//              together (token deletion: Wu et al., CLEAR, 2020; Izacard et al., Contriever, 2022)
//   documents  articles: simile/data/document_pairs.h
//   nli        premises with labelled hypotheses: simile/data/nli_pairs.h
//   classes    single texts, or pairs, each with its class: simile/data/class_data.h
//   ranking    queries and the documents judged relevant to them (relevance of at least 1); the
//              group is the query's id: simile/data/ranking_data.h
//
// All formats but `table` give every pair the score 1.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simile/core/options.h"
#include "simile/data/document_pairs.h"
#include "simile/data/pair_dataset.h"
#include "simile/data/ranking_data.h"

namespace simile {

// What a file of pairs is, and how pairs are made of it: PairDataOptions::format.
inline const std::vector<std::string>& pair_formats() {
  static const std::vector<std::string> formats = {"table", "texts",   "documents",
                                                   "nli",   "classes", "ranking"};
  return formats;
}

struct PairDataOptions {
  std::string path;
  std::string format = "table";
  std::string left = "sentence1";
  std::string right = "sentence2";
  std::string score = "score";
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
  std::vector<std::string> exclude;
  DocumentPairOptions documents;
  RankingDataOptions ranking;

  // The file that messages name.
  const std::string& file() const { return format == "ranking" ? ranking.qrels : path; }
  bool has_scores() const { return format == "table" && !score.empty(); }

  void visit(OptionVisitor& v) {
    v.field("path", path,
            path_info("file of pairs, or to make pairs of: .tsv, .csv, .jsonl, or text for the "
                      "formats texts and documents; also with .gz"));
    v.field("format", format,
            choice_info("what the file is: a table of pairs; texts, each paired with itself; "
                        "documents, a paragraph a line and a blank line between articles; nli, a "
                        "table of premises (left), hypotheses (right) and labels (entailment, "
                        "neutral, contradiction, or 0, 1, 2); classes, a table of texts or pairs "
                        "with their class; ranking, which takes the files of the group ranking in "
                        "place of path",
                        pair_formats()));
    visit_columns(v);
    visit_class_columns(v);
    v.field("keep_words", keep_words,
            {"texts: share of the words that each side keeps, drawn anew for each", "", 0.01, 1});
    v.field("skip", skip, {"table, classes: pairs to pass over at the start", "pairs", 0});
    v.field("limit", limit,
            {"pairs to read; 0 reads all; of documents a uniform sample, otherwise the first",
             "pairs", 0});
    v.field("exclude", exclude,
            path_info("files of test sets: pairs with a text of at least four words that stands "
                      "there too, up to case and punctuation, are left out after reading"));
    v.group("documents", documents, "documents: which pairs to make of articles");
    v.group("ranking", ranking, "ranking: pairs of queries and their relevant documents");
  }
  void visit_columns(OptionVisitor& v) {
    v.field("left", left, {"column of the first text"});
    v.field("right", right, {"column of the second text; table: empty for single texts"});
    v.field("score", score, {"column of the score; empty when the set has none: all pairs get 1"});
    v.field("score_scale", score_scale,
            {"scores are divided by this: 5 brings 0..5 to 0..1", "", 1e-300});
    v.field("score_names", score_names,
            {"numbers for scores given as names: [Good=1, Bad=0]; scaled like the others"});
    v.field("group", group,
            {"column that names what belongs together, such as a query; may be empty"});
    v.field("negatives", negatives, {"columns of texts that do not match the first text"});
  }
  void visit_class_columns(OptionVisitor& v) {
    v.field("text", text,
            {"texts with classes: column of the text; empty: they are pairs, of the columns left "
             "and right"});
    v.field("label", label, {"column of the class"});
    v.field("class_names", class_names,
            {"the classes in order, as the column label has them; empty: those found there, sorted "
             "(as numbers when all are whole numbers)"});
  }
};

// Errors: ErrorKind::kInput from the readers, for a score that is neither a number nor a known
// name, for a label that is no class, and for a file that yields no pair; ErrorKind::kRecipe for
// score_names that are not NAME=NUMBER, an empty path, an unknown format, and for options set that
// do not belong to the format.
PairDataset read_pairs(const PairDataOptions& options);

}  // namespace simile
