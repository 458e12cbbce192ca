// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/experiment/paper_table.h"

namespace simile {
namespace {

constexpr int kMostFoldersAbove = 6;

std::string table_folder() {
  namespace fs = std::filesystem;
  std::vector<fs::path> folders;
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (!error) {
    fs::path folder = program.parent_path();
    folders.push_back(folder.parent_path() / "share/simile/recipes/tables");
    for (int above = 0; above <= kMostFoldersAbove; ++above, folder = folder.parent_path()) {
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
