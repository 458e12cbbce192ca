// SPDX-License-Identifier: Apache-2.0
// Finds weights in a checkpoint by scope, name and expected shape.
//
// Names are looked up with and without a prefix (the family's, "bert.", or one that wrappers of
// encoders put there, "model.") and, for LayerNorm, under the legacy names gamma and beta. Errors
// (ErrorKind::kInput) name the tensor, the shape expected and the config keys it follows from, and
// the shape found.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "simile/model/encoder_family.h"
#include "simile/model/tensor_source.h"

namespace simile {

// One side of an expected shape and the config key that sets it: {384, "hidden_size"}.
struct ExpectedSize {
  int64_t size;
  std::string key;
};

class WeightReader {
 public:
  // Both must outlive the reader and its scopes.
  WeightReader(const TensorSource& file, const EncoderFamily& family);

  // A reader whose names start with "<scope>.", sharing the record of what was read.
  WeightReader scope(const std::string& name) const;

  const TensorInfo& find(const std::string& name, const std::vector<ExpectedSize>& shape) const;
  const TensorSource& file() const { return file_; }

  // Tensors that nobody asked for: heads (see is_head_tensor()), and what is none that the family's
  // code is known to leave in checkpoints (position_ids).
  std::vector<std::string> heads() const { return unused_names(true); }
  std::vector<std::string> leftovers() const { return unused_names(false); }

  // All tensors that nobody asked for.
  std::vector<const TensorInfo*> unused() const;

 private:
  std::vector<std::string> unused_names(bool heads) const;
  std::vector<std::string> prefixes() const;

  const TensorSource& file_;
  const EncoderFamily& family_;
  std::string scope_;
  std::shared_ptr<std::set<std::string>> used_;
};

}  // namespace simile
