// SPDX-License-Identifier: Apache-2.0
#include "simile/model/module_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "simile/core/checksums.h"
#include "simile/core/detail/json.h"
#include "simile/core/error.h"
#include "simile/model/safetensors.h"

namespace simile {
namespace {

using detail::Json;
using detail::JsonObject;

constexpr int64_t kWidest = 1 << 20;
constexpr int64_t kMostNumbers = int64_t{1} << 32;

void check_keys(const JsonObject& json, const Json& parsed, std::vector<std::string> known) {
  known.insert(known.end(), {"module_input_name", "module_output_name"});
  for (const auto& [key, value] : parsed.items()) {
    SIMILE_CHECK(std::find(known.begin(), known.end(), key) != known.end(), ErrorKind::kInput,
                 fmt::format("{}: \"{}\" is {}: this key is not known; known: {}", json.source(),
                             key, detail::describe_json(value), fmt::join(known, ", ")));
  }
  for (const char* key : {"module_input_name", "module_output_name"}) {
    const std::string name = json.text_or(key, "sentence_embedding");
    SIMILE_CHECK(name == "sentence_embedding", ErrorKind::kInput,
                 fmt::format("{}: \"{}\" is \"{}\"; only \"sentence_embedding\" is supported",
                             json.source(), key, name));
  }
}

void check_inputs(const JsonObject& json, const char* key, int64_t inputs) {
  const int64_t size = json.integer(key, 1, kWidest);
  SIMILE_CHECK(size == inputs, ErrorKind::kInput,
               fmt::format("{}: \"{}\" is {}, but the module before gives vectors of {}",
                           json.source(), key, size, inputs));
}

std::string read_activation(const JsonObject& json) {
  // Without the key sentence-transformers takes its default.
  const std::string torch_name =
      json.text_or("activation_function", find_dense_activation("Tanh").torch_name);
  std::vector<std::string> names;
  for (const DenseActivation& row : dense_activations()) {
    if (torch_name == row.torch_name) return row.name;
    names.push_back(row.torch_name);
  }
  throw Error(ErrorKind::kInput, fmt::format("{}: \"activation_function\" is \"{}\"; known: {}",
                                             json.source(), torch_name, fmt::join(names, ", ")));
}

void read_dense(const JsonObject& json, const Json& parsed, ModuleSettings& module) {
  check_keys(json, parsed,
             {"in_features", "out_features", "bias", "activation_function", "use_residual"});
  check_inputs(json, "in_features", module.inputs);
  module.outputs = json.integer("out_features", 1, kWidest);
  SIMILE_CHECK(module.inputs * module.outputs <= kMostNumbers, ErrorKind::kInput,
               fmt::format("{}: its sizes describe {} weights; at most {} are accepted",
                           json.source(), module.inputs * module.outputs, kMostNumbers));
  module.bias = json.flag_or("bias", true);
  module.residual = json.flag_or("use_residual", false);
  module.activation = read_activation(json);
}

const TensorInfo& find_tensor(const TensorSource& file, const ParameterSlot& slot,
                              const std::string& described_by) {
  const TensorInfo* tensor = file.find(slot.name);
  SIMILE_CHECK(tensor != nullptr, ErrorKind::kInput,
               fmt::format("{}: tensor '{}' of shape {} is missing", file.path(), slot.name,
                           shape_text(slot.shape)));
  SIMILE_CHECK(
      tensor->shape == slot.shape, ErrorKind::kInput,
      fmt::format("{}: tensor '{}' has shape {}, expected {} by {}", file.path(), slot.name,
                  shape_text(tensor->shape), shape_text(slot.shape), described_by));
  return *tensor;
}

void check_leftovers(const TensorSource& file, const std::vector<ParameterSlot>& layout,
                     const std::string& described_by) {
  for (const TensorInfo& tensor : file.tensors()) {
    const bool known = std::any_of(layout.begin(), layout.end(), [&](const ParameterSlot& slot) {
      return slot.name == tensor.name;
    });
    SIMILE_CHECK(known, ErrorKind::kInput,
                 fmt::format("{}: tensor '{}' is no part of what {} describes", file.path(),
                             tensor.name, described_by));
  }
}

}  // namespace

std::vector<float> read_tensors(const TensorSource& file, const std::vector<ParameterSlot>& layout,
                                const std::string& described_by) {
  check_leftovers(file, layout, described_by);
  // Shapes first: what is allocated is then no more than the file holds.
  for (const ParameterSlot& slot : layout) find_tensor(file, slot, described_by);
  std::vector<float> weights;
  for (const ParameterSlot& slot : layout) {
    weights.resize(static_cast<size_t>(slot.offset + slot.size));
    float* values = weights.data() + slot.offset;
    file.read_floats(find_tensor(file, slot, described_by), 0, slot.size, values);
    SIMILE_CHECK(std::all_of(values, values + slot.size, [](float x) { return std::isfinite(x); }),
                 ErrorKind::kInput,
                 fmt::format("{}: tensor '{}' holds a number that is not finite: it is damaged",
                             file.path(), slot.name));
  }
  return weights;
}

ModuleSettings read_module(const std::string& folder, ModuleKind kind, int64_t inputs) {
  ModuleSettings module;
  module.kind = kind;
  module.inputs = module.outputs = inputs;
  const std::string path = join_path(folder, "config.json");
  if (kind == ModuleKind::kNormalize && !file_exists(path)) return module;
  const Json parsed = detail::read_json(path);
  const JsonObject json(parsed, path);
  if (kind == ModuleKind::kNormalize) {
    check_keys(json, parsed, {});
    return module;
  }
  if (kind == ModuleKind::kDense) {
    read_dense(json, parsed, module);
  } else {
    check_keys(json, parsed, {"dimension"});
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
  write_file_atomic(join_path(folder, "config.json"), detail::dump_json(config) + "\n");
  std::vector<TensorView> tensors;
  for (const ParameterSlot& slot : module_layout(module)) {
    tensors.push_back({slot.name, slot.shape, module.weights->data() + slot.offset});
  }
  write_safetensors(join_path(folder, "model.safetensors"), tensors);
}

}  // namespace simile
