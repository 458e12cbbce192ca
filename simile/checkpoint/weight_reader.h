// SPDX-License-Identifier: Apache-2.0
// Finds weights in a checkpoint by scope, name and expected shape.
//
// Names are looked up with and without the family's prefix ("bert.") and, for LayerNorm, under the
// legacy names gamma and beta. Errors (ErrorKind::kInput) name the tensor, the shape expected and
// the config keys it follows from, and the shape found.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "simile/checkpoint/encoder_family.h"
#include "simile/checkpoint/safetensors.h"

namespace simile {

// One side of an expected shape and the config key that sets it: {384, "hidden_size"}.
struct ExpectedSize {
  int64_t size;
  std::string key;
};

class WeightReader {
 public:
  // Both must outlive the reader and its scopes.
  WeightReader(const SafetensorsFile& file, const EncoderFamily& family);

  // A reader whose names start with "<scope>.", sharing the record of what was read.
  WeightReader scope(const std::string& name) const;

  const TensorInfo& find(const std::string& name, const std::vector<ExpectedSize>& shape) const;
  const SafetensorsFile& file() const { return file_; }

  // Tensors that nobody asked for and that are not known to be harmless (heads, pooler,
  // position_ids).
  std::vector<std::string> leftovers() const;

 private:
  const SafetensorsFile& file_;
  const EncoderFamily& family_;
  std::string scope_;
  std::shared_ptr<std::set<std::string>> used_;
};

}  // namespace simile
