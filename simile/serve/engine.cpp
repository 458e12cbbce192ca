// SPDX-License-Identifier: Apache-2.0
#include "simile/serve/engine.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/index/detail/manifest.h"
#include "simile/index/detail/metadata_columns.h"
#include "simile/index/detail/sqlite.h"
#include "simile/index/index_folder.h"
#include "simile/serve/request_error.h"

namespace simile {
namespace {

constexpr size_t kLongestName = 100;
constexpr int kChangeRetry = 2;  // seconds
constexpr const char* kInNames =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";

bool can_read(const std::string& path) { return access(path.c_str(), R_OK) == 0; }

void check_found(bool found, const std::string& id, const std::string& param) {
  SIMILE_REQUEST_CHECK(found, Refusal::kNotFound,
                       fmt::format("the index has no document \"{}\"{}", id,
                                   param == "ids"         ? "; nothing was removed"
                                   : param == "documents" ? "; nothing was changed"
                                                          : ""),
                       param);
}

// Refuses patches that make no metadata. Others fail by the index, whose errors the client is not
// told.
void check_patches(const SearchIndex& index,
                   const std::vector<SearchIndex::MetadataPatch>& patches) {
  std::map<std::string, std::string> made;  // by ids, which may stand twice
  for (const auto& [id, patch] : patches) {
    const std::optional<Document> found = index.find(id);
    check_found(found.has_value(), id, "documents");
    std::string& metadata = made.try_emplace(id, found->metadata).first->second;
    try {
      metadata = detail::patch_metadata(id, metadata, patch);
    } catch (const Error& error) {
      throw RequestError(Refusal::kInvalid, error.what(), "documents");
    }
  }
}

ServedModel with_reranker(ServedModel model) {
  if (model.reranker == nullptr && find_joint_head(model.heads) != nullptr) {
    model.reranker =
        std::make_shared<const Reranker>(model.encoder, model.heads, model.names.front());
  }
  return model;
}

}  // namespace

bool is_plain_name(const std::string& name) {
  return !name.empty() && name.size() <= kLongestName && name[0] != '.' &&
         name.find_first_not_of(kInNames) == name.npos;
}

ServedIndex::ServedIndex(SearchIndex index, const SearchSettings& settings, bool takes_changes,
                         std::string folder)
    : index_(std::move(index)),
      settings_(settings),
      takes_changes_(takes_changes),
      maps_([this](const std::atomic<bool>& ends) { return map_documents(index_, ends, false); }),
      neighbour_maps_(
          [this](const std::atomic<bool>& ends) { return map_documents(index_, ends); }),
      folder_(std::move(folder)) {
  look();
}

void ServedIndex::look() {
  try {
    const IndexInfo info = index_.info();
    documents_ = info.count;
    generation_ = info.generation;
    readable_ = folder_.empty() || can_read(join_path(folder_, detail::kManifest));
  } catch (const Error&) {
    readable_ = false;
  }
}

IndexInfo ServedIndex::copy(const std::string& folder, const std::string& name) {
  SIMILE_REQUEST_CHECK(
      !folder.empty() && !folder_.empty(), Refusal::kModelCannot,
      "the server has no folder for snapshots; it was started without --snapshots");
  SIMILE_REQUEST_CHECK(is_plain_name(name), Refusal::kInvalid,
                       "\"name\" must have letters, digits, - _ and . alone, 100 at most", "name");
  const std::lock_guard<std::mutex> lock(copies_);
  SIMILE_REQUEST_CHECK(!is_index(folder), Refusal::kModelCannot,
                       "the folder for the snapshots of this index is itself an index, such as a "
                       "snapshot of another one; move that away, and try again");
  const std::string path = join_path(folder, name);
  const char* const which =
      is_index(path) ? "" : ", a folder such as that of another index's snapshots";
  SIMILE_REQUEST_CHECK(
      !folder_exists(path), Refusal::kInvalid,
      fmt::format("the folder of snapshots has \"{}\" already{}; give another name", name, which),
      "name");
  make_folders(folder);
  return copy_index(folder_, path);
}

void ServedIndex::check_has(const std::string& id, const std::string& param) const {
  check_found(index_.has(id), id, param);
}

std::shared_ptr<const DocumentMap> ServedIndex::map(ServeClock::time_point deadline,
                                                    bool with_neighbours) {
  return (with_neighbours ? neighbour_maps_ : maps_).get(index_.info().generation, deadline);
}

void ServedIndex::check_changes() const {
  SIMILE_REQUEST_CHECK(
      takes_changes_, Refusal::kForbidden,
      "the index takes no changes; the server was started without --allow-changes");
}

template <typename Change>
int64_t ServedIndex::change(ServeClock::time_point deadline, const Change& make) {
  check_changes();
  const RequestError late(Refusal::kLate,
                          "another change takes too long, nothing was changed; try again later", "",
                          kChangeRetry);
  const std::unique_lock<std::timed_mutex> lock(changes_, deadline);
  if (!lock.owns_lock()) throw late;
  const auto left = deadline - ServeClock::now();
  index_.wait_at_most(std::chrono::duration_cast<std::chrono::milliseconds>(left));
  try {
    const int64_t count = make();
    look();
    return count;
  } catch (const detail::DatabaseBusy&) {
    throw late;
  }
}

int64_t ServedIndex::add(const std::vector<Document>& documents, const Matrix<float>& vectors,
                         ServeClock::time_point deadline) {
  check_changes();
  std::set<std::string> ids;
  for (const Document& document : documents) {
    SIMILE_REQUEST_CHECK(ids.insert(document.id).second, Refusal::kInvalid,
                         fmt::format("the id \"{}\" stands twice", document.id), "documents");
  }
  return change(deadline, [&] { return index_.add(documents, vectors); });
}

int64_t ServedIndex::remove(const std::vector<std::string>& ids, ServeClock::time_point deadline) {
  return change(deadline, [&] {
    try {
      return index_.remove(ids);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kInput) throw;
      for (const std::string& id : ids) check_has(id, "ids");
      throw;
    }
  });
}

