// SPDX-License-Identifier: Apache-2.0
// Models that come with the program, called by name: `--model simile-mini`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace simile {

// The folder of a model that was called by path or by name.
//
// A file, or a folder that holds one of model_marks(), is a path and is returned as it is, and so
// is what cannot be a name (empty, or with a '/'). Any other value names a folder NAME with one of
// them, looked for in this order:
//   1. in each folder of the environment variable SIMILE_MODELS (separated by ':');
//   2. in ../share/simile/models beside the program's folder (installed);
//   3. in models/ of the program's folder and of up to six folders above it (built in the source
//      tree);
//   4. in the folder that the build names (SIMILE_MODELS_FOLDER): models/ of the source tree it was
//      built from, wherever it was built, or where a package installs them;
//   5. in models/ of the current folder.
// Without one, a folder that exists is returned as it is. Errors: ErrorKind::kInput when there is
// nothing at all, with the folders searched and the names they hold; ErrorKind::kUsage for
// hybrid:MODEL, which is no model (see kHybridPrefix).
std::string resolve_model(const std::string& name_or_path);

// Before the name of a model: the model and BM25 together, which score a set of texts
// (simile/eval/hybrid_scorer.h).
inline constexpr std::string_view kHybridPrefix = "hybrid:";

// Files by which a folder is known to hold a model, or at least its tokenizer.
const std::vector<std::string>& model_marks();

// The folders searched up to 3., in their order, for a program in the folder `program_folder` and a
// value of SIMILE_MODELS.
std::vector<std::string> model_folders(const std::string& program_folder,
                                       const std::string& variable);

}  // namespace simile
