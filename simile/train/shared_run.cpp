// SPDX-License-Identifier: Apache-2.0
#include "simile/train/shared_run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/core/hash.h"
#include "simile/report/recipe_changes.h"
#include "simile/train/shared_training.h"

namespace simile {
namespace {

namespace fs = std::filesystem;

// Of what a run's folder holds, nothing that training does not go on from.
bool is_sent(const fs::path& file) {
  if (file.filename() == "run.json" || file.filename() == "metrics.jsonl") return true;
  const std::string folder = file.parent_path().filename();
  return (folder == "states" || folder == "stages" || folder == "mined") &&
         file.filename().string().find(".tmp-") == std::string::npos;
}

std::vector<std::string> list_sent(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code ignored;
  for (const auto& entry : fs::recursive_directory_iterator(folder, ignored)) {
    if (!entry.is_regular_file() || !is_sent(entry.path())) continue;
    files.push_back(entry.path().lexically_relative(folder).generic_string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

void check_shared_options(const TrainOptions& options, int64_t processes) {
  for (const StageOptions& stage : options.stages) {
    for (const ObjectiveOptions& objective : stage.objectives) {
      SIMILE_CHECK(objective.batch_size >= processes, ErrorKind::kRecipe,
                   fmt::format("stage '{}': {} processes share each batch, and `batch_size: {}` "
                               "does not give each an example; start at most {}, or raise it",
                               stage.name, processes, objective.batch_size, objective.batch_size));
    }
  }
}

void check_shared_recipe(ProcessGroup& group, const TrainOptions& options) {
  check_equal(group, "a program (its hash)", hash_file("/proc/self/exe"));
  TrainOptions resolved = options;
  const std::vector<std::string> all = group.gather(options_to_json(resolved));
  for (size_t rank = 1; rank < all.size(); ++rank) {
    const std::vector<RecipeChange> changes = find_recipe_changes(all[0], all[rank]);
    if (changes.empty()) continue;
    const RecipeChange& first = changes.front();
    group.leave();
    throw Error(
        ErrorKind::kInput,
        fmt::format("rank {} has another recipe than rank 0: {} is {} there and {} for "
                    "rank 0{}; give all processes the same recipe and options",
                    rank, first.key, first.after, first.before,
                    changes.size() > 1 ? fmt::format(" (and {} more)", changes.size() - 1) : ""));
  }
}

ScratchRun::ScratchRun() {
  path_ = (fs::temp_directory_path() / "simile-rank-XXXXXX").string();
  SIMILE_CHECK(mkdtemp(path_.data()) != nullptr, ErrorKind::kIo,
               fmt::format("cannot make a folder '{}' for the files of a process; set TMPDIR to "
                           "one that can be written",
                           path_));
}

ScratchRun::~ScratchRun() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

void send_run(ProcessGroup& group, const std::string& folder) {
  const bool sends = group.rank() == 0;
  const std::vector<std::string> files = sends ? list_sent(folder) : std::vector<std::string>();
  for (size_t i = 0;; ++i) {
    const bool has_more = i < files.size();
    const std::string name = group.broadcast(has_more ? files[i] : "");
    if (name.empty()) return;
    const std::string path = join_path(folder, name);
    const std::string bytes = group.broadcast(sends ? read_file(path) : "");
    if (sends) continue;
    make_folders(fs::path(path).parent_path().string());
    write_file_atomic(path, bytes);
  }
}

}  // namespace simile
