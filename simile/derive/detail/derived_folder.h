// SPDX-License-Identifier: Apache-2.0
// What a model folder that is made from another takes over from it.
#pragma once

#include <string>
#include <vector>

#include "simile/core/event.h"
#include "simile/model/model_folder.h"
#include "simile/model/model_writer.h"
#include "simile/text/tokenizer.h"

namespace simile::detail {

// The last part of a path, with or without a slash at its end.
std::string folder_name(const std::string& path);

// Whether the output is the model's own folder, or one that holds it.
bool would_replace(const ModelFolder& folder, const std::string& output);
// Errors (kUsage): it is.
void check_derived_output(const ModelFolder& folder, const std::string& output);

// The encoder's weights, all in memory, for ModelToSave::weights.
std::vector<float> read_whole_encoder(const ModelFolder& folder, EventSink& events);

// The type that the encoder's matrices are stored in, as far as folders are written in it; else
// F32.
TensorType stored_type(const TensorSource& source, const EncoderConfig& config);

TokenizerFiles read_tokenizer(const ModelFolder& folder);
// Licences and notices by name.
std::map<std::string, std::string> read_licences(const ModelFolder& folder);
// Both.
TokenizerFiles read_kept_files(const ModelFolder& folder);

// The self test of a model with these weights, in the order of encoder_layout().
SelfTest test_weights(const ModelSettings& settings, const float* weights,
                      const Tokenizer& tokenizer);

// A card that says `how` ("with the weights in F16, made by ...") the model at `output` was made
// from that of `folder`, and the original's card behind it.
std::string make_derived_card(const ModelFolder& folder, const std::string& output,
                              const std::string& how, const ModelSettings& settings,
                              TensorType type);

}  // namespace simile::detail
