// SPDX-License-Identifier: Apache-2.0
#include "simile/train/objective.h"

#include <algorithm>

#include "simile/index/neighbours.h"

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
      order_seed_(order_seed) {}

int64_t Objective::batches_per_epoch() const {
  return (data_.train->size() + options_.batch_size - 1) / options_.batch_size;
}

ExampleOrder Objective::order_epoch(int64_t epoch, const Embed& embed) const {
  const OrderOptions& order = options_.order;
  if (order.name == "sequential") return order_sequential(data_.train->size());
  const auto number = static_cast<uint64_t>(epoch);
  if (order.name == "random") return order_random(data_.train->size(), order_seed_, number);
  const Matrix<float> embeddings =
      embed_side(order.side == "left" ? data_.train->left : data_.train->right, embed);
  std::vector<std::vector<int32_t>> text_columns = {data_.train->left};
  if (!data_.train->right.empty()) text_columns.push_back(data_.train->right);
  const int64_t count = std::min(order.neighbours, data_.train->size() - 1);
  return order_neighbours(nearest_neighbours(embeddings, count), text_columns, order, order_seed_,
                          number);
}

// Embeddings [pairs, D] of one side; every distinct text is embedded once.
Matrix<float> Objective::embed_side(const std::vector<int32_t>& side, const Embed& embed) const {
  std::vector<int32_t> distinct = side;
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  std::vector<std::vector<int32_t>> sequences;
  std::vector<int64_t> row_of_text(data_.train->texts.size());
  for (const int32_t text : distinct) {
    row_of_text[static_cast<size_t>(text)] = static_cast<int64_t>(sequences.size());
    sequences.push_back(data_.train->texts[static_cast<size_t>(text)]);
  }
  const Matrix<float> rows = embed(sequences);
  Matrix<float> embeddings(data_.train->size(), rows.cols);
  for (int64_t i = 0; i < data_.train->size(); ++i) {
    std::copy_n(rows.row(row_of_text[static_cast<size_t>(side[static_cast<size_t>(i)])]), rows.cols,
                embeddings.row(i));
  }
  return embeddings;
}

}  // namespace simile
