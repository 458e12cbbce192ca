// SPDX-License-Identifier: Apache-2.0
#include "simile/serve/engine.h"

#include <fmt/format.h>

#include <optional>
#include <set>
#include <utility>

#include "simile/core/error.h"
#include "simile/serve/request_error.h"

namespace simile {
namespace {

void check_found(bool found, const std::string& id, const std::string& param) {
  SIMILE_REQUEST_CHECK(found, Refusal::kNotFound,
                       fmt::format("the index has no document \"{}\"{}", id,
                                   param == "ids" ? "; nothing was removed" : ""),
                       param);
}

ServedModel with_reranker(ServedModel model) {
  if (model.reranker == nullptr && find_joint_head(model.heads) != nullptr) {
    model.reranker =
        std::make_shared<const Reranker>(model.encoder, model.heads, model.names.front());
  }
  return model;
}

}  // namespace

ServedIndex::ServedIndex(SearchIndex index, const SearchSettings& settings, bool takes_changes)
    : index_(std::move(index)),
      settings_(settings),
      takes_changes_(takes_changes),
      maps_([this](const std::atomic<bool>& ends) { return map_documents(index_, ends); }) {
  preparing_ = std::thread([this] {
    try {
      index_.prepare_filters(ends_);
    } catch (const Error&) {  // the search that needs it tells it
    }
  });
}

ServedIndex::~ServedIndex() {
  ends_ = true;
  preparing_.join();
}

void ServedIndex::check_has(const std::string& id, const std::string& param) const {
  check_found(index_.has(id), id, param);
}

std::shared_ptr<const DocumentMap> ServedIndex::map(ServeClock::time_point deadline) {
  return maps_.get(index_.info().generation, deadline);
}

void ServedIndex::check_changes() const {
  SIMILE_REQUEST_CHECK(
      takes_changes_, Refusal::kForbidden,
      "the index takes no changes; the server was started without --allow-changes");
}

int64_t ServedIndex::add(const std::vector<Document>& documents, const Matrix<float>& vectors) {
  check_changes();
  std::set<std::string> ids;
  for (const Document& document : documents) {
    SIMILE_REQUEST_CHECK(ids.insert(document.id).second, Refusal::kInvalid,
                         fmt::format("the id \"{}\" stands twice", document.id), "documents");
  }
  const std::lock_guard<std::mutex> lock(changes_);
  return index_.add(documents, vectors);
}

int64_t ServedIndex::remove(const std::vector<std::string>& ids) {
  check_changes();
  const std::lock_guard<std::mutex> lock(changes_);
  try {
    return index_.remove(ids);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kInput) throw;
    for (const std::string& id : ids) check_has(id, "ids");
    throw;
  }
}

Document ServedIndex::document(const std::string& id) const {
  std::optional<Document> found = index_.find(id);
  check_found(found.has_value(), id, "");
  return std::move(*found);
}

Engine::Engine(ServedModel model, const ServeLimits& limits, Metrics& metrics)
    : model_(with_reranker(std::move(model))),
      limits_(limits),
      metrics_(metrics),
      // docs/results/server.md has what a second team gives on the CPU; on a device both would wait
      // for the same one.
      worker_(Embedder::encode_with(model_.encoder, limits.batch_tokens), limits, metrics,
              model_.device == "cpu" ? 2 : 1),
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
