// SPDX-License-Identifier: Apache-2.0
#include "simile/batch/mixing.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "simile/core/check.h"
#include "simile/core/random.h"

namespace simile {
namespace {

// How many of `turns` each share gets: rounded down, then one more for the largest remainders.
std::vector<int64_t> divide_turns(int64_t turns, const std::vector<double>& shares) {
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  SIMILE_CHECK(*std::min_element(shares.begin(), shares.end()) >= 0 && sum > 0, ErrorKind::kRecipe,
               "mixing `shares`: expected shares of 0 or more, one of them above 0, found {}",
               fmt::join(shares, ", "));
  std::vector<int64_t> counts;
  std::vector<std::pair<double, size_t>> remainders;
  for (const double share : shares) {
    const double exact = static_cast<double>(turns) * share / sum;
    remainders.emplace_back(std::floor(exact) - exact, counts.size());
    counts.push_back(static_cast<int64_t>(std::floor(exact)));
  }
  std::sort(remainders.begin(), remainders.end());
  const int64_t given = std::accumulate(counts.begin(), counts.end(), int64_t{0});
  for (int64_t i = 0; i < turns - given; ++i) ++counts[remainders[i].second];
  return counts;
}

}  // namespace

void MixingOptions::visit(OptionVisitor& v) {
  v.field("mixing", mixing,
          choice_info("how several objectives take turns: a batch of each in turn, batches drawn "
                      "in proportion to what is left of each, one objective after the other, or "
                      "batches drawn by the objectives' shares",
                      {"round_robin", "proportional", "sequential", "shares"}));
  v.field("mixing_ends", mixing_ends,
          choice_info("round_robin: the epoch ends when the objective with the most batches has "
                      "been through, or the one with the fewest",
                      {"longest", "shortest"}));
}

std::vector<int32_t> mix_batches(const std::vector<int64_t>& batches,
                                 const std::vector<double>& shares, const MixingOptions& options,
                                 uint64_t seed, uint64_t epoch) {
  if (batches.empty()) return {};
  const auto [fewest, most] = std::minmax_element(batches.begin(), batches.end());
  SIMILE_CHECK(*fewest > 0, ErrorKind::kInput,
               "data set {} (numbered from 0) has no batches to mix with the others",
               fewest - batches.begin());
  std::vector<int32_t> turns;
  if (options.mixing == "round_robin") {
    const int64_t rounds = options.mixing_ends == "longest" ? *most : *fewest;
    for (int64_t round = 0; round < rounds; ++round) {
      for (size_t set = 0; set < batches.size(); ++set) turns.push_back(static_cast<int32_t>(set));
    }
    return turns;
  }
  const bool by_shares = options.mixing == "shares";
  const int64_t all = std::accumulate(batches.begin(), batches.end(), int64_t{0});
  const std::vector<int64_t> counts = by_shares ? divide_turns(all, shares) : batches;
  for (size_t set = 0; set < counts.size(); ++set) {
    turns.insert(turns.end(), static_cast<size_t>(counts[set]), static_cast<int32_t>(set));
  }
  if (by_shares || options.mixing == "proportional") {
    RandomStream stream(seed, "mixing", epoch);
    shuffle(turns, stream);  // draws each turn from what is left
  }
  return turns;
}

}  // namespace simile
