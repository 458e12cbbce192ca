// SPDX-License-Identifier: Apache-2.0
#include "simile/loss/similarity.h"

#include "simile/loss/normalize.h"

namespace simile {

torch::Tensor row_cosine(const torch::Tensor& u, const torch::Tensor& v) {
  return (normalize_embeddings(u, "l2") * normalize_embeddings(v, "l2")).sum(1);
}

torch::Tensor row_euclidean(const torch::Tensor& u, const torch::Tensor& v) {
  return (u - v).norm(2, {1});
}

}  // namespace simile
