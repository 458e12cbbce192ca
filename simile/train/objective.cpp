// SPDX-License-Identifier: Apache-2.0
#include "simile/train/objective.h"

#include <algorithm>

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
      planner_(options, data.train, order_seed),
      chunk_tokens_(options.chunk_tokens) {}

bool Objective::halve_chunks(int64_t batch_tokens) {
  constexpr int64_t kLeast = 256;
  const int64_t now = chunk_tokens_ > 0 ? std::min(chunk_tokens_, batch_tokens) : batch_tokens;
  int64_t next = kLeast;
  while (next * 4 <= now) next *= 2;
  if (next * 2 > now) return false;
  chunk_tokens_ = next;
  return true;
}

}  // namespace simile
