// SPDX-License-Identifier: Apache-2.0
#include "simile/experiment/paper_table.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "simile/core/check.h"
#include "simile/core/file.h"
#include "simile/eval/report.h"
#include "simile/experiment/recipe_facts.h"
#include "simile/train/selection.h"

namespace simile {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxRows = 1000;
constexpr int kMaxFoldersAbove = 6;

// A name of a folder made of a label, in which a number keeps its sign.
std::string folder_name(const std::string& label) {
  std::string name;
  for (size_t i = 0; i < label.size(); ++i) {
    const char c = label[i];
    const auto byte = static_cast<unsigned char>(c);
    const bool has_digit = i + 1 < label.size() && label[i + 1] >= '0' && label[i + 1] <= '9';
    if (c == '-' && (i == 0 || label[i - 1] == ' ') && has_digit) {
      name += "minus-";
    } else if (std::isalnum(byte) != 0 && byte < 128) {
      name += static_cast<char>(std::tolower(byte));
    } else if (!name.empty() && name.back() != '-') {
      name += '-';
    }
  }
  while (!name.empty() && name.back() == '-') name.pop_back();
  return name.empty() ? "row" : name;
}

void check_known(const ConfigNode& place, const std::string& key, const std::string& name,
                 const std::vector<std::string>& names) {
  if (std::find(names.begin(), names.end(), name) != names.end()) return;
  fail_at(place, "{}: there is no '{}'{}; the table has {}", key, name, did_you_mean(name, names),
          fmt::join(names, ", "));
}

void check_new(const ConfigNode& place, const std::string& what, const std::string& name,
               const std::vector<std::string>& names) {
  if (std::find(names.begin(), names.end(), name) == names.end()) return;
  fail_at(place, "two {} are called '{}'; labels should differ by letters or digits", what, name);
}

template <typename T>
std::vector<std::string> names_of(const std::vector<T>& items, std::string T::*name) {
  std::vector<std::string> names;
  for (const T& item : items) names.push_back(item.*name);
  return names;
}

class PaperTableReader {
 public:
  explicit PaperTableReader(const std::string& path) {
    table_.path = path;
    table_.name = fs::path(path).stem().string();
    read(load_config(path));
  }

  PaperTable take() { return std::move(table_); }

 private:
  void read(const ConfigNode& root) {
    ConfigNode sets, columns, settings, grid, rows, claims, anchors;
    read_option_members(root, [&](OptionVisitor& v) {
      v.required("title", table_.title);
      v.field("source", table_.source, {});
      v.field("model", table_.model, {});
      v.required("sets", sets);
      v.required("columns", columns);
      v.field("settings", settings, {});
      v.field("grid", grid, {});
      v.field("rows", rows, {});
      v.field("best_of_seeds", table_.best_of_seeds, {});
      v.field("reference", table_.reference, {});
      v.field("claims", claims, {});
      v.field("notes", table_.notes, {});
      v.field("anchors", anchors, {});  // a place for what rows refer to
    });
    check_map(sets, "sets");
    check_map(settings, "settings");
    check_members(grid, "grid");
    const auto items_of = [&root](const ConfigNode& list,
                                  const char* name) -> const std::vector<ConfigNode>& {
      if (list.kind == ConfigNode::Kind::kList && !list.items.empty()) return list.items;
      fail_at(root, "'{}' should be a list of one item at least", name);
    };
    for (const auto& [name, node] : sets.members) read_set(name, node);
    check_at(!table_.sets.empty(), root, "'sets' is empty; name the data that the table is run on");
    for (const ConfigNode& node : items_of(columns, "columns")) read_column(node);
    for (const auto& [name, node] : settings.members) {
      TableSettings& one = table_.settings.emplace_back();
      one.name = name;
      read_options(node, one.values);
      check_values(node, one.values);
    }
    const bool has_grid = grid.kind != ConfigNode::Kind::kNull;
    if (!has_grid || rows.kind != ConfigNode::Kind::kNull) {
      for (const ConfigNode& node : items_of(rows, "rows")) read_row(node);
    }
    check_at(!has_grid || !grid.members.empty(), grid,
             "'grid' is empty; name a key and its values");
    if (has_grid) add_grid(grid, 0, {});
    if (has_grid && rows.kind == ConfigNode::Kind::kNull) add_start(grid);
    const std::string& reference = table_.reference;
    if (!reference.empty()) check_known(root, "reference", reference, row_labels());
    if (claims.kind == ConfigNode::Kind::kNull) return;
    for (const ConfigNode& node : items_of(claims, "claims")) read_claim(node);
  }

