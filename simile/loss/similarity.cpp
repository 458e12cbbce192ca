// SPDX-License-Identifier: Apache-2.0
#include "simile/loss/similarity.h"

#include <torch/types.h>

#include "simile/core/error.h"
#include "simile/loss/normalize.h"

namespace simile {

torch::Tensor row_cosine(const torch::Tensor& u, const torch::Tensor& v) {
  return (normalize_embeddings(u, "l2") * normalize_embeddings(v, "l2")).sum(1);
}

torch::Tensor row_euclidean(const torch::Tensor& u, const torch::Tensor& v) {
  return (u - v).norm(2, {1});
}

torch::Tensor row_distance(const torch::Tensor& u, const torch::Tensor& v,
                           const std::string& name) {
  if (name == "cosine") return 1.0 - row_cosine(u, v);
  if (name == "euclidean") return row_euclidean(u, v);
  SIMILE_CHECK(name == "manhattan", ErrorKind::kRecipe,
               "'" + name + "' is no distance; choose one of cosine, euclidean, manhattan");
  return (u - v).abs().sum(1);
}

}  // namespace simile
