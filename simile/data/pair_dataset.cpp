// SPDX-License-Identifier: Apache-2.0
#include "simile/data/pair_dataset.h"

#include <utility>

namespace simile {
namespace {

template <typename T>
void keep(const std::vector<char>& is_kept, std::vector<T>& items) {
  if (items.empty()) return;
  size_t next = 0;
  for (size_t i = 0; i < is_kept.size(); ++i) {
    if (is_kept[i] == 0) continue;
    if (next != i) items[next] = std::move(items[i]);
    ++next;
  }
  items.resize(next);
}

}  // namespace

void keep_pairs(const std::vector<char>& is_kept, PairDataset& data) {
  keep(is_kept, data.left);
  keep(is_kept, data.right);
  keep(is_kept, data.score);
  keep(is_kept, data.group);
  keep(is_kept, data.classes);
  for (auto& column : data.negatives) keep(is_kept, column);
}

}  // namespace simile
