// SPDX-License-Identifier: Apache-2.0
// The members of manifest.json. For sources only.
#pragma once

#include <string>

#include "simile/core/detail/json.h"
#include "simile/index/indexed_model.h"
#include "simile/index/search_settings.h"

namespace simile::detail {

// Without the seal.
Json manifest_json(const IndexedModel& model);

// Errors (kInput): another format, seal or member than expected. `path`: where it stands.
IndexedModel parse_manifest(const Json& json, const std::string& path);

// Those of search.json.
Json settings_json(const SearchSettings& settings);
SearchSettings parse_settings(const Json& json, const std::string& path);

}  // namespace simile::detail
