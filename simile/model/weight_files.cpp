// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <set>

#include "simile/core/detail/json.h"
#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/model/detail/joined_folder.h"
#include "simile/model/safetensors.h"
#include "simile/model/tensor_source.h"
#include "simile/model/torch_file.h"

namespace simile {
namespace {

using detail::Json;

constexpr const char* kIndexEnding = ".index.json";
constexpr const char* kByteWeights = "simile-int8.safetensors";

std::string beside(const std::string& path, const std::string& name) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? name : path.substr(0, slash + 1) + name;
}

// Tensor name -> file name.
std::map<std::string, std::string> read_index(const std::string& path) {
  const Json parsed = detail::read_json(path);
  const detail::JsonObject index(parsed, path);
  const Json& places = index.at("weight_map");
  SIMILE_CHECK(places.is_object() && !places.empty(), ErrorKind::kInput,
               fmt::format("{}: \"weight_map\" must be an object of file names, but it is {}", path,
                           detail::describe_json(places)));
  std::map<std::string, std::string> files;
  for (const auto& [tensor, file] : places.items()) {
    SIMILE_CHECK(file.is_string(), ErrorKind::kInput,
                 fmt::format("{}: the file of tensor '{}' must be a text, but it is {}", path,
                             tensor, detail::describe_json(file)));
    const std::string name = file.get<std::string>();
    SIMILE_CHECK(name.find('/') == std::string::npos && name.find('\\') == std::string::npos,
                 ErrorKind::kInput,
                 fmt::format("{}: \"weight_map\" names the file '{}', which leads out of the "
                             "model folder",
                             path, name));
    SIMILE_CHECK(ends_with(name, ".safetensors") || ends_with(name, ".bin"), ErrorKind::kInput,
                 fmt::format("{}: \"weight_map\" names the file '{}'; expected names ending in "
                             ".safetensors or .bin",
                             path, name));
    files[tensor] = name;
  }
  return files;
}

ParsedTensors parse(const std::string& path, std::string_view bytes) {
  return ends_with(path, ".bin") ? parse_torch_file(path, bytes) : parse_safetensors(path, bytes);
}

// Several files with an index.
class ShardedWeights : public TensorSource {
 public:
  explicit ShardedWeights(const std::string& path) : TensorSource(path), places_(read_index(path)) {
    std::set<std::string> names;
    for (const auto& place : places_) names.insert(place.second);
    std::vector<TensorInfo> tensors;
    size_t number = 0;
    for (const std::string& name : names) read_file(name, number++, tensors);
    SIMILE_CHECK(places_.empty(), ErrorKind::kInput,
                 fmt::format("{}: tensor '{}' is not in '{}', where \"weight_map\" says it is",
                             path, places_.begin()->first, places_.begin()->second));
    set_tensors(std::move(tensors));
  }

 private:
  void read_file(const std::string& name, size_t number, std::vector<TensorInfo>& tensors) {
    const std::string file_path = beside(path(), name);
    SIMILE_CHECK(file_exists(file_path), ErrorKind::kInput,
                 fmt::format("{}: \"weight_map\" names the file '{}', which is missing; copy or "
                             "download it too",
                             path(), name));
    MappedFile file(file_path);
    for (TensorInfo& tensor : parse(file_path, file.bytes()).tensors) {
      const auto place = places_.find(tensor.name);
      SIMILE_CHECK(place != places_.end() && place->second == name, ErrorKind::kInput,
                   fmt::format("{}: tensor '{}' is in '{}', but \"weight_map\" does not say so",
                               path(), tensor.name, name));
      places_.erase(place);
      tensor.file = number;
      tensors.push_back(std::move(tensor));
    }
    add_file(std::move(file));
  }

  std::map<std::string, std::string> places_;  // of the tensors not found yet
};

}  // namespace

const std::vector<std::string>& weight_file_names() {
  static const std::vector<std::string> names = {
      "model.safetensors", kByteWeights, "model.safetensors.index.json", "pytorch_model.bin",
      "pytorch_model.bin.index.json"};
  return names;
}

const char* weight_file_name(TensorType type) {
  return type == TensorType::kI8 ? kByteWeights : "model.safetensors";
}

std::string find_weights(const std::string& folder) {
  for (const std::string& name : weight_file_names()) {
    const std::string path = join_path(folder, name);
    if (file_exists(path)) return path;
  }
  std::string hint = "is it a model folder?";
  for (const char* other : {"tf_model.h5", "flax_model.msgpack", "model.onnx", "onnx/model.onnx"}) {
    if (file_exists(join_path(folder, other))) {
      hint = fmt::format("{} is not read: save the model with torch", other);
    }
  }
  throw Error(ErrorKind::kInput,
              fmt::format("'{}' has neither model.safetensors nor pytorch_model.bin, nor an index "
                          "of several such files (.index.json); {}",
                          folder, hint));
}

std::unique_ptr<TensorSource> open_weights(const std::string& path) {
  SIMILE_CHECK(
      !detail::is_joined_list(path), ErrorKind::kInput,
      fmt::format("{}: the weights of a joined model lie in the folders of its parts; take "
                  "one of them",
                  path));
  if (ends_with(path, kIndexEnding)) return std::make_unique<ShardedWeights>(path);
  if (ends_with(path, ".bin")) return std::make_unique<TorchFile>(path);
  return std::make_unique<SafetensorsFile>(path);
}

std::vector<std::string> weight_files(const std::string& path) {
  std::vector<std::string> files = {path};
  if (detail::is_joined_list(path)) {
    for (const std::string& part : detail::joined_weights(path)) {
      for (const std::string& file : weight_files(part)) files.push_back(file);
    }
    return files;
  }
  if (!ends_with(path, kIndexEnding)) return files;
  std::set<std::string> names;
  for (const auto& place : read_index(path)) names.insert(place.second);
  for (const std::string& name : names) files.push_back(beside(path, name));
  return files;
}

}  // namespace simile
