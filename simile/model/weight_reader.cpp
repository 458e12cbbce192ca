// SPDX-License-Identifier: Apache-2.0
#include "simile/model/weight_reader.h"

#include <fmt/format.h>

#include "simile/core/error.h"
#include "simile/core/file.h"

namespace simile {
namespace {

// Constants that some versions of the models' code saved beside the weights.
bool is_buffer(const std::string& name) {
  return ends_with(name, "position_ids") || ends_with(name, "token_type_ids") ||
         ends_with(name, "inv_freq");
}

// "…LayerNorm.weight" -> "…LayerNorm.gamma"; empty for other names.
std::string legacy_name(const std::string& name) {
  if (ends_with(name, "LayerNorm.weight")) return name.substr(0, name.size() - 6) + "gamma";
  if (ends_with(name, "LayerNorm.bias")) return name.substr(0, name.size() - 4) + "beta";
  if (name == "embedding.weight") return "embeddings";  // Model2Vec's, of a static table
  return "";
}

std::string sizes_text(const std::vector<ExpectedSize>& shape) {
  std::string sizes, keys;
  for (const ExpectedSize& side : shape) {
    const char* comma = sizes.empty() ? "" : ", ";
    sizes += fmt::format("{}{}", comma, side.size);
    keys += fmt::format("{}{} {}", comma, side.key, side.size);
  }
  return fmt::format("[{}] (config.json: {})", sizes, keys);
}

bool matches(const std::vector<ExpectedSize>& expected, const std::vector<int64_t>& found) {
  if (expected.size() != found.size()) return false;
  for (size_t i = 0; i < found.size(); ++i) {
    if (expected[i].size != found[i]) return false;
  }
  return true;
}

}  // namespace

WeightReader::WeightReader(const TensorSource& file, const EncoderFamily& family)
    : file_(file), family_(family), used_(std::make_shared<std::set<std::string>>()) {}

WeightReader WeightReader::scope(const std::string& name) const {
  WeightReader inner = *this;
  inner.scope_ = scope_ + name + ".";
  return inner;
}

const TensorInfo& WeightReader::find(const std::string& name,
                                     const std::vector<ExpectedSize>& shape) const {
  const std::string full = family_tensor_name(family_, scope_ + name);
  const std::string legacy = legacy_name(full);
  for (const std::string& prefix : prefixes()) {
    for (const std::string& candidate : {full, legacy}) {
      if (candidate.empty()) continue;
      const TensorInfo* tensor = file_.find(prefix + candidate);
      if (tensor == nullptr) continue;
      SIMILE_CHECK(
          matches(shape, tensor->shape), ErrorKind::kInput,
          fmt::format("{}: tensor '{}' must have shape {}, but it has {}; config.json and "
                      "weights belong to different models",
                      file_.path(), tensor->name, sizes_text(shape), shape_text(tensor->shape)));
      used_->insert(tensor->name);
      used_->insert(tensor->name + ".scale");  // of a matrix in I8
      return *tensor;
    }
  }
  throw Error(ErrorKind::kInput, fmt::format("{}: tensor '{}' of shape {} is missing", file_.path(),
                                             full, sizes_text(shape)));
}

std::vector<std::string> WeightReader::prefixes() const {
  return {"", family_.prefix, "model.", "auto_model.", "0.auto_model."};
}

std::vector<const TensorInfo*> WeightReader::unused() const {
  std::vector<const TensorInfo*> tensors;
  for (const TensorInfo& tensor : file_.tensors()) {
    if (used_->count(tensor.name) == 0) tensors.push_back(&tensor);
  }
  return tensors;
}

std::vector<std::string> WeightReader::unused_names(bool heads) const {
  std::vector<std::string> names;
  for (const TensorInfo* tensor : unused()) {
    if (is_buffer(tensor->name)) continue;
    bool is_head = false;
    for (const std::string& prefix : prefixes()) {
      if (!starts_with(tensor->name, prefix)) continue;
      is_head = is_head || is_head_tensor(tensor->name.substr(prefix.size()));
    }
    if (is_head == heads) names.push_back(tensor->name);
  }
  return names;
}

}  // namespace simile
