// SPDX-License-Identifier: Apache-2.0
#include "simile/checkpoint/encoder_family.h"

namespace simile {
namespace {

const std::vector<EncoderFamily>& families() {
  static const std::vector<EncoderFamily> rows = {
      {"bert", "BertModel", "bert.", 0, {}, {"pooler.", "cls.", "classifier."}},
  };
  return rows;
}

}  // namespace

const EncoderFamily* find_encoder_family(const std::string& model_type) {
  for (const EncoderFamily& family : families()) {
    if (family.model_type == model_type) return &family;
  }
  return nullptr;
}

std::vector<std::string> encoder_family_names() {
  std::vector<std::string> names;
  for (const EncoderFamily& family : families()) names.push_back(family.model_type);
  return names;
}

std::string family_tensor_name(const EncoderFamily& family, const std::string& bert_name) {
  std::string name = bert_name;
  for (const auto& [from, to] : family.renames) {
    const size_t at = name.find(from);
    if (at != std::string::npos) return name.replace(at, from.size(), to);
  }
  return name;
}

}  // namespace simile
