// SPDX-License-Identifier: Apache-2.0
// The golden models of tests/golden/families (tools/golden/families.py), for tests.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "simile/core/error.h"
#include "simile/kernel/encoder.h"
#include "simile/model/encoder_family.h"
#include "simile/model/encoder_reader.h"
#include "simile/model/safetensors.h"

namespace simile {

struct FamilyGolden {
  explicit FamilyGolden(const std::string& name)
      : folder(std::string(SIMILE_SOURCE_DIR) + "/tests/golden/families/" + name),
        config(read_encoder_config(folder + "/config.json")),
        expected(folder + "/expected.safetensors") {
    batch.ids = whole("ids");
    batch.offsets = whole("offsets");
    if (config.types > 1) batch.type_ids = whole("types");
  }

  static std::vector<std::string> names() {
    return {"bert",   "roberta",    "distilbert",        "mpnet", "electra",
            "albert", "modernbert", "modernbert-biases", "nomic", "nomic-plain"};
  }

  std::string weights_path() const { return folder + "/model.safetensors"; }
  std::vector<float> read_weights(EventSink& events = silent_events()) const {
    std::vector<float> flat(static_cast<size_t>(encoder_parameter_count(config.shape())));
    read_encoder_weights(weights_path(), config, flat.data(), events);
    return flat;
  }

  std::vector<float> floats(const std::string& name) const {
    const TensorInfo* tensor = expected.find(name);
    if (tensor == nullptr) throw Error(ErrorKind::kInput, folder + ": no " + name);
    std::vector<float> values(static_cast<size_t>(tensor->size));
    expected.read_floats(*tensor, 0, tensor->size, values.data());
    return values;
  }
  // The gradient expected for one tensor of encoder_layout().
  std::vector<float> gradient(const std::string& slot_name) const {
    const EncoderFamily& family = *find_encoder_family(config.model_type);
    const std::string name = family_tensor_name(family, slot_name);
    const bool bare = expected.find("gradient." + name) != nullptr;
    return floats("gradient." + (bare ? name : family.prefix + name));
  }

  std::string folder;
  EncoderConfig config;
  SafetensorsFile expected;
  PackedBatch batch;

 private:
  std::vector<int32_t> whole(const std::string& name) const {
    const TensorInfo* tensor = expected.find(name);
    std::vector<int32_t> values(static_cast<size_t>(tensor->size));
    std::memcpy(values.data(), expected.bytes(*tensor).data(), tensor->bytes);
    return values;
  }
};

}  // namespace simile
