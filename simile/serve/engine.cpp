// SPDX-License-Identifier: Apache-2.0
#include "simile/serve/engine.h"

#include <utility>

namespace simile {

namespace {

// docs/results/server.md has what a second one gives on the CPU; on a device both would wait for
// the same one.
int teams_of(const ServedModel& model) { return model.device == "cpu" ? 2 : 1; }

ServedModel with_reranker(ServedModel model) {
  if (model.reranker == nullptr && find_joint_head(model.heads) != nullptr) {
    model.reranker =
        std::make_shared<const Reranker>(model.encoder, model.heads, model.names.front());
  }
  return model;
}

}  // namespace

Engine::Engine(ServedModel model, const ServeLimits& limits, Metrics& metrics)
    : model_(with_reranker(std::move(model))),
      limits_(limits),
      metrics_(metrics),
      worker_(Embedder::encode_with(model_.encoder, limits.batch_tokens), limits, metrics,
              teams_of(model_)),
      embedder_(model_.encoder, worker_) {}

}  // namespace simile
