// SPDX-License-Identifier: Apache-2.0
#include "simile/model/builtin_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <sstream>

#include "simile/core/error.h"
#include "simile/core/file.h"

namespace simile {
namespace {

namespace fs = std::filesystem;

constexpr int kMostParents = 6;

std::string program_folder() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  return error ? "" : program.parent_path().string();
}

bool is_model(const std::string& folder) {
  const auto& marks = model_marks();
  return std::any_of(marks.begin(), marks.end(),
                     [&](const std::string& mark) { return file_exists(join_path(folder, mark)); });
}

std::set<std::string> model_names(const std::vector<std::string>& folders) {
  std::set<std::string> names;
  for (const std::string& folder : folders) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder, error)) {
      if (is_model(entry.path().string())) names.insert(entry.path().filename().string());
    }
  }
  return names;
}

[[noreturn]] void fail(const std::string& name, const std::vector<std::string>& folders) {
  std::vector<std::string> searched;
  for (const std::string& folder : folders) {
    if (folder_exists(folder)) searched.push_back(folder);
  }
  const std::set<std::string> names = model_names(searched);
  throw Error(
      ErrorKind::kInput,
      fmt::format(
          "'{}' is neither a path nor the name of a built-in model; built-in models found: {}; "
          "searched: {}; give a model folder (config.json, model.safetensors, tokenizer.json), or "
          "add the folder that contains it to SIMILE_MODELS; nothing is downloaded",
          name, names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")),
          fmt::join(searched.empty() ? folders : searched, ", ")));
}

}  // namespace

const std::vector<std::string>& model_marks() {
  static const std::vector<std::string> marks = {"config.json", "modules.json", "tokenizer.json",
                                                 "vocab.txt"};
  return marks;
}

std::vector<std::string> model_folders(const std::string& program_folder,
                                       const std::string& variable) {
  std::vector<std::string> folders;
  std::istringstream parts(variable);
  for (std::string part; std::getline(parts, part, ':');) {
    if (!part.empty()) folders.push_back(part);
  }
  if (program_folder.empty()) return folders;
  fs::path folder = program_folder;
  folders.push_back((folder.parent_path() / "share/simile/models").string());
  for (int above = 0; above <= kMostParents; ++above) {
    folders.push_back((folder / "models").string());
    if (folder == folder.parent_path()) break;
    folder = folder.parent_path();
  }
  return folders;
}

std::string resolve_model(const std::string& name_or_path) {
  const std::string& name = name_or_path;
  SIMILE_CHECK(!starts_with(name, kHybridPrefix), ErrorKind::kUsage,
               fmt::format("'{}': a hybrid scores texts beside others of a set or a corpus, in "
                           "`simile evaluate` and among the `baselines` of a recipe; what is asked "
                           "for here takes a model alone, such as '{}'",
                           name,
                           name.size() > kHybridPrefix.size() ? name.substr(kHybridPrefix.size())
                                                              : "simile-mini"));
  if (name.empty() || name.find('/') != std::string::npos) return name;
  if (file_exists(name) || is_model(name)) return name;
  const char* const variable = std::getenv("SIMILE_MODELS");
  std::vector<std::string> folders =
      model_folders(program_folder(), variable == nullptr ? "" : variable);
  for (const char* more : {SIMILE_LAST_MODELS, "models"}) {
    if (std::find(folders.begin(), folders.end(), more) == folders.end()) folders.push_back(more);
  }
  for (const std::string& folder : folders) {
    const std::string path = join_path(folder, name);
    if (is_model(path)) return path;
  }
  if (folder_exists(name)) return name;
  fail(name, folders);
}

}  // namespace simile
