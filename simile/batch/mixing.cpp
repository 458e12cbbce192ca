// SPDX-License-Identifier: Apache-2.0
#include "simile/batch/mixing.h"

#include <fmt/format.h>

#include <algorithm>

#include "simile/core/error.h"
#include "simile/core/random.h"

namespace simile {
namespace {

std::vector<int32_t> mix_rounds(size_t sets, int64_t rounds) {
  std::vector<int32_t> turns;
  turns.reserve(sets * static_cast<size_t>(rounds));
  for (int64_t round = 0; round < rounds; ++round) {
    for (size_t set = 0; set < sets; ++set) turns.push_back(static_cast<int32_t>(set));
  }
  return turns;
}

std::vector<int32_t> mix_sequential(const std::vector<int64_t>& batches) {
  std::vector<int32_t> turns;
  for (size_t set = 0; set < batches.size(); ++set) {
    turns.insert(turns.end(), static_cast<size_t>(batches[set]), static_cast<int32_t>(set));
  }
  return turns;
}

}  // namespace

void MixingOptions::visit(OptionVisitor& v) {
  v.field(
      "mixing", mixing,
      choice_info("how several objectives take turns: a batch of each in turn, batches drawn in "
                  "proportion to what is left of each, or one objective after the other",
                  {"round_robin", "proportional", "sequential"}));
  v.field(
      "mixing_ends", mixing_ends,
      choice_info("round_robin: the epoch ends when the objective with the most batches has been "
                  "through, or the one with the fewest",
                  {"longest", "shortest"}));
}

std::vector<int32_t> mix_batches(const std::vector<int64_t>& batches, const MixingOptions& options,
                                 uint64_t seed, uint64_t epoch) {
  if (batches.empty()) return {};
  const auto [fewest, most] = std::minmax_element(batches.begin(), batches.end());
  SIMILE_CHECK(*fewest > 0, ErrorKind::kInput,
               fmt::format("data set {} (numbered from 0) has no batches to mix with the others",
                           fewest - batches.begin()));
  if (options.mixing == "round_robin") {
    return mix_rounds(batches.size(), options.mixing_ends == "longest" ? *most : *fewest);
  }
  std::vector<int32_t> turns = mix_sequential(batches);
  if (options.mixing == "proportional") {
    RandomStream stream(seed, "mixing", epoch);
    shuffle(turns, stream);  // draws each turn from what is left
  }
  return turns;
}

}  // namespace simile
