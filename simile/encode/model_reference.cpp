// SPDX-License-Identifier: Apache-2.0
#include <fmt/ranges.h>

#include <vector>

#include "simile/core/text_table.h"
#include "simile/encode/sentence_encoder.h"
#include "simile/model/encoder_family.h"
#include "simile/model/model_settings.h"
#include "simile/model/tensor_source.h"
#include "simile/model/tokenizer_files.h"
#include "simile/text/tokenizer.h"

namespace simile {

extern const char* const kModelsPage;  // model_reference.md, by CMakeLists.txt

namespace {

std::string list_of(const std::vector<std::string>& names) {
  return fmt::format("`{}`", fmt::join(names, "`, `"));
}

}  // namespace

std::string model_reference() {
  std::string families, poolings, activations, parts;
  for (const std::string& name : encoder_family_names()) {
    const EncoderFamily& family = *find_encoder_family(name);
    const std::string prefix = family.prefix.empty() ? "none" : "`" + family.prefix + "`";
    families += markdown_row({name, family.architecture, prefix, family.pooling});
  }
  for (const PoolingModeRow& row : pooling_modes()) {
    poolings += markdown_row({row.name, fmt::format("`{}`", row.flag), row.formula});
  }
  for (const DenseActivation& row : dense_activations()) {
    activations += markdown_row({fmt::format("`{}`", row.torch_name), row.formula});
  }
  for (const auto& [part, names] : tokenizer_component_names()) {
    parts += markdown_row({part, list_of(names)});
  }
  return fmt::format(fmt::runtime(kModelsPage), fmt::arg("families", families),
                     fmt::arg("activations", list_of(encoder_activation_names())),
                     fmt::arg("weight_files", list_of(weight_file_names())),
                     fmt::arg("byte_weights", weight_file_name(TensorType::kI8)),
                     fmt::arg("poolings", poolings), fmt::arg("dense_activations", activations),
                     fmt::arg("tokenizer_files", list_of(tokenizer_file_names())),
                     fmt::arg("tokenizer_parts", parts));
}

}  // namespace simile
