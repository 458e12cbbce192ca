// SPDX-License-Identifier: Apache-2.0
#include "simile/train/class_names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace simile {
namespace {

const ObjectiveOptions* first_objective_of(const TrainOptions& options, const std::string& head) {
  for (const StageOptions& stage : options.stages) {
    for (const ObjectiveOptions& objective : stage.objectives) {
      if (objective.head == head && objective.data.format == "classes") return &objective;
    }
  }
  return nullptr;
}

}  // namespace

void fill_class_names(TrainOptions& options, EventSink& events) {
  for (HeadSettings& head : options.heads) {
    if (head.output != "classes" || !head.class_names.empty()) continue;
    const ObjectiveOptions* objective = first_objective_of(options, head.name);
    if (objective == nullptr) continue;
    head.class_names = read_pairs(objective->data).class_names;
    events.info(fmt::format("the head '{}' has the {} classes of {}", head.name,
                            head.class_names.size(), objective->data.file()));
  }
}

}  // namespace simile
