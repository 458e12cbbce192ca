// SPDX-License-Identifier: Apache-2.0
// The card of the model that a run made (simile/model/model_card.h): what it was trained on, what
// came of it, and the recipe to repeat it.
#pragma once

#include <string>
#include <vector>

#include "simile/eval/report.h"
#include "simile/model/model_settings.h"
#include "simile/model/tensor_source.h"
#include "simile/train/train_options.h"

namespace simile {

struct RunCard {
  std::string introduction;       // a paragraph
  std::vector<std::string> data;  // a line for each set
  std::vector<Report> reports;
  std::string recipe;  // as JSON
};

// `type`: how the weights are stored.
std::string make_run_card(const StartOptions& start, const RunCard& run,
                          const ModelSettings& settings, TensorType type = TensorType::kF32);

}  // namespace simile
