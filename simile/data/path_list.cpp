// SPDX-License-Identifier: Apache-2.0
#include "simile/data/path_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string_view>

#include "simile/core/error.h"
#include "simile/core/file.h"

namespace simile {
namespace {

// After a star that does not fit, one more character is given to the star met last.
bool fits(std::string_view name, std::string_view pattern) {
  size_t n = 0, p = 0, after_star = std::string_view::npos, star_end = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      after_star = ++p;
      star_end = n;
    } else if (p < pattern.size() && pattern[p] == name[n]) {
      ++p;
      ++n;
    } else if (after_star != std::string_view::npos) {
      p = after_star;
      n = ++star_end;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

std::vector<std::string> list_fitting(const std::string& path) {
  const std::filesystem::path whole(path);
  const std::string pattern = whole.filename().string();
  const std::filesystem::path folder = whole.parent_path();
  SIMILE_CHECK(
      folder.string().find('*') == std::string::npos, ErrorKind::kRecipe,
      fmt::format("{}: a * may stand for characters of the file's name only, not of a folder's",
                  path));
  std::vector<std::string> found;
  std::error_code code;
  for (std::filesystem::directory_iterator it(folder.empty() ? "." : folder, code), end;
       !code && it != end; it.increment(code)) {
    const std::string name = it->path().filename().string();
    const bool is_hidden = name[0] == '.' && pattern[0] != '.';
    if (is_hidden || !fits(name, pattern) || folder_exists(it->path().string())) continue;
    found.push_back((folder / name).string());
  }
  SIMILE_CHECK(
      !code, ErrorKind::kInput,
      fmt::format("{}: cannot list the folder {}: {}", path, folder.string(), code.message()));
  SIMILE_CHECK(!found.empty(), ErrorKind::kInput,
               fmt::format("{}: no file of the folder has a name that fits '{}'", path, pattern));
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

std::vector<std::string> expand_paths(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    if (path.find('*') == std::string::npos || file_exists(path)) {
      files.push_back(path);
      continue;
    }
    for (std::string& file : list_fitting(path)) files.push_back(std::move(file));
  }
  std::set<std::string> seen;
  for (const std::string& file : files) {
    SIMILE_CHECK(seen.insert(std::filesystem::path(file).lexically_normal().string()).second,
                 ErrorKind::kRecipe,
                 fmt::format("{}: the file is named twice; its rows would count double", file));
  }
  return files;
}

std::string name_paths(const std::vector<std::string>& paths) {
  if (paths.empty()) return "";
  if (paths.size() == 1) return paths[0];
  return fmt::format("{} and {} more file{}", paths[0], paths.size() - 1,
                     paths.size() == 2 ? "" : "s");
}

}  // namespace simile
