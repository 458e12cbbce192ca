// SPDX-License-Identifier: Apache-2.0
// A model's fingerprint: 32 hexadecimal digits that change when anything changes that a vector
// depends on (encoder config, weights, tokenizer, pooling, normalisation, length limit, prompts,
// similarity),
// and that stay when a folder is copied, renamed or gets a new README, and when its weights are
// written in other files or another type that hold the same numbers.
//
// It is computed from the numbers each time it is asked for, never trusted from a file, on all
// threads. The hash is hash.h's: it tells models apart and does
// not protect against somebody who forges a model on purpose.
#pragma once

#include <string>

#include "simile/model/model_folder.h"

namespace simile {

std::string model_fingerprint(const ModelFolder& model);

}  // namespace simile
