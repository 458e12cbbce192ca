// SPDX-License-Identifier: Apache-2.0
#include "simile/index/search_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/index/detail/manifest.h"

namespace simile {

std::string describe_search(const SearchSettings& settings) {
  const double weight = settings.by_vectors() ? settings.fusion.weight : 0;
  if (!settings.by_words() || weight == 1) return "vectors only";
  if (weight == 0) return "words only";
  return fmt::format("vectors and words, {}, weight {:g}", settings.fusion.rule, weight);
}

std::vector<std::string> search_modes(const SearchSettings& settings) {
  std::vector<std::string> modes = {settings.mode};
  std::copy_if(kSearchModes.begin(), kSearchModes.end(), std::back_inserter(modes),
               [&](const std::string& mode) { return mode != settings.mode; });
  return modes;
}

SearchSettings read_search_settings(const std::string& path) {
  detail::read_manifest(path);
  return detail::read_settings(join_path(path, detail::kSearch), "build the index again");
}

SearchSettings read_model_search_settings(const std::string& folder) {
  const std::string file = join_path(folder, detail::kSearch);
  if (!file_exists(file)) return {};
  return detail::read_settings(file, "remove it: searches then take the default weight");
}

void write_search_settings(const std::string& path, const SearchSettings& settings) {
  detail::write_settings(join_path(path, detail::kSearch), settings);
}

}  // namespace simile