  void read_set(const std::string& name, const ConfigNode& node) {
    TableSet set{name, name, {}, "", table_.name};
    std::string other;
    read_option_members(node, [&](OptionVisitor& v) {
      v.field("recipe", set.recipe, {});
      v.field("folder", set.folder, {});
      v.field("table", other, path_info(""));
    });
    if (!other.empty()) {  // the recipe that another table has for a set of that name
      const ConfigNode there = load_config(other);
      const ConfigNode* found = there.find("sets");
      for (const std::string& key : {name, std::string("recipe")}) {
        if (found != nullptr) found = found->find(key);
      }
      check_at(found != nullptr, node, "table: {} has no recipe of its own of a set '{}'", other,
               name);
      set.recipe = *found;
      set.table = fs::path(other).stem().string();
    }
    check_at(set.recipe.kind != ConfigNode::Kind::kNull, node, "the set '{}' needs 'recipe'", name);
    set.source = set.recipe.where();
    if (set.recipe.kind == ConfigNode::Kind::kScalar) {
      set.source = resolved_path(set.recipe);
      set.recipe = load_config(set.source);
    }
    table_.sets.push_back(std::move(set));
  }

  void read_column(const ConfigNode& node) {
    TableColumn column;
    column.set = table_.sets[0].name;
    read_options(node, column);
    for (const std::string& metric : column.metrics) {
      const FigureName figure = split_figure_name(metric);
      if (!figure.evaluation.empty() && !figure.metric.empty()) continue;
      fail_at(node, "metric: '{}' should be EVALUATION.METRIC, such as test.spearman", metric);
    }
    for (const std::string& metric : column.metrics) {
      const std::string& first = column.metrics[0];
      check_at(better_end(metric) == better_end(first), node,
               "metric: a column is the mean of its metrics, and for '{}' and '{}' different ends "
               "are better; give each a column of its own",
               first, metric);
    }
    check_at(column.scale > 0, node, "scale: should be above 0, such as 1 or 100, found {}",
             column.scale);
    check_known(node, "set", column.set, set_names());
    check_new(node, "columns", column.label, column_labels());
    table_.columns.push_back(std::move(column));
  }

  void check_values(const ConfigNode& node, const TableValues& values) const {
    check_members(values.all, "values");
    for (const auto& [set, of_set] : values.of_set) {
      check_known(node, "values_of", set, set_names());
      check_members(of_set, "values_of." + set);
    }
  }

  static void check_members(const ConfigNode& values, const std::string& name) {
    check_map(values, name);
    for (const auto& [key, value] : values.members) {
      check_may_vary(key, value, {"name", "seed", "runs"}, "varied", "rows");
    }
  }

  void read_row(const ConfigNode& node) {
    TableRow row;
    read_options(node, row);
    check_values(node, row.values);
    const size_t figures = row.paper.size(), columns = table_.columns.size();
    check_at(figures == 0 || figures == columns, node,
             "paper: {} figures for {} columns; write ~ where the paper has none", figures,
             columns);
    for (const std::string& set : row.sets) check_known(node, "sets", set, set_names());
    for (const std::string& one : row.settings) {
      check_known(node, "settings", one, names_of(table_.settings, &TableSettings::name));
    }
    add_row(node, std::move(row));
  }

  void add_row(const ConfigNode& node, TableRow row) {
    row.name = folder_name(row.label);
    row.paper.resize(table_.columns.size());
    if (row.sets.empty()) row.sets = set_names();
    check_new(node, "rows", row.name, names_of(table_.rows, &TableRow::name));
    table_.rows.push_back(std::move(row));
  }

  // A row for each choice of the lists from number `list` on, with those before it as in `row`.
  void add_grid(const ConfigNode& grid, size_t list, TableRow row) {
    if (list == grid.members.size()) {
      if (table_.rows.size() < kMaxRows) return add_row(grid, std::move(row));
      fail_at(grid, "the grid has more than {} rows", kMaxRows);
    }
    const auto& [key, values] = grid.members[list];
    check_at(values.kind == ConfigNode::Kind::kList && !values.items.empty(), values,
             "grid: '{}' should be a list of values", key);
    const std::string name = key.substr(key.rfind('.') + 1);
    for (size_t i = 0; i < values.items.size(); ++i) {
      const ConfigNode& value = values.items[i];
      const ConfigNode* own_name = value.find("name");
      const std::string shown = !value.scalar.empty() ? value.scalar
                                : own_name != nullptr ? own_name->scalar
                                                      : fmt::format("{}", i + 1);
      TableRow chosen = row;
      chosen.label += fmt::format("{}{} {}", chosen.label.empty() ? "" : ", ", name, shown);
      chosen.values.all.kind = ConfigNode::Kind::kMap;
      chosen.values.all.members.emplace_back(key, value);
      add_grid(grid, list + 1, std::move(chosen));
    }
  }

  // Whether training helped at all shows beside the start, on the sets whose recipes evaluate it.
  void add_start(const ConfigNode& grid) {
    TableRow row;
    row.label = "start";
    row.baseline = "untrained";
    for (const TableSet& set : table_.sets) {
      const ConfigNode* baselines = set.recipe.find("baselines");
      const auto is_start = [&](const ConfigNode& one) { return one.scalar == row.baseline; };
      if (baselines == nullptr || is_start(*baselines) ||
          std::any_of(baselines->items.begin(), baselines->items.end(), is_start)) {
        row.sets.push_back(set.name);
      }
    }
    if (!row.sets.empty()) add_row(grid, std::move(row));
  }

