// SPDX-License-Identifier: Apache-2.0
// Inference by libtorch on any device, behind the interface of simile/kernel/encoder.h.
//
// One promise of that interface is weaker here: the order of a product's sums may depend on what
// else is in the batch, so that a sequence's states in another company agree to rounding (some 1e-6
// of their size in float) and not to the bit. All else holds.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <memory>

#include "simile/kernel/encoder.h"
#include "simile/kernel/encoder_parameters.h"
#include "simile/kernel/product_type.h"

namespace simile {

// Of `weights` [P] in the order of encoder_layout(), floats on the device that computes, which stay
// as they are while it lives; of a joined encoder, its parts are encoded there and pooled on the
// CPU. `products` as torch_encoder.h. Errors: kRecipe for kByte; the encoder's: kFailed when the
// device's memory does not suffice for a batch.
std::shared_ptr<const Encoder> make_device_encoder(const EncoderShape& shape,
                                                   const torch::Tensor& weights,
                                                   ProductType products = ProductType::kFloat);

}  // namespace simile
