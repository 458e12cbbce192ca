// SPDX-License-Identifier: Apache-2.0
// How the batches of several data sets take turns in an epoch, as data: a pure function of (numbers
// of batches, options, seed, epoch) to a list of turns, which can be printed, tested and resumed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simile/core/options.h"

namespace simile {

struct MixingOptions {
  std::string mixing = "round_robin";
  std::string mixing_ends = "longest";  // of round_robin

  void visit(OptionVisitor& v);
};

// The data set of each batch of an epoch, numbered from 0; `batches` [data sets] holds how many
// batches each has.
//   round_robin   0, 1, ..., k-1, over and over in whole rounds: as many rounds as the longest data
//                 set has batches (`mixing_ends: longest`; the others begin again) or as the
//                 shortest has (`shortest`; the others go on in the next epoch)
//   proportional  every batch of every data set once; each turn is drawn at random from the batches
//                 that are left, so that all data sets run out together on average
//   sequential    every batch of every data set once, one data set after the other
// Only proportional looks at seed and epoch. Errors: ErrorKind::kInput for a data set without
// batches.
std::vector<int32_t> mix_batches(const std::vector<int64_t>& batches, const MixingOptions& options,
                                 uint64_t seed, uint64_t epoch);

}  // namespace simile
