// SPDX-License-Identifier: Apache-2.0
// Pairs of tables too large for memory, in blocks, shuffled as they are read, epoch after epoch.
//
//   PairStream stream(options, {/*buffer=*/10000, /*seed=*/1});
//   while (step < steps) train_on(stream.next_block(64));
//
// The files are read in their order; each pair drawn is a random one of a buffer, which the next
// pair read fills up again. So a pair comes at the earliest `buffer` places before its own, and at
// any time after it: files sorted by topic or score want a buffer that spans several of these, or
// to be shuffled once on disk. The order is a pure function of (files, options, seed, epoch).
//
// Memory: the buffer's pairs, one block and one row. Position: an epoch and how many of its pairs
// were given out; to resume, these are read again and passed over.
#pragma once

#include <cstdint>
#include <memory>

#include "simile/core/options.h"
#include "simile/data/pair_data.h"

namespace simile {

struct PairStreamOptions {
  int64_t buffer = 10000;
  int64_t seed = 1;

  void visit(OptionVisitor& v) {
    v.field("buffer", buffer,
            {"pairs held in memory to draw from; 1 keeps the files' order", "pairs", 1, 1e9});
    v.field("seed", seed, {"seed of the order"});
  }
};

struct PairStreamPosition {
  int64_t epoch = 0;
  int64_t pairs = 0;  // given out in this epoch
};

class PairStream {
 public:
  // `data` is of the format table, with any of its columns, filter, on_error, skip and limit.
  // Errors: ErrorKind::kRecipe for another format and for options that need the whole set at once
  // (folds, exclude, keep_words); ErrorKind::kInput from the readers, and for a start after the end
  // of its epoch.
  PairStream(const PairDataOptions& data, const PairStreamOptions& options,
             PairStreamPosition start = {});
  PairStream(PairStream&&) noexcept;
  ~PairStream();

  // The next `size` pairs, at least 1; fewer where the epoch ends, and never none: the block after
  // it is the first of the next epoch. `report` is that of the epoch so far, complete with its last
  // block. Errors: as read_pairs(); ErrorKind::kInput for an epoch of another length than the one
  // before, as files must not be changed meanwhile.
  PairDataset next_block(int64_t size);

  // Where the next block begins; (epoch + 1, 0) at the end of an epoch.
  PairStreamPosition position() const;

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace simile
