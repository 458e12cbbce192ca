// SPDX-License-Identifier: Apache-2.0
// Pairs of texts with a score, or texts with a class, whatever they were made from
// (simile/data/pair_data.h), and their division into folds.
//
// k folds cut one set into parts that share nothing. Each part is the test part once and otherwise
// belongs to the training part. Where something is chosen on data of its own (the best step), the
// fold after the test part can be kept aside from training as `dev`; `fit` is then the rest.
//
// A group, whose members belong together, is never divided. Groups are dealt from the largest to
// the smallest, among equals by the hash of (fold_seed, key), each to the fold that has least so
// far (the first of equals; longest processing time first: Graham, 1969). So the folds' sizes
// differ by no more than the largest group, and no order of rows moves a group.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simile/core/options.h"
#include "simile/data/reader.h"

namespace simile {

// Columns side by side; all that are not empty have the same length.
struct PairDataset {
  std::vector<std::string> left, right;  // right is empty for single texts
  std::vector<double> score;             // always there: 1 for every pair of a set without scores
  bool has_scores = false;               // they are those of a table
  std::vector<std::string> group;        // empty without a group column
  std::vector<std::vector<std::string>> negatives;  // [columns][pairs]
  std::vector<int32_t> classes;                     // place in class_names; empty without classes
  std::vector<std::string> class_names;  // as the file has them; not one element per pair
  ReadReport report;
  std::vector<std::string> notes;  // how the pairs were made and what was left out, for the user

  int64_t size() const { return static_cast<int64_t>(left.size()); }
};

// Removes the pairs whose place in `is_kept` is 0; class_names, report and notes stay.
void keep_pairs(const std::vector<char>& is_kept, PairDataset& data);

struct FoldOptions {
  int64_t folds = 0;
  int64_t fold = 0;
  std::string part;
  int64_t fold_seed = 1;

  bool is_set() const { return folds != 0 || fold != 0 || !part.empty(); }

  void visit(OptionVisitor& v) {
    v.field("folds", folds,
            {"parts of equal size to cut the data into, equal texts and groups whole; 0: no folds",
             "", 0, 1000});
    v.field("fold", fold, {"the part to test on, from 0 to folds - 1", "", 0});
    v.field("part", part,
            {"part to read. test: the part fold; train: all others; dev: the next part (after the "
             "last, the first); fit: train without dev"});
    v.field("fold_seed", fold_seed, {"seed that assigns groups to parts"});
  }
};

// Which items are read, given the group each belongs to, and one sentence about it. `file` and
// `unit` ("pairs") are for messages. All items without folds. Errors: ErrorKind::kRecipe for
// options that do not go together; ErrorKind::kInput for fewer groups than folds.
struct FoldPart {
  std::vector<char> is_kept;
  std::string note;
};
FoldPart choose_part(const FoldOptions& options, const std::vector<std::string>& groups,
                     const std::string& file, const std::string& unit);

// The group of each pair: its field of the group column; an empty field makes a group of the pair
// and those with the same texts. Without such a column: the connected component of pairs that share
// a text (left, right or negative; compared by simile/text/words.h), named by the smallest of its
// texts' forms.
std::vector<std::string> fold_groups(const PairDataset& data);

}  // namespace simile
