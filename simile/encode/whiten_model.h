// SPDX-License-Identifier: Apache-2.0
// A model folder written anew, its vectors whitened (whiten.h) by what a sample of texts shows.
//
// Of a static model the map goes into the table. Of others it stands as a Dense module behind the
// model's modules, before Normalize at the end, so that sentence-transformers loads the folder too.
// It is fitted to vectors as they come there: not divided by their length, and only their leading
// dimensions where the model keeps so many. Weights stay in the type they were stored in. Left out,
// because they were trained on the vectors as they were: task heads (with a warning) and
// temperatures. Errors: those of open_model_folder(), save_model_folder() and fit_whitening();
// kUsage when `output` is the model's own folder.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simile/core/event.h"
#include "simile/encode/sentence_encoder.h"
#include "simile/encode/whiten.h"

namespace simile {

struct WhiteningReport {
  int64_t texts = 0;
  int64_t inputs = 0, outputs = 0;  // numbers of a vector before and after
  double kept = 1;                  // share of the variance in the dimensions kept
  double largest_deviation = 0, smallest_deviation = 0;  // of the axes before
  // Mean cosine of two different texts of the sample: near 0 where vectors use all directions.
  double cosine_before = 0, cosine_after = 0;
};

// `encode`: how the texts are encoded; its dimensions and normalize do not matter.
WhiteningReport whiten_model(const std::string& model, const std::vector<std::string>& texts,
                             const WhiteningOptions& options, const EncodeOptions& encode,
                             const std::string& output, EventSink& events);

}  // namespace simile
