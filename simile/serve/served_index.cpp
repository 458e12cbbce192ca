// SPDX-License-Identifier: Apache-2.0
#include "simile/serve/served_index.h"

#include <fmt/format.h>

#include <optional>
#include <set>
#include <utility>

#include "simile/serve/request_error.h"

namespace simile {
namespace {

void check_found(bool found, const std::string& id, const std::string& param) {
  if (found) return;
  throw RequestError(Refusal::kNotFound,
                     fmt::format("the index has no document \"{}\"{}", id,
                                 param == "ids" ? "; nothing was removed" : ""),
                     param);
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

std::vector<std::vector<SearchHit>> ServedIndex::search(const SearchQueries& queries, int64_t top_k,
                                                        const SearchSettings& settings) const {
  return index_.search(queries, top_k, settings);
}

std::vector<SearchHit> ServedIndex::search_like(const std::string& id, int64_t top_k,
                                                const SearchSettings& settings,
                                                const MetadataFilter& filter, bool exact) const {
  try {
    return index_.search_like(id, top_k, settings, filter, exact);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kInput) check_found(index_.has(id), id, "like");
    throw;
  }
}

std::shared_ptr<const DocumentMap> ServedIndex::map(ServeClock::time_point deadline) {
  return maps_.get(index_.info().generation, deadline);
}

void ServedIndex::check_changes() const {
  if (!takes_changes_) {
    throw RequestError(Refusal::kForbidden,
                       "the index takes no changes; the server was started without "
                       "--allow-changes");
  }
}

int64_t ServedIndex::add(const std::vector<Document>& documents, const Matrix<float>& vectors) {
  check_changes();
  std::set<std::string> ids;
  for (const Document& document : documents) {
    if (!ids.insert(document.id).second) {
      throw RequestError(Refusal::kInvalid, fmt::format("the id \"{}\" stands twice", document.id),
                         "documents");
    }
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
    for (const std::string& id : ids) check_found(index_.has(id), id, "ids");
    throw;
  }
}

Document ServedIndex::document(const std::string& id) const {
  std::optional<Document> found = index_.find(id);
  check_found(found.has_value(), id, "");
  return std::move(*found);
}

}  // namespace simile
