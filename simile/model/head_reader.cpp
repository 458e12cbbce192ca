// SPDX-License-Identifier: Apache-2.0
#include "simile/model/head_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "simile/core/checksums.h"
#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/model/module_reader.h"
#include "simile/model/safetensors.h"

namespace simile {
namespace {

constexpr const char* kConfig = "config.json";
constexpr const char* kWeights = "model.safetensors";

HeadSettings read_settings(const std::string& path, const std::string& folder_name) {
  SIMILE_CHECK(file_exists(path), ErrorKind::kInput,
               fmt::format("'{}' does not exist; each folder in heads should be a head", path));
  HeadSettings settings;
  try {
    read_options(load_config(path), settings);
    check_head(settings);
  } catch (const Error& error) {  // options say "recipe", but this is a file of the model
    const std::string message = error.what();
    const bool named = message.find(path) != std::string::npos;
    throw Error(ErrorKind::kInput, named ? message : fmt::format("{}: {}", path, message));
  }
  SIMILE_CHECK(settings.name == folder_name, ErrorKind::kInput,
               fmt::format("{}: 'name' is '{}', expected '{}' like its folder", path, settings.name,
                           folder_name));
  return settings;
}

}  // namespace

std::vector<SavedHead> open_heads(const std::string& model_folder) {
  const std::string heads_folder = join_path(model_folder, "heads");
  std::vector<std::string> names;
  if (folder_exists(heads_folder)) {
    for (const auto& entry : std::filesystem::directory_iterator(heads_folder)) {
      if (entry.is_directory()) names.push_back(entry.path().filename().string());
    }
  }
  std::sort(names.begin(), names.end());
  std::vector<SavedHead> heads;
  for (const std::string& name : names) {
    const std::string folder = join_path(heads_folder, name);
    heads.push_back({read_settings(join_path(folder, kConfig), name), join_path(folder, kWeights)});
  }
  return heads;
}

std::vector<float> read_head_weights(const SavedHead& head, int64_t H) {
  verify_checksum(head.weights_path);
  return read_tensors(SafetensorsFile(head.weights_path), head_layout(head.settings, H),
                      fmt::format("{} and the encoder's size", kConfig));
}

void write_head(const std::string& folder, const HeadSettings& settings, int64_t H,
                const float* weights) {
  HeadSettings copy = settings;
  write_file_atomic(join_path(folder, kConfig), options_to_json(copy) + "\n");
  std::vector<TensorView> tensors;
  for (const ParameterSlot& slot : head_layout(settings, H)) {
    tensors.push_back({slot.name, slot.shape, weights + slot.offset});
  }
  write_safetensors(join_path(folder, kWeights), tensors);
}

}  // namespace simile
