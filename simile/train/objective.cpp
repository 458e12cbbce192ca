// SPDX-License-Identifier: Apache-2.0
#include "simile/train/objective.h"

namespace simile {

Objective::Objective(const ObjectiveOptions& options, const std::string& name,
                     const ObjectiveData& data, HeadModule* head, const LossSizes& sizes,
                     uint64_t order_seed)
    : options_(options),
      name_(name),
      data_(data),
      head_(head),
      loss_(options.loss, sizes),
      parameters_(loss_.parameters()),
      planner_(options, data.train, order_seed) {}

}  // namespace simile
