// SPDX-License-Identifier: Apache-2.0
// Any weighted sum of losses on the same embeddings, Σ w · L: every text is encoded once
// ("Batch-Softmax Contrastive Loss for Pairwise Sentence Scoring Tasks", 2021, section 7). It has
// no function of its own: Loss adds up its terms.
#pragma once

namespace simile {

struct LossRow;

LossRow sum_row();  // its row in loss_table.h

}  // namespace simile
