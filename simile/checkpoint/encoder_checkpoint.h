// SPDX-License-Identifier: Apache-2.0
// An encoder's weights from and to a safetensors file, in the flat order of encoder_layout().
//
// Reading copies in parallel and lets go of the file's pages as it goes, so that at no time more
// than the weights and a few megabytes are resident.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "simile/checkpoint/encoder_config.h"
#include "simile/checkpoint/safetensors.h"
#include "simile/core/event.h"
#include "simile/kernel/encoder_parameters.h"

namespace simile {

// Floats aligned to a cache line (64 bytes), not initialised. Movable.
class AlignedFloats {
 public:
  AlignedFloats() = default;
  explicit AlignedFloats(int64_t size);
  float* data() { return data_.get(); }
  const float* data() const { return data_.get(); }
  int64_t size() const { return size_; }

 private:
  struct Free {
    void operator()(float* memory) const { std::free(memory); }
  };
  std::unique_ptr<float, Free> data_;
  int64_t size_ = 0;
};

// Fills flat[encoder_parameter_count(config.shape())]. Tensors that are neither expected nor known
// to be harmless are told to `events` as a warning. Errors: see weight_reader.h; a weight that is
// not finite is an error too.
void read_encoder_weights(const std::string& path, const EncoderConfig& config, float* flat,
                          EventSink& events);

// Weights for inference. An F32 word embedding stays in the memory map (pages are shared between
// processes and read on first use, so it is not checked for finite numbers); everything else is
// copied. The file must not be changed in place meanwhile: replace it by renaming.
class LoadedEncoder {
 public:
  LoadedEncoder(const std::string& path, const EncoderConfig& config, EventSink& events);
  const EncoderShape& shape() const { return shape_; }
  const EncoderWeights& weights() const { return weights_; }  // valid while this object lives

  // Gives the layers' matrices back to the system once somebody has a copy of them in another order
  // (EncoderForward). From then on they must not be read; embeddings, biases and norms stay.
  void drop_matrices();

 private:
  EncoderShape shape_;
  std::unique_ptr<SafetensorsFile> file_;
  AlignedFloats values_;
  EncoderWeights weights_;
};

// Writes the flat array under the family's names as F32, F16 or BF16.
void write_encoder_weights(const std::string& path, const EncoderConfig& config, const float* flat,
                           TensorType type = TensorType::kF32);

}  // namespace simile
