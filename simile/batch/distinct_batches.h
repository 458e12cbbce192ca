// SPDX-License-Identifier: Apache-2.0
// Batches in which no text stands twice: the order `no_duplicates`. Where every other text of a
// batch is taken for a negative, an equal text would be a false one.
//
// Every example is in exactly one batch of an epoch; no batch has more than `batch_size`; no two
// examples of a batch share a text, in whatever columns (a text that an example has twice itself is
// its own affair). The number of batches is the same for every seed and epoch, and the batches are
// filled evenly: with n examples in B batches most have n / B or one more.
//
// Method. The examples are placed in order of the number of examples that hold their most frequent
// text, most first, ties random, those with the same such text one after the other; each goes to
// the next batch of a circle of B that has none of its texts. B is a function of the texts and
// batch_size alone: the placement with a fixed seed is repeated, beginning with the least that can
// do, max(ceil(n / batch_size), frequency of the most frequent text), until B batches are enough.
// That ends, as no example meets a text of its own or a full batch in more than
// Σ_texts (frequency - 1) + (n - 1) / batch_size of them. An epoch whose random placement needs
// more than B is tried again (kTries), then takes the placement of the fixed seed, in which
// examples with the same repeated texts change places at random: that breaks no rule either. Where
// texts recur rarely B is the least that can do; the bound cannot be reached for data such as all
// pairs of k left and k right texts with batches that leave no room.
//
// Memory: some 60 bytes an example and 32 per occurrence of a repeated text. Time: linear in them,
// a second or so for a million examples; only data whose texts fill nearly all batches takes
// longer.
#pragma once

#include <cstdint>

#include "simile/batch/plan.h"

namespace simile {

// B. `text_ids` [columns][examples], not negative, at least one column.
int64_t count_distinct_batches(const TextColumns& text_ids, int64_t batch_size);

// The batches of an epoch, in random order and each in random order; `count` is what
// count_distinct_batches() gave for the same texts and size.
Batches plan_distinct_batches(const TextColumns& text_ids, int64_t batch_size, int64_t count,
                              uint64_t seed, uint64_t epoch);

OrderRow no_duplicates_row();

}  // namespace simile