int64_t ServedIndex::change_metadata(const std::vector<SearchIndex::MetadataPatch>& patches,
                                     ServeClock::time_point deadline) {
  return change(deadline, [&] {
    for (const auto& patch : patches) check_has(patch.id, "documents");
    try {
      return index_.change_metadata(patches);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::kInput) check_patches(index_, patches);
      throw;
    }
  });
}

int64_t ServedIndex::remove_matching(const MetadataFilter& filter, bool dry_run,
                                     ServeClock::time_point deadline) {
  return change(deadline, [&] { return index_.remove_matching(filter, dry_run); });
}

Document ServedIndex::document(const std::string& id) const {
  std::optional<Document> found = index_.find(id);
  check_found(found.has_value(), id, "");
  return std::move(*found);
}

Engine::Engine(ServedModel model, const ServeLimits& limits, Metrics& metrics)
    : model_(with_reranker(std::move(model))),
      limits_(limits),
      // docs/results/server.md has what a second team gives on the CPU; on a device both would wait
      // for the same one.
      worker_(Embedder::encode_with(model_.encoder, limits.batch_tokens), limits, metrics,
              model_.device == "cpu" ? 2 : 1),
      embedder_(model_.encoder, worker_, limits.request_texts) {
  look();
  watch_ = std::thread([this] { watch(); });
}

Engine::~Engine() {
  {
    const std::lock_guard<std::mutex> lock(watching_);
    ends_ = true;
  }
  end_.notify_all();
  watch_.join();
}

void Engine::look() {
  if (model_.index != nullptr) model_.index->look();
  readable_ = (model_.index == nullptr || model_.index->is_readable()) &&
              std::all_of(model_.files.begin(), model_.files.end(), can_read);
}

void Engine::watch() {
  try {
    if (model_.index != nullptr) model_.index->index().prepare_filters(ends_);
  } catch (const Error&) {  // the search that needs it tells it
  }
  std::unique_lock<std::mutex> lock(watching_);
  while (!end_.wait_for(lock, std::chrono::seconds(1), [this] { return ends_.load(); })) look();
}

void Engine::tell(Metrics& metrics) const {
  const std::string at = model_.at.empty() ? "" : fmt::format("at=\"{}\"", model_.at);
  metrics.set("te_queue_size", static_cast<double>(worker_.waiting()), at);
  metrics.tell("simile_build_info",
               fmt::format("version=\"{}\",model=\"{}\"{}{}", model_.version, model_.fingerprint,
                           at.empty() ? "" : ",", at),
               at);
  metrics.set("simile_readable", readable_ ? 1 : 0, at);
  if (model_.index == nullptr) return;
  metrics.set("te_index_documents", static_cast<double>(model_.index->documents()), at);
  metrics.set("simile_index_generation", static_cast<double>(model_.index->generation()), at);
}

}  // namespace simile
