// SPDX-License-Identifier: Apache-2.0
// Batches of several classes, each with several examples: the order `classes`. A triplet needs
// another example of the anchor's class in the batch, and one of another class; of classes drawn at
// random a batch may hold many once and the largest a dozen times.
//
// Every example is in exactly one batch of an epoch. The examples of a class, in random order, are
// cut into groups of at most `group_size`, as few as that allows and of sizes that differ by one at
// most. A batch takes batch_size / group_size groups, one at least, each of the class that has most
// groups left, classes that are in the batch already last, ties random: so its classes differ while
// there are enough of them, and the largest class is used up along with the others. The batches
// are then shuffled. Their number depends on the sizes of the classes alone.
//
// Time: linear in the examples, with a logarithm of the number of classes.
#pragma once

#include <cstdint>
#include <vector>

#include "simile/batch/plan.h"

namespace simile {

// `classes`: of each example, from 0. Errors (kFailed): a size below 1.
int64_t count_class_batches(const std::vector<int32_t>& classes, int64_t group_size,
                            int64_t batch_size);

Batches plan_class_batches(const std::vector<int32_t>& classes, int64_t group_size,
                           int64_t batch_size, uint64_t seed, uint64_t epoch);

OrderRow classes_row();

}  // namespace simile
