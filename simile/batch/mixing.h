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
// batches each has, `shares` [data sets] what `shares` gives each.
//   round_robin   0, 1, ..., k-1, over and over in whole rounds: as many rounds as the longest data
//                 set has batches (`mixing_ends: longest`; the others begin again) or as the
//                 shortest has (`shortest`; the others go on in the next epoch)
//   proportional  every batch of every data set once; each turn is drawn at random from the batches
//                 that are left, so that all data sets run out together on average
//   sequential    every batch of every data set once, one data set after the other
//   shares        as many turns as all data sets have batches together, of which each data set has
//                 its share (share / sum of shares, rounded by largest remainders, the first of
//                 equal ones), in random order. A data set that has been through begins again, one
//                 that has not goes on in the next epoch
// Only proportional and shares look at seed and epoch, only shares at `shares`. Errors:
// ErrorKind::kInput for a data set without batches; ErrorKind::kRecipe for a share below 0, or
// shares of which none is above 0.
std::vector<int32_t> mix_batches(const std::vector<int64_t>& batches,
                                 const std::vector<double>& shares, const MixingOptions& options,
                                 uint64_t seed, uint64_t epoch);

}  // namespace simile
