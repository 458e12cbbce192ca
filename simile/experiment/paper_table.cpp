// SPDX-License-Identifier: Apache-2.0
#include "simile/experiment/paper_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <utility>

#include "simile/core/config.h"
#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/eval/report.h"
#include "simile/experiment/detail/map_reader.h"

namespace simile {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxRows = 1000;

bool is_digit_at(const std::string& text, size_t place) {
  return place < text.size() && std::isdigit(static_cast<unsigned char>(text[place])) != 0;
}

// A name of a folder made of a label, in which a number keeps its sign.
std::string folder_name(const std::string& label) {
  std::string name;
  for (size_t i = 0; i < label.size(); ++i) {
    const char c = label[i];
    const auto byte = static_cast<unsigned char>(c);
    if (c == '-' && (i == 0 || label[i - 1] == ' ') && is_digit_at(label, i + 1)) {
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

class PaperTableReader {
 public:
  explicit PaperTableReader(const std::string& path) : root_(load_config(path)) {
    table_.path = path;
    table_.name = fs::path(path).stem().string();
  }

  PaperTable read() {
    MapReader reader(root_, "a table");
    table_.title = reader.text("title");
    table_.source = reader.text_or("source", "");
    table_.model = reader.text_or("model", "");
    read_sets(reader);
    for (const ConfigNode& node : reader.list("columns")) read_column(node);
    read_settings(reader);
    const ConfigNode* grid = reader.map("grid");
    if (grid == nullptr || reader.find("rows") != nullptr) {
      for (const ConfigNode& node : reader.list("rows")) read_row(node);
    }
    if (grid != nullptr) add_grid(reader, *grid, 0, {});
    read_reference(reader);
    if (reader.find("claims") != nullptr) {
      for (const ConfigNode& node : reader.list("claims")) read_claim(node);
    }
    table_.notes = reader.texts("notes");
    reader.find("anchors");  // a place for what rows refer to
    reader.finish();
    return std::move(table_);
  }

 private:
  void read_sets(MapReader& reader) {
    const ConfigNode* sets = reader.map("sets");
    if (sets == nullptr) reader.fail("a table needs 'sets', the data it is run on");
    for (const auto& [name, node] : sets->members) {
      MapReader of_set(node, fmt::format("the set '{}'", name));
      TableSet set;
      set.name = name;
      set.folder = of_set.text_or("folder", name);
      const ConfigNode* table = of_set.find("table");
      if (table != nullptr) {
        take_recipe(of_set, *table, set);
      } else {
        read_recipe(of_set.at("recipe"), set);
      }
      of_set.finish();
      table_.sets.push_back(std::move(set));
    }
  }

  static void read_recipe(const ConfigNode& recipe, TableSet& set) {
    if (recipe.kind == ConfigNode::Kind::kScalar) {
      set.source = resolved_path(recipe);
      set.recipe = load_config(set.source);
    } else {
      set.source = recipe.where();
      set.recipe = recipe;
    }
  }

  // The recipe that another table has for a set of that name.
  static void take_recipe(const MapReader& reader, const ConfigNode& table, TableSet& set) {
    const std::string path = resolved_path(table);
    const ConfigNode other = load_config(path);
    const ConfigNode* sets = other.find("sets");
    const ConfigNode* same = sets == nullptr ? nullptr : sets->find(set.name);
    const ConfigNode* recipe = same == nullptr ? nullptr : same->find("recipe");
    if (recipe == nullptr) {
      reader.fail(
          fmt::format("table: {} has no recipe of a set '{}' (one that it takes from a third is "
                      "not looked for)",
                      path, set.name));
    }
    read_recipe(*recipe, set);
  }

  void read_column(const ConfigNode& node) {
    MapReader reader(node, "a column");
    TableColumn column;
    column.label = reader.text("label");
    column.set = reader.text_or("set", table_.sets[0].name);
    reader.at("metric");
    column.metrics = reader.texts("metric");
    for (const std::string& metric : column.metrics) {
      const FigureName figure = split_figure_name(metric);
      if (!figure.evaluation.empty() && !figure.metric.empty()) continue;
      reader.fail(
          fmt::format("metric: '{}' should be EVALUATION.METRIC, such as test.spearman", metric));
    }
    column.scale = reader.number_or("scale", 100);
    reader.finish();
    check_name(reader, "set", column.set, set_names());
    check_new(reader, "columns", column.label, column_labels());
    table_.columns.push_back(std::move(column));
  }

  void read_settings(MapReader& reader) {
    const ConfigNode* settings = reader.map("settings");
    if (settings == nullptr) return;
    for (const auto& [name, node] : settings->members) {
      MapReader of_settings(node, fmt::format("the settings '{}'", name));
      table_.settings.push_back({name, read_values(of_settings)});
      of_settings.finish();
    }
  }

  TableValues read_values(MapReader& reader) {
    TableValues values;
    if (const ConfigNode* all = reader.map("values")) values.all = *all;
    if (const ConfigNode* of_set = reader.map("values_of")) {
      for (const auto& [set, node] : of_set->members) {
        check_name(reader, "values_of", set, set_names());
        SIMILE_CHECK(node.kind == ConfigNode::Kind::kMap, ErrorKind::kRecipe,
                     fmt::format("{}: the values of '{}' should be a map", node.where(), set));
        values.of_set[set] = node;
      }
    }
    return values;
  }

  void read_row(const ConfigNode& node) {
    MapReader reader(node, "a row");
    TableRow row;
    row.label = reader.text("label");
    row.name = folder_name(row.label);
    row.values = read_values(reader);
    row.baseline = reader.text_or("baseline", "");
    row.absent = reader.text_or("absent", "");
    row.note = reader.text_or("note", "");
    read_paper(reader, row);
    row.sets = reader.texts("sets");
    for (const std::string& set : row.sets) check_name(reader, "sets", set, set_names());
    if (row.sets.empty()) row.sets = set_names();
    row.settings = reader.texts("settings");
    std::vector<std::string> settings;
    for (const TableSettings& one : table_.settings) settings.push_back(one.name);
    for (const std::string& one : row.settings) check_name(reader, "settings", one, settings);
    reader.finish();
    add_row(reader, std::move(row));
  }

  void add_row(const MapReader& reader, TableRow row) {
    std::vector<std::string> names;
    for (const TableRow& other : table_.rows) names.push_back(other.name);
    check_new(reader, "rows", row.name, names);
    table_.rows.push_back(std::move(row));
  }

  // A row for each choice of the lists from number `list` on, with those before it as in `row`.
  void add_grid(const MapReader& reader, const ConfigNode& grid, size_t list, TableRow row) {
    if (list == grid.members.size()) {
      check_room(grid);
      row.name = folder_name(row.label);
      row.paper.resize(table_.columns.size());
      row.sets = set_names();
      add_row(reader, std::move(row));
      return;
    }
    const auto& [key, values] = grid.members[list];
    SIMILE_CHECK(values.kind == ConfigNode::Kind::kList && !values.items.empty(),
                 ErrorKind::kRecipe,
                 fmt::format("{}: grid: '{}' should be a list of values", values.where(), key));
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
      add_grid(reader, grid, list + 1, std::move(chosen));
    }
  }

  void check_room(const ConfigNode& grid) const {
    SIMILE_CHECK(table_.rows.size() < kMaxRows, ErrorKind::kRecipe,
                 fmt::format("{}: the grid has more than {} rows", grid.where(), kMaxRows));
  }

  void read_reference(MapReader& reader) {
    table_.reference = reader.text_or("reference", "");
    std::vector<std::string> labels;
    for (const TableRow& row : table_.rows) labels.push_back(row.label);
    if (!table_.reference.empty()) check_name(reader, "reference", table_.reference, labels);
  }

  void read_paper(MapReader& reader, TableRow& row) {
    row.paper.resize(table_.columns.size());
    const ConfigNode* paper = reader.find("paper");
    if (paper == nullptr) return;
    const bool is_list = paper->kind == ConfigNode::Kind::kList;
    const size_t size = is_list ? paper->items.size() : 1;
    if (size != row.paper.size()) {
      reader.fail(fmt::format("paper: {} figures for {} columns; write ~ where the paper has none",
                              size, row.paper.size()));
    }
    for (size_t i = 0; i < size; ++i) {
      const ConfigNode& figure = is_list ? paper->items[i] : *paper;
      if (figure.kind != ConfigNode::Kind::kNull) row.paper[i] = number_of(figure, "paper");
    }
  }

  void read_claim(const ConfigNode& node) {
    MapReader reader(node, "a claim");
    TableClaim claim;
    claim.above = reader.text("above");
    claim.below = reader.text("below");
    claim.text = reader.text_or("text", fmt::format("{} above {}", claim.above, claim.below));
    claim.columns = reader.texts("columns");
    reader.finish();
    std::vector<std::string> rows;
    for (const TableRow& row : table_.rows) rows.push_back(row.label);
    check_name(reader, "above", claim.above, rows);
    check_name(reader, "below", claim.below, rows);
    for (const std::string& column : claim.columns) {
      check_name(reader, "columns", column, column_labels());
    }
    if (claim.columns.empty()) claim.columns = column_labels();
    table_.claims.push_back(std::move(claim));
  }

  static void check_name(const MapReader& reader, const std::string& key, const std::string& name,
                         const std::vector<std::string>& names) {
    if (std::find(names.begin(), names.end(), name) != names.end()) return;
    const std::string nearest = nearest_name(name, names);
    reader.fail(fmt::format("{}: there is no '{}'{}; the table has {}", key, name,
                            nearest.empty() ? "" : "; did you mean '" + nearest + "'?",
                            fmt::join(names, ", ")));
  }

  static void check_new(const MapReader& reader, const std::string& what, const std::string& name,
                        const std::vector<std::string>& names) {
    if (std::find(names.begin(), names.end(), name) == names.end()) return;
    reader.fail(fmt::format("two {} are called '{}'; labels should differ by letters or digits",
                            what, name));
  }

  std::vector<std::string> set_names() const {
    std::vector<std::string> names;
    for (const TableSet& set : table_.sets) names.push_back(set.name);
    return names;
  }

  std::vector<std::string> column_labels() const {
    std::vector<std::string> labels;
    for (const TableColumn& column : table_.columns) labels.push_back(column.label);
    return labels;
  }

  ConfigNode root_;
  PaperTable table_;
};

}  // namespace

const TableSet& PaperTable::find_set(const std::string& set) const {
  return *std::find_if(sets.begin(), sets.end(),
                       [&set](const TableSet& one) { return one.name == set; });
}

const TableRow* PaperTable::find_row(const std::string& label) const {
  const auto found = std::find_if(rows.begin(), rows.end(),
                                  [&label](const TableRow& row) { return row.label == label; });
  return found == rows.end() ? nullptr : &*found;
}

PaperTable read_paper_table(const std::string& path) { return PaperTableReader(path).read(); }

namespace {

// A variant first, wherever it stands: the other values are put into what it makes of the recipe.
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

}  // namespace

ConfigNode row_recipe(const PaperTable& table, const TableRow& row, const std::string& set_name,
                      const TableSettings* settings, const std::string& model,
                      const std::string& data, DataFolder folder) {
  const TableSet& set = table.find_set(set_name);
  ConfigNode recipe = set.recipe;
  put_values(row.values, set_name, recipe);
  if (settings != nullptr) put_values(settings->values, set_name, recipe);
  if (!model.empty()) put_text(recipe, "model", model);
  if (!data.empty()) put_text(recipe, "data", join_path(data, set.folder));
  put_text(recipe, "name", fmt::format("{}-{}", table.name, row.name));
  return finish_recipe(std::move(recipe), set.source, folder);
}

namespace {

constexpr int kMaxFoldersAbove = 6;

std::string table_folder() {
  namespace fs = std::filesystem;
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
  const std::string nearest = nearest_name(name, names);
  throw Error(ErrorKind::kUsage,
              fmt::format("there is no table '{}'{}; there are {}; a table of your own is given by "
                          "its file (docs/reproduce.md)",
                          name, nearest.empty() ? "" : " (did you mean '" + nearest + "'?)",
                          fmt::join(names, ", ")));
}

}  // namespace simile
