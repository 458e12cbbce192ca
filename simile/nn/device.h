// SPDX-License-Identifier: Apache-2.0
// Computing by libtorch on any device: inference behind the interface of simile/kernel/encoder.h,
// errors about memory, the number of threads on the CPU.
//
// One promise of that interface is weaker here: the order of a product's sums may depend on what
// else is in the batch, so that a sequence's states in another company agree to rounding (some 1e-6
// of their size in float) and not to the bit. All else holds.
#pragma once

#include <c10/util/Exception.h>
#include <torch/types.h>

#include <cstdint>
#include <memory>
#include <string>

#include "simile/kernel/encoder.h"
#include "simile/kernel/encoder_parameters.h"
#include "simile/kernel/matrix_product.h"

namespace simile {

// Of `weights` [P] in the order of encoder_layout(), floats on the device that computes, which stay
// as they are while it lives; of a joined encoder, its parts are encoded there and pooled on the
// CPU. `products` as torch_encoder.h. Errors: kRecipe for kByte; the encoder's: kFailed when the
// device's memory does not suffice for a batch.
std::shared_ptr<const Encoder> make_device_encoder(const EncoderShape& shape,
                                                   const torch::Tensor& weights,
                                                   ProductType products = ProductType::kFloat);

// Throws kFailed: the memory that was asked for, in libtorch's words, and `advice`, a setting to
// change.
[[noreturn]] void tell_device_memory(const c10::Error& error, const std::string& advice);

// Runs `work`; libtorch's errors about memory become ours, all others stay.
template <typename Work>
auto within_device_memory(const std::string& advice, const Work& work) {
  try {
    return work();
  } catch (const c10::OutOfMemoryError& error) {
    tell_device_memory(error, advice);
  }
}

// Keeps thread_count() (simile/core/parallel.h) on this thread: ATen's first parallel work on a
// thread would set another. To be called before it.
void keep_thread_count();

}  // namespace simile
