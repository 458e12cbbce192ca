// SPDX-License-Identifier: Apache-2.0
#include "simile/index/index_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/core/hash.h"
#include "simile/index/detail/folder_claim.h"
#include "simile/index/detail/index_graph.h"
#include "simile/index/detail/manifest.h"
#include "simile/index/detail/manifest_json.h"
#include "simile/index/detail/metadata_columns.h"
#include "simile/index/detail/segment_changes.h"
#include "simile/index/detail/stored_recall.h"
#include "simile/index/detail/vector_log.h"
#include "simile/index/index_folder.h"

namespace simile {
namespace {

namespace fs = std::filesystem;

std::string without_slash(const std::string& path) {
  std::string clean = fs::path(path).lexically_normal().string();
  while (clean.size() > 1 && clean.back() == '/') clean.pop_back();
  return clean;
}

std::string kept_path(const std::string& path) { return without_slash(path) + ".building"; }

// Folders that killed builds of the index left beside it; where `replaced` also the indexes that
// they were to replace. Only who has claimed the index may ask: those of others live.
std::vector<fs::path> left_folders(const std::string& path, bool replaced) {
  const fs::path index = without_slash(path);
  const std::string begin = index.filename().string() + ".tmp-";
  std::vector<fs::path> left;
  std::error_code error;
  const fs::path parent = index.has_parent_path() ? index.parent_path() : fs::path(".");
  for (fs::directory_iterator it(parent, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (!starts_with(name, begin)) continue;
    std::string number = name.substr(begin.size());
    if (replaced && ends_with(number, "-old")) number.resize(number.size() - 4);
    const bool is_number = !number.empty() && std::all_of(number.begin(), number.end(), [](char c) {
      return c >= '0' && c <= '9';
    });
    if (is_number) left.push_back(it->path());
  }
  return left;
}

void remove_folders(const std::vector<fs::path>& folders) {
  for (const fs::path& folder : folders) {
    std::error_code ignored;
    fs::remove_all(folder, ignored);
  }
}

// A build that was killed just before its commit has its vectors in its folder.
void clear_left_folders(const std::string& path) {
  const std::string kept = kept_path(path);
  const std::vector<fs::path> folders = left_folders(path, false);
  for (const fs::path& left : folders) {
    const std::string moved = (left / detail::kBuilding).string();
    if (!file_exists(kept) && file_exists(moved)) std::rename(moved.c_str(), kept.c_str());
  }
  remove_folders(folders);
}

detail::FolderClaim claim_of(const std::string& path) {
  std::error_code ignored;
  const fs::file_status there = fs::symlink_status(path, ignored);
  if (fs::exists(there) && !fs::is_directory(path, ignored)) {
    const AtomicFolder refused(path, detail::kManifest);  // says why
  }
  return detail::FolderClaim(path);
}

// One that was left may have the same name, where numbers of processes begin anew.
AtomicFolder folder_after(const std::string& path) {
  std::error_code ignored;
  if (is_index(path) || fs::is_empty(path, ignored)) clear_left_folders(path);  // else a stranger's
  return AtomicFolder(path, detail::kManifest);
}

// What the vectors of a model depend on, and how they are cut.
std::string owner_of(const IndexedModel& model) {
  IndexedModel of_vectors = model;
  of_vectors.metadata.reset();
  return hash_bytes(detail::manifest_json(of_vectors).dump());
}

// Whether the vectors at `path` are those of the model and of all the documents.
bool is_log_of(const std::string& path, const IndexedModel& model, const NextDocuments& next) {
  std::optional<detail::VectorLog> log;
  try {
    log.emplace(path, owner_of(model), model.dimension, true);
  } catch (const Error&) {
    return false;
  }
  std::vector<Document> documents;
  while (next(documents)) {
    if (!log->pass(documents)) return false;
  }
  return log->is_taken();
}

// The names in the metadata of documents.
class SeenColumns {
 public:
  void see(const std::vector<Document>& documents) {
    for (const Document& document : documents) {
      if (document.metadata.empty() || names_.size() > kMost) continue;
      const detail::Json metadata = detail::read_metadata(document.metadata);
      for (const auto& member : metadata.items()) names_.insert(member.key());
    }
  }

  // None where they are too many to be columns.
  std::optional<std::vector<std::string>> names() const {
    if (names_.size() > kMost) return std::nullopt;
    return std::vector<std::string>(names_.begin(), names_.end());
  }

 private:
  static constexpr size_t kMost = 32;
  std::set<std::string> names_;
};

}  // namespace

struct IndexBuilder::Parts {
  const std::string path;
  detail::FolderClaim claim;
  AtomicFolder folder;
  IndexedModel model;
  SearchSettings settings;
  UnfinishedBuild unfinished;
  std::optional<DocumentStore> documents;
  std::optional<detail::SegmentSink> segments;  // listed in the store by commit()
  std::optional<detail::VectorLog> log;
  SeenColumns columns;

