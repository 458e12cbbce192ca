// SPDX-License-Identifier: Apache-2.0
// What requests are answered from: a model, its index, and the threads that compute with them.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "simile/encode/head.h"
#include "simile/encode/sentence_encoder.h"
#include "simile/index/reranker.h"
#include "simile/index/search_index.h"
#include "simile/index/search_settings.h"
#include "simile/serve/batching_worker.h"
#include "simile/serve/document_map.h"
#include "simile/serve/embedder.h"
#include "simile/serve/metrics.h"
#include "simile/serve/serve_options.h"
#include "simile/serve/served_runs.h"

namespace simile {

// All that the server asks of an index. What filters go by is read on a thread of its own as soon
// as the index is there, so that the first of them need not wait for it. Methods may be called by
// any number of threads: searches do not wait for changes, which come one after the other.
class ServedIndex {
 public:
  // `settings` are those of the index. `takes_changes`: it was opened to be written, and clients
  // may change it.
  ServedIndex(SearchIndex index, const SearchSettings& settings, bool takes_changes);
  ~ServedIndex();

  // For searches, see simile/index/searcher.h.
  const SearchIndex& index() const { return index_; }
  const SearchSettings& settings() const { return settings_; }

  // Errors (RequestError): kNotFound for an id that is not there, which the member `param` gave.
  void check_has(const std::string& id, const std::string& param) const;

  // The map of its documents as they are, see document_map.h for waiting and errors.
  std::shared_ptr<const DocumentMap> map(ServeClock::time_point deadline);

  // Adds documents, replacing those with the same id. Returns how many were replaced. Errors
  // (RequestError): kForbidden where the index takes no changes; kInvalid for an id given twice.
  int64_t add(const std::vector<Document>& documents, const Matrix<float>& vectors);

  // Removes documents, all or none, and returns how many; an id may stand twice. Errors
  // (RequestError): kForbidden; kNotFound for an id that is not there.
  int64_t remove(const std::vector<std::string>& ids);

  // Errors (RequestError): kNotFound.
  Document document(const std::string& id) const;

  // Errors (RequestError): kForbidden where the index takes no changes.
  void check_changes() const;

  IndexInfo info() const { return index_.info(); }

 private:
  SearchIndex index_;
  const SearchSettings settings_;
  const bool takes_changes_;
  std::mutex changes_;
  MapMaker maps_;  // ends before the index does
  std::atomic<bool> ends_{false};
  std::thread preparing_;
};

struct ServedModel {
  std::vector<std::string> names;  // that clients may ask for; the first is told, as in /info
  std::string fingerprint;         // see model_fingerprint()
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

// A request keeps its engine from beginning to end, also when the service is given another one
// meanwhile. Const methods may be called by any number of threads.
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
