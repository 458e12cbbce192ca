// SPDX-License-Identifier: Apache-2.0
#include "simile/model/module_reader.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "simile/core/check.h"
#include "simile/core/detail/json.h"
#include "simile/core/file.h"
#include "simile/core/hash.h"
#include "simile/model/detail/folder_config.h"
#include "simile/model/safetensors.h"

namespace simile {
namespace {

using detail::Json;
using detail::JsonObject;

constexpr const char* kConfig = "config.json";
constexpr const char* kWeights = "model.safetensors";
constexpr int64_t kWidest = 1 << 20;
constexpr int64_t kMostNumbers = int64_t{1} << 32;

void check_module_keys(const JsonObject& json, const Json& parsed, std::vector<std::string> known) {
  known.insert(known.end(), {"module_input_name", "module_output_name"});
  detail::check_keys(parsed, json.source(), known);
  for (const char* key : {"module_input_name", "module_output_name"}) {
    detail::check_text(json, key, "sentence_embedding");
  }
}

void check_inputs(const JsonObject& json, const char* key, int64_t inputs) {
  const int64_t size = json.integer(key, 1, kWidest);
  SIMILE_CHECK(size == inputs, ErrorKind::kInput,
               "{}: \"{}\" is {}, but the module before gives vectors of {}", json.source(), key,
               size, inputs);
}

void read_dense(const JsonObject& json, const Json& parsed, ModuleSettings& module) {
  check_module_keys(json, parsed,
                    {"in_features", "out_features", "bias", "activation_function", "use_residual"});
  check_inputs(json, "in_features", module.inputs);
  module.outputs = json.integer("out_features", 1, kWidest);
  SIMILE_CHECK(module.inputs * module.outputs <= kMostNumbers, ErrorKind::kInput,
               "{}: its sizes describe {} weights; at most {} are accepted", json.source(),
               module.inputs * module.outputs, kMostNumbers);
  module.bias = json.flag_or("bias", true);
  module.residual = json.flag_or("use_residual", false);
  // Without the key sentence-transformers takes its default.
  const std::string torch_name =
      json.text_or("activation_function", find_dense_activation("Tanh").torch_name);
  std::vector<std::string> names;
  for (const DenseActivation& row : dense_activations()) {
    names.push_back(row.torch_name);
    if (torch_name == row.torch_name) module.activation = row.name;
  }
  SIMILE_CHECK(std::count(names.begin(), names.end(), torch_name) > 0, ErrorKind::kInput,
               "{}: \"activation_function\" is \"{}\"; known: {}", json.source(), torch_name,
               fmt::join(names, ", "));
}

const TensorInfo& find_tensor(const TensorSource& file, const ParameterSlot& slot,
                              const std::string& described_by) {
  const TensorInfo* tensor = file.find(slot.name);
  SIMILE_CHECK(tensor != nullptr, ErrorKind::kInput, "{}: tensor '{}' of shape {} is missing",
               file.path(), slot.name, shape_text(slot.shape));
  SIMILE_CHECK(tensor->shape == slot.shape, ErrorKind::kInput,
               "{}: tensor '{}' has shape {}, expected {} by {}", file.path(), slot.name,
               shape_text(tensor->shape), shape_text(slot.shape), described_by);
  return *tensor;
}

// The tensors of `layout` from a file that holds nothing else, one behind the other. `described_by`
// says in messages what their shapes follow from.
std::vector<float> read_tensors(const TensorSource& file, const std::vector<ParameterSlot>& layout,
                                const std::string& described_by) {
  for (const TensorInfo& tensor : file.tensors()) {
    const bool known = std::any_of(layout.begin(), layout.end(), [&](const ParameterSlot& slot) {
      return slot.name == tensor.name;
    });
    SIMILE_CHECK(known, ErrorKind::kInput, "{}: tensor '{}' is no part of what {} describes",
                 file.path(), tensor.name, described_by);
  }
  // Shapes first: what is allocated is then no more than the file holds.
  for (const ParameterSlot& slot : layout) find_tensor(file, slot, described_by);
  std::vector<float> weights;
  for (const ParameterSlot& slot : layout) {
    weights.resize(static_cast<size_t>(slot.offset + slot.size));
    float* values = weights.data() + slot.offset;
    file.read_floats(find_tensor(file, slot, described_by), 0, slot.size, values);
    SIMILE_CHECK(std::all_of(values, values + slot.size, [](float x) { return std::isfinite(x); }),
                 ErrorKind::kInput,
                 "{}: tensor '{}' holds a number that is not finite: it is damaged", file.path(),
                 slot.name);
  }
  return weights;
}

void write_folder(const std::string& folder, const std::string& config,
                  const std::vector<ParameterSlot>& layout, const float* weights) {
  write_file_atomic(join_path(folder, kConfig), config + "\n");
  std::vector<TensorView> tensors;
  for (const ParameterSlot& slot : layout) {
    tensors.push_back({slot.name, slot.shape, weights + slot.offset});
  }
  write_safetensors(join_path(folder, kWeights), tensors);
}

HeadSettings read_settings(const std::string& path, const std::string& folder_name) {
  SIMILE_CHECK(file_exists(path), ErrorKind::kInput,
               "'{}' does not exist; each folder in heads should be a head", path);
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
               "{}: 'name' is '{}', expected '{}' like its folder", path, settings.name,
               folder_name);
  return settings;
}

}  // namespace

ModuleSettings read_module(const std::string& folder, ModuleKind kind, int64_t inputs) {
  ModuleSettings module;
  module.kind = kind;
  module.inputs = module.outputs = inputs;
  const std::string path = join_path(folder, "config.json");
  if (kind == ModuleKind::kNormalize && !file_exists(path)) return module;
  const Json parsed = detail::read_json(path);
  const JsonObject json(parsed, path);
  if (kind == ModuleKind::kNormalize) {
    check_module_keys(json, parsed, {});
    return module;
  }
  if (kind == ModuleKind::kDense) {
    read_dense(json, parsed, module);
  } else {
    check_module_keys(json, parsed, {"dimension"});
    check_inputs(json, "dimension", inputs);
  }
  const std::string weights = find_weights(folder);
  verify_checksum(weights);
  const std::unique_ptr<TensorSource> file = open_weights(weights);
  module.weights =
      std::make_shared<const std::vector<float>>(read_tensors(*file, module_layout(module), path));
  return module;
}

void write_module(const std::string& folder, const ModuleSettings& module) {
  if (module.kind == ModuleKind::kNormalize) return;
  Json config = {{"dimension", module.inputs}};
  if (module.kind == ModuleKind::kDense) {
    config = {{"in_features", module.inputs},
              {"out_features", module.outputs},
              {"bias", module.bias},
              {"activation_function", find_dense_activation(module.activation).torch_name}};
    if (module.residual) config["use_residual"] = true;  // older versions do not know the key
  }
  write_folder(folder, detail::dump_json(config), module_layout(module), module.weights->data());
}

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
  if (head.weights != nullptr) return *head.weights;
  verify_checksum(head.weights_path);
  return read_tensors(SafetensorsFile(head.weights_path), head_layout(head.settings, H),
                      fmt::format("{} and the encoder's size", kConfig));
}

void write_head(const std::string& folder, const HeadSettings& settings, int64_t H,
                const float* weights) {
  write_folder(folder, options_to_json(settings), head_layout(settings, H), weights);
}

}  // namespace simile
