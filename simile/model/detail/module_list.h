// SPDX-License-Identifier: Apache-2.0
// modules.json and what its entries say: which modules a model has, and how it pools.
//
// Errors (ErrorKind::kInput) name file, key and value: a module, pooling or key that is not known,
// modules in an order that makes no sentence vector, a path that leads out of the model folder.
#pragma once

#include <string>
#include <vector>

#include "simile/model/model_settings.h"

namespace simile::detail {

struct ModuleEntry {
  std::string type;    // "Pooling": the last part of the type, which both schemas share
  bool own = false;    // of the package "simile"
  std::string folder;  // inside the model folder
};

// Transformer and Pooling, or StaticEmbedding, or simile.StaticEmbedding (static_folder.h), or
// simile.Joined (joined_folder.h), then any of Dense, LayerNorm and Normalize. Dropout among these
// is passed over.
std::vector<ModuleEntry> read_module_list(const std::string& path);

bool is_static(const std::vector<ModuleEntry>& list);
bool is_joined(const std::vector<ModuleEntry>& list);

// A path inside the model folder, never one that leads out of it; `source` names it.
void check_inside(const std::string& path, const std::string& source);

// Reads the folders of `list` (of the model folder `path`) into pooling, modules and normalize of
// `settings`, whose encoder is known. Normalize at the end becomes settings.normalize.
void read_modules(const std::string& path, const std::vector<ModuleEntry>& list,
                  ModelSettings& settings);

}  // namespace simile::detail
