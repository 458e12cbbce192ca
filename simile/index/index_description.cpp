// SPDX-License-Identifier: Apache-2.0
#include "simile/index/index_description.h"

#include "simile/core/detail/json.h"
#include "simile/core/file.h"
#include "simile/index/detail/manifest_json.h"

namespace simile {

using detail::Json;

void write_index_description(const std::string& path, const IndexDescription& description) {
  Json json = detail::manifest_json(description.model);
  json.update(detail::settings_json(description.settings));
  json[detail::kSeal] = detail::seal_of(json);
  write_file_atomic(path, detail::dump_json(json) + "\n");
}

IndexDescription read_index_description(const std::string& path) {
  const Json json = detail::read_json(path);
  detail::check_seal(json, path, "export the index again");
  return {detail::parse_manifest(json, path), detail::parse_settings(json, path)};
}

}  // namespace simile
