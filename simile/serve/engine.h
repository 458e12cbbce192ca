// SPDX-License-Identifier: Apache-2.0
// What requests are answered from: a model, its index, and the threads that compute with them.
// A request keeps its engine from beginning to end, also when the service takes up another one
// meanwhile. Const methods may be called by any number of threads.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "simile/encode/head.h"
#include "simile/encode/predictor.h"
#include "simile/encode/sentence_encoder.h"
#include "simile/serve/batching_worker.h"
#include "simile/serve/embedder.h"
#include "simile/serve/metrics.h"
#include "simile/serve/serve_options.h"
#include "simile/serve/served_index.h"
#include "simile/serve/served_runs.h"

namespace simile {

struct ServedModel {
  std::vector<std::string> names;  // that clients may ask for; the first is told, as in /info
  std::string fingerprint;         // fingerprint.h
  std::string precision = "fp32";
  std::string device = "cpu";  // what computes the encoder
  std::string version;         // of the program
  std::shared_ptr<const SentenceEncoder> encoder;
  std::vector<Head> heads;
  std::shared_ptr<ServedIndex> index;  // null: no /search
  std::shared_ptr<ServedRuns> runs;    // null: no /runs
  // What scores texts for /rerank and hits of /search; null: the encoder with its own head, if one
  // of `heads` can.
  std::shared_ptr<const Reranker> reranker = nullptr;
};

class Engine {
 public:
  // `metrics` must outlive the engine.
  Engine(ServedModel model, const ServeLimits& limits, Metrics& metrics);

  const ServedModel& model() const { return model_; }
  const std::string& name() const { return model_.names.front(); }
  const ServeLimits& limits() const { return limits_; }
  const Embedder& embedder() const { return embedder_; }
  std::string metrics_text() const;

  // Computes what waits and takes nothing more.
  void stop() { worker_.stop(); }

 private:
  const ServedModel model_;
  const ServeLimits limits_;
  const Metrics& metrics_;
  BatchingWorker worker_;  // ends before the model does
  const Embedder embedder_;
};

}  // namespace simile
