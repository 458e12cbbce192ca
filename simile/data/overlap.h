// SPDX-License-Identifier: Apache-2.0
// Finds texts of test files that also occur in training files, so that a model may have seen them.
//
// Two texts are the same when their comparison forms are (simile/text/words.h: case,
// punctuation and white space do not count). A text of a test file is found when it is a whole text
// of a training file, or one sentence of such a text (simile/text/passages.h). Texts are
// the lines of a text list and the fields of a table (.tsv, .csv, .jsonl; all also with .gz or
// .zst) that have at least minimum_words words in their comparison form: ids, scores, labels and
// greetings do not count as texts. With `near` a text that is not found so is near one when a
// training text holds at least that share of its shingles (simile/data/text_match.h).
//
// Pairs, left texts (queries) and right texts (documents) are also counted separately if a test
// file is a table of pairs (columns `left` and `right` or the usual names of
// simile/data/pair_data.h) or a folder with a ranking set (simile/data/ranking_data.h). They are
// compared as whole texts by the rules of simile/data/data_review.h (kTellingWords instead of
// minimum_words), which a run applies to its own data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "simile/core/error.h"
#include "simile/core/options.h"
#include "simile/data/data_review.h"
#include "simile/data/text_match.h"

namespace simile {

struct OverlapOptions {
  std::vector<std::string> columns;
  int64_t minimum_words = kTellingWords;
  double near = 0;
  int64_t shingle = kShingleWords;
  std::string language = "en";
  std::string left = "sentence1", right = "sentence2";
  std::string split = "test";
  TableOptions table;

  void visit(OptionVisitor& v) {
    v.field("columns", columns,
            {"columns of tables to compare, of those that a file has; by default all"});
    v.field("minimum_words", minimum_words, {"shorter texts are not compared", "words", 1});
    v.field("near", near,
            {"also look for near texts: those with at least this share of their shingles (runs of "
             "words, weighted by their rarity) in a training text; 0: only equal ones",
             "", 0, 1});
    v.field("shingle", shingle,
            {"words of a shingle; near texts have at least two", "words", 1, 100});
    v.field("language", language,
            {"language of the abbreviations that end no sentence: de, en, es, fr, it, pt or ru"});
    v.field("left", left,
            {"column of the left texts of pairs, which are counted separately; by default also the "
             "usual names, such as anchor, query and question"});
    v.field("right", right,
            {"column of their right texts; by default also positive, answer, passage and others"});
    v.field("split", split, {"judgements to read from a test folder with a ranking set"});
    table.visit(v);
  }
};

struct OverlapCount {
  std::string file;
  int64_t texts = 0;     // of at least minimum_words
  int64_t distinct = 0;  // comparison forms among them
  int64_t found = 0;     // of these, how many are in the training files
  int64_t near = 0;      // others, how many are near a text of theirs
  // Only of pairs and ranking sets: left texts count as queries and right ones as documents.
  std::optional<Leak> pairs = std::nullopt;
};

struct OverlapText {
  std::string text;       // as the test file has it first
  std::string test_file;  // one entry for each test file with the text
  std::string found_at;   // "train.tsv:12", where it is met first
  double share = 1;       // of its shingles that stand there; below 1 of near texts alone
};

struct OverlapReport {
  int64_t training_texts = 0;
  std::vector<OverlapCount> counts;  // of each test file
  std::vector<OverlapText> found;    // equal and near, by test file, then in its order
};

// Memory: the texts of the test files, and 8 bytes for each training text and pair; training files
// are read row by row, with `near` some thousand rows at a time, which all threads compare.
// Progress and files without a text are reported to `events`. Errors: ErrorKind::kUsage without
// files on a side; ErrorKind::kInput if one side has no text at all or a table has none of the
// columns, and the errors of the readers.
OverlapReport find_overlap(const std::vector<std::string>& training,
                           const std::vector<std::string>& test, const OverlapOptions& options,
                           EventSink& events);

}  // namespace simile
