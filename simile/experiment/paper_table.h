// SPDX-License-Identifier: Apache-2.0
// A table of a paper as data: the trainings of its rows, the sets, the paper's figures and its
// claims. Files of recipes/tables/, or one of your own; docs/reproduce.md has the form.
//
//   title: Previously fact-checked claims
//   source: Chernyavskiy et al. (NAACL 2022), table 3
//   sets:
//     pfcc_s: {recipe: {...}}           # a recipe, or the path of one; $data is --data/pfcc_s
//     stsb: {table: bsc-table5.yaml}    # the recipe that another table has for this set
//   columns:
//     - {label: HP@1, set: pfcc_s, metric: test.has_positive@1, scale: 1}
//   rows:
//     - {label: MSE, paper: [0.362], values: {stages.objectives.loss: mse}}
//     - {label: BSC, paper: [0.673]}
//   claims:
//     - {text: BSC is better than MSE, above: BSC, below: MSE}    # judged on every column
//
// In place of `rows`, or after them, a grid has a row for each choice of one value of each list:
//
//   grid: {stages.*.learning_rate: [1e-4, 2e-4], stages.*.objectives.*.loss: [mse, bsc]}
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "simile/core/config.h"
#include "simile/core/options.h"

namespace simile {

// Values that replace others of a recipe, in the form of a variant (simile/core/config.h): for all
// sets, and then for one of them.
struct TableValues {
  ConfigNode all;
  std::map<std::string, ConfigNode> of_set;

  void visit(OptionVisitor& v);
};

struct TableSet {
  std::string name, folder;  // the folder below --data
  ConfigNode recipe;         // as it stands in its file
  std::string source;        // of the recipe, for messages
  std::string table;  // name of the table that has the recipe; a cell of both is trained once
};

struct TableColumn {
  std::string label, set;
  std::vector<std::string> metrics;  // EVALUATION.METRIC; of several the mean, one end is better
  double scale = 100;                // in which the paper gives it: 100 or 1; above 0

  void visit(OptionVisitor& v);
};

struct TableRow {
  std::string label, name;                   // name: of its folder
  std::vector<std::optional<double>> paper;  // one per column; none where the paper has none
  std::vector<std::string> sets;             // which it is run on
  std::vector<std::string> settings;         // which it is run with; empty: all
  TableValues values;
  std::string baseline;  // not trained: what the reports of a row call so ("bm25", "untrained")
  std::string absent;    // not run: why
  std::string note;

  bool is_trained() const { return baseline.empty() && absent.empty(); }
  void visit(OptionVisitor& v);
};

struct TableClaim {                // of every column
  std::string text, above, below;  // labels of rows; above: the one that is better

  void visit(OptionVisitor& v);
};

// Common to all rows, so that none wins by its learning rate.
struct TableSettings {
  std::string name;
  TableValues values;
};

struct PaperTable {
  std::string name, path, title, source, model;
  std::vector<TableSet> sets;
  std::vector<TableColumn> columns;
  std::vector<TableSettings> settings;  // the first is taken unless another is asked for
  std::vector<TableRow> rows;
  bool best_of_seeds = false;  // the paper has figures of the seed that is best on dev
  std::string reference;       // label of the row that the others are marked against; may be empty
  std::vector<TableClaim> claims;
  std::vector<std::string> notes;

  const TableSet& find_set(const std::string& set) const;
  const TableRow* find_row(const std::string& label) const;  // null where there is none
};

// The recipe of a row on a set: the set's, overridden by the row's values and then by those of the
// settings (which may be null); `model` too unless it is empty. `data` is the folder of all sets;
// empty: each recipe's own. Errors: those of finish_recipe().
ConfigNode row_recipe(const PaperTable& table, const TableRow& row, const std::string& set,
                      const TableSettings* settings, const std::string& model,
                      const std::string& data, DataFolder folder = DataFolder::kMustExist);

// Errors: ErrorKind::kRecipe with file and line: an unknown key, one that is missing, a name that
// nothing has, a list that is too long or short.
PaperTable read_paper_table(const std::string& path);

// The tables that come with the program, by name: of the folders recipes/tables above it, installed
// or of the source tree, the first that is there.
std::vector<std::string> list_tables();

// The file of a table, by path or name. Errors: ErrorKind::kUsage with the names there are.
std::string find_table(const std::string& name_or_path);

}  // namespace simile