  void read_claim(const ConfigNode& node) {
    TableClaim claim;
    read_options(node, claim);
    check_known(node, "above", claim.above, row_labels());
    check_known(node, "below", claim.below, row_labels());
    if (claim.text.empty()) claim.text = fmt::format("{} better than {}", claim.above, claim.below);
    table_.claims.push_back(std::move(claim));
  }

  std::vector<std::string> set_names() const { return names_of(table_.sets, &TableSet::name); }
  std::vector<std::string> row_labels() const { return names_of(table_.rows, &TableRow::label); }
  std::vector<std::string> column_labels() const {
    return names_of(table_.columns, &TableColumn::label);
  }

  PaperTable table_;
};

// Applies a variant first, wherever it is listed: the other values change its result.
void put_members(const ConfigNode& values, ConfigNode& recipe) {
  const auto put = [&](bool variants) {
    for (const auto& [key, value] : values.members) {
      if ((key == "variant") == variants) apply_recipe_override(recipe, key, value);
    }
  };
  put(true);
  put(false);
}

void put_values(const TableValues& values, const std::string& set, ConfigNode& recipe) {
  put_members(values.all, recipe);
  const auto found = values.of_set.find(set);
  if (found != values.of_set.end()) put_members(found->second, recipe);
}

void put_text(ConfigNode& recipe, const char* key, const std::string& text) {
  ConfigNode value;
  value.kind = ConfigNode::Kind::kScalar;
  value.scalar = text;
  value.source = "command line";
  apply_override(recipe, key, value);
}

std::string table_folder() {
  std::vector<fs::path> folders;
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (!error) {
    fs::path folder = program.parent_path();
    folders.push_back(folder.parent_path() / "share/simile/recipes/tables");
    for (int above = 0; above <= kMaxFoldersAbove; ++above, folder = folder.parent_path()) {
      folders.push_back(folder / "recipes/tables");
    }
  }
  folders.emplace_back(SIMILE_LAST_TABLES);
  const auto found = std::find_if(folders.begin(), folders.end(), [](const fs::path& folder) {
    return folder_exists(folder.string());
  });
  return found == folders.end() ? "" : found->string();
}

}  // namespace

void TableValues::visit(OptionVisitor& v) {
  v.field("values", all, {});
  v.field("values_of", of_set, {});
}

void TableColumn::visit(OptionVisitor& v) {
  v.required("label", label);
  v.field("set", set, {});
  v.required("metric", metrics);
  v.field("scale", scale, {});
}

void TableRow::visit(OptionVisitor& v) {
  v.required("label", label);
  values.visit(v);
  v.field("baseline", baseline, {});
  v.field("absent", absent, {});
  v.field("note", note, {});
  v.field("paper", paper, {});
  v.field("sets", sets, {});
  v.field("settings", settings, {});
}

void TableClaim::visit(OptionVisitor& v) {
  v.required("above", above);
  v.required("below", below);
  v.field("text", text, {});
}

const TableSet& PaperTable::find_set(const std::string& set) const {
  return *std::find_if(sets.begin(), sets.end(),
                       [&set](const TableSet& one) { return one.name == set; });
}

const TableRow* PaperTable::find_row(const std::string& label) const {
  const auto found = std::find_if(rows.begin(), rows.end(),
                                  [&label](const TableRow& row) { return row.label == label; });
  return found == rows.end() ? nullptr : &*found;
}

PaperTable read_paper_table(const std::string& path) { return PaperTableReader(path).take(); }

ConfigNode row_recipe(const PaperTable& table, const TableRow& row, const std::string& set_name,
                      const TableSettings* settings, const std::string& model,
                      const std::string& data, DataFolder folder) {
  const TableSet& set = table.find_set(set_name);
  ConfigNode recipe = set.recipe;
  put_values(row.values, set_name, recipe);
  if (settings != nullptr) put_values(settings->values, set_name, recipe);
  if (!model.empty()) put_text(recipe, "model", model);
  if (!data.empty()) put_text(recipe, "data", join_path(data, set.folder));
  put_text(recipe, "name", fmt::format("{}-{}", set.table, row.name));
  return finish_recipe(std::move(recipe), set.source, folder);
}

std::vector<std::string> list_tables() {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(table_folder(), error)) {
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string find_table(const std::string& name) {
  if (file_exists(name)) return name;
  const std::vector<std::string> names = list_tables();
  if (std::find(names.begin(), names.end(), name) != names.end()) {
    return join_path(table_folder(), name + ".yaml");
  }
  throw_error(
      ErrorKind::kUsage,
      "there is no table '{}'{}; there are {}; give your own table by its file (docs/reproduce.md)",
      name, did_you_mean(name, names), fmt::join(names, ", "));
}

}  // namespace simile
