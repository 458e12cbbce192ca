// SPDX-License-Identifier: Apache-2.0
#include "simile/report/run_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "simile/core/checksums.h"
#include "simile/core/detail/sealed_json.h"
#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/core/hash.h"
#include "simile/model/embedding_store.h"
#include "simile/model/safetensors.h"
#include "simile/report/detail/run_format.h"

namespace simile {
namespace {

namespace fs = std::filesystem;
using namespace run_format;

// Calls check(path) for each file with this ending, by name; returns how many there are.
template <typename Check>
int64_t check_files(const std::string& folder, const std::string& ending, const Check& check) {
  std::vector<std::string> files;
  std::error_code ignored;  // no folder: no files
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    if (entry.path().extension() == ending) files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  for (const std::string& file : files) check(file);
  return static_cast<int64_t>(files.size());
}

void check_tensors(const std::string& path) { check_seal(SafetensorsFile(path)); }

void check_mined(const std::string& path) {
  detail::check_seal(detail::read_json(path), path, "run again with --overwrite");
}

// results.json, and the files that it names; nothing before a run's end, nor of earlier versions.
int64_t check_results(const std::string& folder) {
  const std::string path = join_path(folder, kResults), remedy = "train again with --overwrite";
  if (!file_exists(path)) return 0;
  const detail::Json results = detail::read_json(path);
  if (!results.contains(kFiles) && !results.contains(detail::kSeal)) return 0;
  detail::check_seal(results, path, remedy);
  int64_t checked = 1;
  for (const auto& [name, hash] : detail::JsonObject(results, path).at(kFiles).items()) {
    const std::string file = join_path(folder, name);
    SIMILE_CHECK(hash == hash_file(file), ErrorKind::kInput,
                 fmt::format("{} is not what the run wrote: its checksum is another than that in "
                             "{}; {}",
                             file, kResults, remedy));
    ++checked;
  }
  return checked;
}

void add_run(const std::string& path, RunCheck& found) {
  found.states += check_files(join_path(path, kStates), ".safetensors", check_tensors);
  found.stages += check_files(join_path(path, kStages), ".safetensors", check_tensors);
  found.teachers += check_files(join_path(path, kTeachers), ".npy",
                                [](const std::string& file) { EmbeddingStore store(file); });
  found.mined += check_files(join_path(path, kMined), ".json", check_mined);
  found.results += check_results(path);
  const std::string model = join_path(path, kModel);
  if (folder_exists(model)) found.model += verify_all_checksums(model);
}

}  // namespace

RunCheck check_run(const std::string& path) {
  SIMILE_CHECK(file_exists(join_path(path, kRecipe)), ErrorKind::kInput,
               fmt::format("'{}' is not a run folder: it has no {}", path, kRecipe));
  RunCheck found;
  add_run(path, found);
  for (const auto& entry : fs::directory_iterator(path)) {
    const std::string name = entry.path().filename().string();
    if (entry.is_directory() && seed_folder_number(name)) add_run(entry.path().string(), found);
  }
  return found;
}

}  // namespace simile
