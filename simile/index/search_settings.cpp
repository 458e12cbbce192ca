// SPDX-License-Identifier: Apache-2.0
#include "simile/index/search_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "simile/core/detail/json.h"
#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/index/detail/manifest.h"
#include "simile/index/detail/manifest_json.h"

namespace simile {

using detail::Json;
using detail::JsonObject;

namespace {

void check_settings(const SearchSettings& settings) {
  SIMILE_CHECK(settings.mode == "vector" || settings.mode == "lexical" || settings.mode == "hybrid",
               ErrorKind::kUsage,
               fmt::format("mode: expected vector, lexical or hybrid, found '{}'", settings.mode));
  SIMILE_CHECK(settings.fusion.weight >= 0 && settings.fusion.weight <= 1, ErrorKind::kUsage,
               fmt::format("hybrid_weight: expected a number from 0 to 1, found {}",
                           settings.fusion.weight));
  parse_fusion_rule(settings.fusion.rule);
  const ApproximateOptions& graph = settings.approximate;
  SIMILE_CHECK(
      std::count(kApproximate.begin(), kApproximate.end(), graph.approximate) == 1,
      ErrorKind::kUsage,
      fmt::format("approximate: expected auto, never or always, found '{}'", graph.approximate));
  SIMILE_CHECK(graph.recall >= kLeastRecall && graph.recall <= kMostRecall, ErrorKind::kUsage,
               fmt::format("recall: expected a number from {} to {}, found {}", kLeastRecall,
                           kMostRecall, graph.recall));
}

SearchSettings read_settings_file(const std::string& file, const char* remedy) {
  const Json parsed = detail::read_json(file);
  detail::check_seal(parsed, file, remedy);
  return detail::parse_settings(parsed, file);
}

}  // namespace

std::vector<std::string> search_modes(const SearchSettings& settings) {
  std::vector<std::string> modes = {settings.mode};
  std::copy_if(kSearchModes.begin(), kSearchModes.end(), std::back_inserter(modes),
               [&](const std::string& mode) { return mode != settings.mode; });
  return modes;
}

SearchSettings read_search_settings(const std::string& path) {
  detail::read_manifest(path);
  return read_settings_file(join_path(path, detail::kSearch), "build the index again");
}

SearchSettings read_model_search_settings(const std::string& folder) {
  const std::string file = join_path(folder, detail::kSearch);
  if (!file_exists(file)) return {};
  return read_settings_file(file, "remove it: searches then take the default weight");
}

namespace detail {

SearchSettings parse_settings(const Json& parsed, const std::string& path) {
  const JsonObject json(parsed, path);
  SearchSettings settings;
  settings.mode = json.text("mode");
  settings.fusion.weight = json.number_or("hybrid_weight", settings.fusion.weight, 0, 1);
  settings.fusion.rule = json.text("hybrid_rule");
  settings.approximate.approximate = json.text_or("approximate", settings.approximate.approximate);
  settings.approximate.recall =
      json.number_or("recall", settings.approximate.recall, kLeastRecall, kMostRecall);
  check_settings(settings);
  return settings;
}

Json settings_json(const SearchSettings& settings) {
  return {{"mode", settings.mode},
          {"hybrid_weight", settings.fusion.weight},
          {"hybrid_rule", settings.fusion.rule},
          {"approximate", settings.approximate.approximate},
          {"recall", settings.approximate.recall}};
}

}  // namespace detail

void write_search_settings(const std::string& path, const SearchSettings& settings) {
  check_settings(settings);
  Json json = detail::settings_json(settings);
  json[detail::kSeal] = detail::seal_of(json);
  write_file_atomic(join_path(path, detail::kSearch), detail::dump_json(json) + "\n");
}

}  // namespace simile
