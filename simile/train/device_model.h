// SPDX-License-Identifier: Apache-2.0
// A model folder for inference on a device that libtorch knows.
#pragma once

#include <string>

#include "simile/core/error.h"
#include "simile/encode/sentence_encoder.h"

namespace simile {

// As SentenceEncoder::load(), computed by simile/nn/trainable_encoder.h, which describes its
// precision; `device` and `precision` as the recipes' `device` and a command's --precision. Errors
// (kRecipe): a device that this build or machine does not have, products that it does not have,
// both before a file is read; those of SentenceEncoder::load().
SentenceEncoder load_on_device(const std::string& model, const std::string& device,
                               const std::string& precision, EventSink& events);

}  // namespace simile
