// SPDX-License-Identifier: Apache-2.0
#include "simile/model/fingerprint.h"

#include <fmt/format.h>

#include <string_view>

#include "simile/core/file.h"
#include "simile/core/hash.h"

namespace simile {
namespace {

std::string describe_module(const ModuleSettings& m) {
  std::string_view weights;
  if (m.weights != nullptr) {
    weights = {reinterpret_cast<const char*>(m.weights->data()), m.weights->size() * sizeof(float)};
  }
  return fmt::format("{} {} {} {} {} {} {}\n", module_kind_name(m.kind), m.inputs, m.outputs,
                     m.activation, m.bias, m.residual, hash_bytes(weights));
}

// Of BERT its keys say all, and only they count.
void drop_documents(EncoderConfig& encoder) {
  if (encoder.model_type == "bert") encoder.document.clear();
  for (PartConfig& part : encoder.parts) drop_documents(part.encoder);
}

std::string describe_settings(const ModelSettings& s) {
  EncoderConfig encoder = s.encoder;
  drop_documents(encoder);
  std::string text = encoder_config_to_json(encoder);
  text += fmt::format("{} {} {} {} {} {}\n", pooling_name(s.pooling), s.normalize, s.max_length,
                      s.dimensions, s.similarity, s.default_prompt);
  for (const auto& [name, prompt] : s.prompts) {
    text += fmt::format("{} {} {} {}\n", name.size(), name, prompt.size(), prompt);
  }
  // Said only where they are: models without them keep their fingerprint.
  if (!s.pooling.include_prompt) text += "without prompt\n";
  if (s.lower_case) text += "lower case\n";
  for (const ModuleSettings& module : s.modules) text += describe_module(module);
  return text;
}

}  // namespace

std::string model_fingerprint(const ModelFolder& model) {
  std::string hashes = hash_bytes(describe_settings(model.settings));
  hashes += hash_encoder_weights(model.weights_path, model.settings.encoder);
  if (folder_exists(model.tokenizer_path)) {
    for (const auto& [name, bytes] : read_tokenizer_files(model.tokenizer_path)) {
      hashes += hash_bytes(name) + hash_bytes(bytes);
    }
  } else {
    hashes += hash_file(model.tokenizer_path);
  }
  return hash_bytes(hashes);
}

}  // namespace simile