  template <typename Fill>
  void change(const Fill& fill) {
    documents->change({}, {},
                      [&](const DocumentStore::Change&, const DocumentStore::RemovedWithin&) {
                        SegmentChange change;
                        fill(change);
                        return change;
                      });
  }
  bool measures_recall() const {
    return model.vectors != StoredNumber::kFp32 && !model.vectors_recall;
  }
  void open_log(bool replaces);
  void measure_recall();
  std::optional<std::string> add_graph(const GraphProgress& progress);
  void move_log(const std::string& from, const std::string& to) const;
  void commit_folder();
};

void IndexBuilder::Parts::open_log(bool replaces) {
  if (unfinished != UnfinishedBuild::kForget) {
    const std::string kept = kept_path(path);
    SIMILE_CHECK(
        unfinished == UnfinishedBuild::kResume || replaces || !file_exists(kept), ErrorKind::kUsage,
        fmt::format("a build of '{}' was interrupted ('{}'); go on with it by --resume, or "
                    "begin anew with --overwrite",
                    path, kept));
    log.emplace(kept, owner_of(model), model.dimension, unfinished == UnfinishedBuild::kResume);
  } else if (measures_recall()) {
    log.emplace(join_path(folder.path(), detail::kMeasured), owner_of(model), model.dimension,
                false);
  }
}

void IndexBuilder::Parts::measure_recall() {
  const StoreSnapshot now = documents->snapshot();
  if (!measures_recall() || now.state.segments.empty()) return;
  detail::SegmentCache cache(folder.path(), model);
  const detail::SegmentSet set(cache.open(now.state.segments), now, nullptr, nullptr);
  model.vectors_recall = detail::measure_stored_recall(set, *log, model);
}

// Returns why there is none, where it failed, but for what is wrong with the vectors.
std::optional<std::string> IndexBuilder::Parts::add_graph(const GraphProgress& progress) {
  const StoreSnapshot now = documents->snapshot();
  if (!detail::needs_graph(now.state, settings.approximate)) return std::nullopt;
  detail::SegmentCache cache(folder.path(), model);
  const detail::Segments opened = cache.open(now.state.segments);
  for (const auto& segment : opened) {
    segment->vectors();
    segment->release_vectors();
  }
  try {
    const std::optional<GraphRow> graph = detail::make_graph(
        folder.path(), model, now, opened, now.state.next_segment, settings.approximate, progress);
    if (!graph) return std::nullopt;
    change([&](SegmentChange& change) {
      change.graph = graph;
      change.reserved = 1;
    });
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kInterrupted) throw;
    detail::remove_unused_segments(folder.path(), documents->snapshot().state);
    return error.what();
  }
  return std::nullopt;
}

void IndexBuilder::Parts::move_log(const std::string& from, const std::string& to) const {
  SIMILE_CHECK(std::rename(from.c_str(), to.c_str()) == 0, ErrorKind::kIo,
               fmt::format("cannot move '{}' to '{}'", from, to));
}

// The vectors that were kept go with the folder, and then: killed between, the build is known to be
// done by them.
void IndexBuilder::Parts::commit_folder() {
  if (unfinished == UnfinishedBuild::kForget) {
    if (log) std::remove(log->path().c_str());
    folder.commit();
    return;
  }
  const std::string inside = join_path(folder.path(), detail::kBuilding);
  if (file_exists(log->path())) move_log(log->path(), inside);
  std::vector<fs::path> left = left_folders(path, true);
  const auto is_own = [own = fs::path(folder.path()).filename()](const fs::path& of) {
    return of.filename() == own;
  };
  left.erase(std::remove_if(left.begin(), left.end(), is_own), left.end());
  try {
    folder.commit();
  } catch (...) {  // what the folder holds goes with it
    if (file_exists(inside)) std::rename(inside.c_str(), log->path().c_str());
    throw;
  }
  std::remove(join_path(path, detail::kBuilding).c_str());
  remove_folders(left);
}

IndexBuilder::IndexBuilder(const std::string& path, const IndexedModel& model, bool replaces,
                           const SearchSettings& settings, UnfinishedBuild unfinished)
    : parts_(new Parts{
          path, claim_of(path), folder_after(path), model, settings, unfinished, {}, {}, {}, {}}) {
  SIMILE_CHECK(replaces || !is_index(path), ErrorKind::kUsage,
               fmt::format("'{}' is an index already; put documents into it with `simile index "
                           "add`, or replace it with --overwrite",
                           path));
  parts_->open_log(replaces);
  const std::string& folder = parts_->folder.path();
  parts_->documents.emplace(detail::documents_path(folder), DocumentStore::Access::kCreate,
                            model.passages.splits());
  parts_->segments.emplace(folder, model, 1);
}

IndexBuilder::~IndexBuilder() = default;

std::optional<Matrix<float>> IndexBuilder::kept_vectors(const std::vector<Document>& documents) {
  return parts_->log ? parts_->log->peek(documents) : std::nullopt;
}

void IndexBuilder::add(const std::vector<Document>& documents, const Matrix<float>& vectors) {
  Parts& parts = *parts_;
  detail::check_documents(documents, vectors, parts.model);
  if (!parts.model.metadata) parts.columns.see(documents);
  if (parts.log) parts.log->add(documents, vectors);
  const DocumentStore::Change change = parts.documents->change(
      {}, documents, [](const DocumentStore::Change&, const DocumentStore::RemovedWithin&) {
        return SegmentChange{};
      });
  parts.segments->add(documents, vectors, change.added);
}

std::optional<std::string> IndexBuilder::commit(const GraphProgress& progress) {
  Parts& parts = *parts_;
  const std::string& folder = parts.folder.path();
  if (parts.log) parts.log->check_all_taken();
  parts.change([&](SegmentChange& change) { change.written = parts.segments->finish(); });
  parts.measure_recall();
  const std::optional<std::string> no_graph = parts.add_graph(progress);
  parts.documents.reset();  // closes the file before the folder is renamed
  if (!parts.model.metadata) parts.model.metadata = parts.columns.names();
  detail::write_manifest(folder, parts.model);
  write_search_settings(folder, parts.settings);
  parts.commit_folder();
  return no_graph;
}

bool finish_killed_build(const std::string& path, const IndexedModel& model,
                         const NextDocuments& next) {
  const std::string left = join_path(path, detail::kBuilding);
  if (!is_index(path) || !file_exists(left)) return false;
  const detail::FolderClaim claim(path);
  const bool is_it = is_log_of(left, model, next);
  if (is_it) remove_folders(left_folders(path, true));
  std::remove(left.c_str());
  return is_it;
}

}  // namespace simile
