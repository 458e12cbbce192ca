// SPDX-License-Identifier: Apache-2.0
// An encoder's weights from the files of tensor_source.h, in the flat order of encoder_layout().
//
// read_encoder_weights() and open_encoder() verify files that a
// checksums.json names. Reading copies large tensors in parallel and lets go of the file's pages as
// it goes, so that at no time more than the weights and a few megabytes are resident.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "simile/core/error.h"
#include "simile/core/memory.h"
#include "simile/kernel/encoder_forward.h"
#include "simile/kernel/encoder_parameters.h"
#include "simile/model/encoder_config.h"
#include "simile/model/tensor_source.h"

namespace simile {

// Fills flat[encoder_parameter_count(config.shape())]. Reports unused heads on top of the encoder
// to `events` in one line, and tensors that are neither expected nor known as a warning. Errors:
// see find_encoder_tensors(); a weight that is not finite is an error too.
void read_encoder_weights(const std::string& path, const EncoderConfig& config, float* flat,
                          EventSink& events);

// A hash of the numbers that read_encoder_weights() returns, however they are stored. Takes a few
// megabytes, of a table whose rows are products all of it. Errors: the same.
std::string hash_encoder_weights(const std::string& path, const EncoderConfig& config);

// Finds all tensors in their shapes and reads none. Errors: see find_encoder_tensors().
void check_encoder_weights(const std::string& path, const EncoderConfig& config);

// Weights for inference. A word embedding in F32 or F16 stays in the memory map (pages are shared
// between processes and read on first use, so it is not checked for finite numbers). Other vectors
// are copied. The layers' matrices are read when they are needed. The file must not be changed in
// place meanwhile: replace it by renaming.
class LoadedEncoder {
 public:
  LoadedEncoder(const std::string& path, const EncoderConfig& config, EventSink& events);
  const EncoderShape& shape() const { return shape_; }
  // All but the layers' matrices, which are null. Valid while this object lives.
  const EncoderWeights& weights() const { return weights_; }

  // Reads one layer after the other into the same memory, which the reader owns; valid while this
  // object lives. With kByte, matrices stored as I8 come in bytes and become no floats. It throws
  // the errors of read_encoder_weights().
  LayerReader layer_reader(ProductType products = ProductType::kFloat) const;

 private:
  struct LayerMemory;
  LayerMatrices read_layer(int64_t layer, ProductType products, LayerMemory& memory) const;
  std::vector<std::vector<size_t>> matrix_slots(int64_t layer) const;
  void copy_bytes(const std::vector<size_t>& slots, std::vector<int8_t>& numbers,
                  std::vector<float>& scales) const;

  EncoderShape shape_;
  std::unique_ptr<TensorSource> file_;
  std::vector<ParameterSlot> slots_;        // encoder_layout()
  std::vector<const TensorInfo*> tensors_;  // in their order
  FloatBuffer values_;
  EncoderWeights weights_;
};

// A model's encoder for inference, with what it reads from; weights stay in the type they are
// stored in where static_weights.h and LoadedEncoder say so. `products` are a transformer's. Errors: LoadedEncoder's, layer_reader()'s, EncoderForward's.
std::shared_ptr<const Encoder> open_encoder(const std::string& path, const EncoderConfig& config,
                                            EventSink& events,
                                            ProductType products = ProductType::kFloat);

}  // namespace simile
