// SPDX-License-Identifier: Apache-2.0
// The parts that answer requests: a model, its index, and the threads that compute with them.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
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

// Whether it has letters, digits, "-", "_" and "." alone, one to 100 of them, and begins with no ".".
bool is_plain_name(const std::string& name);

// The server's access to an index. Methods may be called by any number of threads: searches do not
// wait for changes, which run one by one.
class ServedIndex {
 public:
  // `settings` are those of the index. `takes_changes`: it was opened to be written, and clients
  // may change it. `folder`, where it is given, is looked at, too.
  ServedIndex(SearchIndex index, const SearchSettings& settings, bool takes_changes,
              std::string folder = "");

  // For searches, see simile/index/searcher.h.
  const SearchIndex& index() const { return index_; }
  const SearchSettings& settings() const { return settings_; }

  // Errors (RequestError): kNotFound for an id that is not there, which the member `param` gave.
  void check_has(const std::string& id, const std::string& param) const;

  // The map of its documents as they are, see document_map.h for waiting and errors.
  std::shared_ptr<const DocumentMap> map(ServeClock::time_point deadline, bool with_neighbours);

  // Changes wait for one another and for those of other processes, but not beyond the deadline:
  // then nothing is changed (kLate).
  //
  // Adds documents, replacing those with the same id. Returns how many were replaced. Errors
  // (RequestError): kForbidden where the index takes no changes; kInvalid for an id given twice.
  int64_t add(const std::vector<Document>& documents, const Matrix<float>& vectors,
              ServeClock::time_point deadline);

  // Removes documents, all or none, and returns their number; an id may occur twice. Errors
  // (RequestError): kForbidden; kNotFound for an id that is not there.
  int64_t remove(const std::vector<std::string>& ids, ServeClock::time_point deadline);

  // See SearchIndex::change_metadata(). Errors (RequestError): kForbidden; kNotFound for an id that
  // is not there; kInvalid for invalid metadata.
  int64_t change_metadata(const std::vector<SearchIndex::MetadataPatch>& patches,
                          ServeClock::time_point deadline);

  // Removes the documents that match, or with `dry_run` counts them. Errors: kForbidden
  // (RequestError); those of SearchIndex::remove_matching().
  int64_t remove_matching(const MetadataFilter& filter, bool dry_run,
                          ServeClock::time_point deadline);

  // Errors (RequestError): kNotFound.
  Document document(const std::string& id) const;

  // Errors (RequestError): kForbidden where the index takes no changes.
  void check_changes() const;

  IndexInfo info() const { return index_.info(); }

  // Copies it into a new folder `name` of `folder`, see copy_index(). Errors (RequestError):
  // kModelCannot without a folder, kInvalid for a name that is none or there already.
  IndexInfo copy(const std::string& folder, const std::string& name);

  // As they were when it was last looked at: a second ago, or after the last change.
  int64_t documents() const { return documents_; }
  int64_t generation() const { return generation_; }
  bool is_readable() const { return readable_; }
  void look();

 private:
  template <typename Change>
  int64_t change(ServeClock::time_point deadline, const Change& make);
  SearchIndex index_;
  const SearchSettings settings_;
  const bool takes_changes_;
  std::timed_mutex changes_;
  MapMaker maps_, neighbour_maps_;  // end before the index does
  const std::string folder_;
  std::atomic<int64_t> documents_{0}, generation_{0};
  std::atomic<bool> readable_{true};
  std::mutex copies_;
};

struct ServedModel {
  std::string at;                  // answers the routes under /at/NAME; empty: those without it
  std::vector<std::string> names;  // that clients may ask for; the first is told, as in /info
  std::string fingerprint;         // see model_fingerprint()
  std::string precision = "fp32";
  std::string device = "cpu";  // what computes the encoder
  std::string version;         // of the program
  std::shared_ptr<const SentenceEncoder> encoder;
  std::vector<Head> heads;
  std::shared_ptr<ServedIndex> index;  // null: no /search
  std::shared_ptr<ServedRuns> runs;    // null: no /runs
  // Scores texts for /rerank and hits for /search; null: the encoder with a head, if one can.
  std::shared_ptr<const Reranker> reranker = nullptr;
  std::vector<std::string> files = {};     // it was read from, which should stay readable
  std::string snapshots = {};              // folder for copies of the index; empty: none
  std::function<bool()> reload = nullptr;  // reads all again; false: something stayed as it was
};

// A request keeps its engine from beginning to end, even if the service gets a new one meanwhile. A
// thread reads the metadata for filters first, so that no filter waits; then it checks every second
// whether model and index can be read. Const methods may be called by any number of threads.
class Engine {
 public:
  // `metrics` must outlive the engine.
  Engine(ServedModel model, const ServeLimits& limits, Metrics& metrics);
  ~Engine();

  const ServedModel& model() const { return model_; }
  const std::string& name() const { return model_.names.front(); }
  const ServeLimits& limits() const { return limits_; }
  const Embedder& embedder() const { return embedder_; }
  // Whether the files of model and index can be read, as of a second ago.
  bool is_readable() const { return readable_; }
  // Sets the gauges of queue, index and model; waits for nobody.
  void tell(Metrics& metrics) const;

  // Accepts no more work and computes the waiting requests.
  void stop() { worker_.stop(); }

 private:
  void look();
  void watch();

  const ServedModel model_;
  const ServeLimits limits_;
  BatchingWorker worker_;  // ends before the model does
  const Embedder embedder_;
  std::atomic<bool> readable_{true}, ends_{false};
  std::mutex watching_;
  std::condition_variable end_;
  std::thread watch_;
};

// By their place, ServedModel::at.
using Engines = std::map<std::string, std::shared_ptr<Engine>>;

}  // namespace simile
