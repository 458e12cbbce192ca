// SPDX-License-Identifier: Apache-2.0
#include "simile/serve/engine.h"

#include <optional>
#include <utility>

#include "simile/core/error.h"

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
      embedder_(model_.encoder, worker_, limits.request_texts) {}

std::string Engine::metrics_text() const {
  std::optional<int64_t> documents;
  try {
    if (model_.index != nullptr) documents = model_.index->info().count;
  } catch (const Error&) {  // a damaged index; the others count on
  }
  return metrics_.text(worker_.waiting(), documents);
}

}  // namespace simile
