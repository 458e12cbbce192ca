// SPDX-License-Identifier: Apache-2.0
#include "simile/model/detail/joined_folder.h"

#include <fmt/format.h>

#include "simile/core/detail/json.h"
#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/model/detail/module_list.h"
#include "simile/model/tensor_source.h"

namespace simile::detail {
namespace {

constexpr int64_t kMostClosing = 16;

std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

void check_joined_keys(const Json& object, const std::string& path,
                       const std::vector<std::string>& known) {
  for (const auto& item : object.items()) {
    bool found = false;
    for (const std::string& key : known) found = found || key == item.key();
    SIMILE_CHECK(found, ErrorKind::kInput,
                 fmt::format("{}: \"{}\" is {}: this key is not known", path, item.key(),
                             describe_json(item.value())));
  }
}

// Where the encoder of a model folder lies.
std::string encoder_folder(const std::string& model) {
  const std::string modules = join_path(model, "modules.json");
  if (!file_exists(modules)) return model;
  return join_path(model, read_module_list(modules)[0].folder);
}

}  // namespace

JoinedList read_joined_list(const std::string& path) {
  const Json parsed = read_json(path);
  const JsonObject json(parsed, path);
  check_joined_keys(parsed, path, {"parts", "closing_tokens"});
  JoinedList list;
  list.closing_tokens = json.integer("closing_tokens", 0, kMostClosing);
  const Json& parts = json.at("parts");
  SIMILE_CHECK(parts.is_array(), ErrorKind::kInput,
               fmt::format("{}: \"parts\" must be a list of {{\"path\": ..., \"weight\": ...}}, "
                           "but it is {}",
                           path, describe_json(parts)));
  for (const Json& item : parts) {
    const JsonObject part(item, path);
    check_joined_keys(item, path, {"path", "weight"});
    part.at("weight");  // it must be there
    list.parts.push_back({part.text("path"), part.number_or("weight", 0, 0, 1e300)});
    SIMILE_CHECK(!list.parts.back().folder.empty(), ErrorKind::kInput,
                 fmt::format("{}: the \"path\" of part {} is empty; expected the name of a folder",
                             path, list.parts.size() - 1));
    check_inside(list.parts.back().folder, path);
  }
  return list;
}

std::string joined_list_to_json(const JoinedList& list) {
  Json parts = Json::array();
  for (const JoinedPart& part : list.parts) {
    parts.push_back({{"path", part.folder}, {"weight", part.weight}});
  }
  return dump_json({{"parts", std::move(parts)}, {"closing_tokens", list.closing_tokens}}) + "\n";
}

bool is_joined_list(const std::string& weights_path) {
  return weights_path == kJoinedList || ends_with(weights_path, std::string("/") + kJoinedList);
}

std::vector<std::string> joined_weights(const std::string& path) {
  std::vector<std::string> weights;
  for (const JoinedPart& part : read_joined_list(path).parts) {
    weights.push_back(find_weights(encoder_folder(join_path(folder_of(path), part.folder))));
  }
  return weights;
}

}  // namespace simile::detail
