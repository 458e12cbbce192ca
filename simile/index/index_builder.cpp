// SPDX-License-Identifier: Apache-2.0
#include "simile/index/index_builder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <set>
#include <system_error>

#include "simile/core/check.h"
#include "simile/core/file.h"
#include "simile/data/detail/filter_node.h"
#include "simile/index/detail/index_folder.h"
#include "simile/index/detail/manifest.h"
#include "simile/index/detail/metadata_columns.h"
#include "simile/index/detail/segment_changes.h"
#include "simile/index/detail/segment_graph.h"
#include "simile/index/detail/segment_set.h"

namespace simile {

using namespace detail;

namespace {

namespace fs = std::filesystem;

constexpr const char* kBuilding = "building";  // the folder of the unfinished index

bool has_kept(const std::string& folder) {
  return file_exists(join_path(join_path(folder, kBuilding), kManifest));
}

void remove_all(const std::string& path) {
  std::error_code ignored;
  fs::remove_all(path, ignored);
}

// A folder that holds an index, or an unfinished one, is removed or cleared with all that is in it.
void check_no_other_files(const std::string& path) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(path, ignored)) {
    const std::string name = entry.path().filename().string();
    const auto is = [&](const char* own) { return starts_with(name, own); };
    SIMILE_CHECK(
        is(".") || is(kManifest) || is(kDocuments) || is(kSearch) || is(kSegments) || is(kBuilding),
        ErrorKind::kUsage,
        "'{}' is no part of the index and would be removed with it; move or remove it",
        entry.path().string());
  }
}

// Removes what an unfinished build, or an index that was replaced, left in the folder.
void clear(const std::string& folder) {
  check_no_other_files(folder);
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    remove_all(entry.path().string());
  }
}

// The part of the model that the vectors depend on.
IndexedModel identity_of(IndexedModel model) {
  model.metadata.reset();
  model.vectors_recall.reset();
  return model;
}

IndexedModel in_floats(IndexedModel model) {
  model.vectors = StoredNumber::kFp32;
  return model;
}

// The names in the metadata of documents.
class SeenColumns {
 public:
  void see(const std::vector<Document>& documents) {
    for (const Document& document : documents) {
      if (document.metadata.empty() || names_.size() > kMost) continue;
      const Json metadata = read_metadata(document.metadata);
      for (const auto& member : metadata.items()) names_.insert(member.key());
    }
  }

  // None if there are too many to be columns.
  std::optional<std::vector<std::string>> names() const {
    if (names_.size() > kMost) return std::nullopt;
    return std::vector<std::string>(names_.begin(), names_.end());
  }

 private:
  static constexpr size_t kMost = 32;
  std::set<std::string> names_;
};

// A lock on a folder, which one of several processes that want to build an index holds. Makes the
// folder at `path` with its parents, unless it is there, and locks it. When destroyed it
// unlocks the folder, and removes it if it made it and it is empty and still at `path`. Errors:
// ErrorKind::kUsage while another process holds the lock for the index at `index`; ErrorKind::kIo
// if the folder cannot be made.
class FolderClaim {
 public:
  FolderClaim(const std::string& path, const std::string& index) : path_(path) {
    while (!try_lock(index)) release();
  }
  FolderClaim(const FolderClaim&) = delete;
  FolderClaim& operator=(const FolderClaim&) = delete;
  ~FolderClaim() { release(); }

 private:
  // False when the folder was removed or replaced before it was locked.
  bool try_lock(const std::string& index) {
    const fs::path parent = fs::path(path_).parent_path();
    if (!parent.empty()) make_folders(parent.string());
    SIMILE_CHECK(!file_exists(path_), ErrorKind::kInput,
                 "'{}' is a file, but an unfinished build of '{}' is a folder there; remove it",
                 path_, index);
    is_made_ = mkdir(path_.c_str(), 0777) == 0;
    if (!is_made_) make_folders(path_);  // fine where it is there; else says why not
    lock_.emplace(path_, FileLock::On::kFolder);
    SIMILE_CHECK(
        lock_->is_held(), ErrorKind::kUsage,
        "another process is building an index in '{}'; wait for it, or choose another folder",
        index);
    return lock_->is_at(path_);
  }

  void release() {
    if (lock_ && is_made_ && lock_->is_at(path_)) rmdir(path_.c_str());
    lock_.reset();
  }

  std::string path_;
  std::optional<FileLock> lock_;
  bool is_made_ = false;
};

}  // namespace

struct IndexBuilder::Parts {
  const std::string path;
  const std::string beside;  // PATH.building
  const FolderClaim claim;
  const bool keeps;
  // `beside`, or `path` if a killed build had moved its complete index there.
  const std::string folder;
  const std::string building;  // in `folder`
  IndexedModel model;
  const SearchSettings settings;
  SeenColumns columns;
  bool is_begun = false, is_kept = false;  // `folder`, where the builder ends before commit()
  std::optional<DocumentStore> documents;
  SegmentCache floats;
  // A build that resumes has what it finds, and the keys of the next document and behind the last.
  bool is_complete = false;  // all but the graph
  Segments kept;
  int64_t next_key = 0, end_key = 0;

  Parts(const std::string& index, const IndexedModel& indexed, const SearchSettings& searches,
        UnfinishedBuild unfinished)
      : path(folder_place(index)),
        beside(path + ".building"),
        claim(beside, path),
        keeps(unfinished != UnfinishedBuild::kForget),
        folder(unfinished == UnfinishedBuild::kResume && has_kept(path) ? path : beside),
        building(join_path(folder, kBuilding)),
        model(indexed),
        settings(searches),
        floats(building, in_floats(indexed)) {}
  ~Parts() {
    documents.reset();
    if (is_begun && !is_kept) remove_all(folder);
  }

  void open(DocumentStore::Access access) {
    documents.emplace(open_documents(folder, model, access));
  }

  void begin() {
    clear(folder);
    is_begun = true;
    open(DocumentStore::Access::kCreate);
    make_folders(building);
    if (keeps) write_manifest(building, identity_of(model));
  }

  void resume() {
    SIMILE_CHECK(manifest_json(read_manifest(building)) == manifest_json(identity_of(model)),
                 ErrorKind::kInput,
                 "'{}': the build that was interrupted had another model or other options; go on "
                 "with those, or build with --overwrite instead of --resume",
                 folder);
    is_kept = true;
    open(DocumentStore::Access::kWrite);
    const StoreState state = documents->state();
    next_key = documents->key_step();
    end_key = state.next_key;
    if (file_exists(join_path(folder, kManifest))) {
      // Its state lists the final segments, unless the build was killed before it did.
      try {
        kept = SegmentCache(folder, model).open(state.segments);
        model = read_manifest(folder);
        is_complete = true;
        return;
      } catch (const Error&) {
      }
    }
    kept = floats.open(state.segments);
  }

  void check_next(bool good, const std::vector<Document>& next) const {
    SIMILE_CHECK(good, ErrorKind::kInput,
                 "document \"{}\", or one of the {} from it on, is another than when the build "
                 "began that was interrupted; build with --overwrite instead of --resume",
                 next[0].id, next.size());
  }

  // In place of the segments in floats; the manifest is there before they count.
  void write_segments() {
    documents->change({}, {}, [&](const auto& now, const auto& removed_within) {
      const Segments added = floats.open(now.before.segments);
      StoreSnapshot snapshot{now.before, {}};
      for (const SegmentRow& row : now.before.segments) {
        const std::vector<int64_t> removed = removed_within(row);
        snapshot.removed.insert(snapshot.removed.end(), removed.begin(), removed.end());
      }
      const SegmentChange segments = rewrite_segments({folder, model, 1}, added, 0, removed_within);
      measure_recall(snapshot, segments.written);
      if (!model.metadata) model.metadata = columns.names();
      write_manifest(folder, model);
      return segments;
    });
  }

  void measure_recall(const StoreSnapshot& added, const std::vector<SegmentRow>& written) {
    if (model.vectors == StoredNumber::kFp32 || model.vectors_recall || written.empty()) return;
    const SegmentSet in_fp32(model, floats.open(added.state.segments), added, nullptr, nullptr);
    const SegmentSet stored(model, SegmentCache(folder, model).open(written), {}, nullptr, nullptr);
    model.vectors_recall = measure_stored_recall(stored, in_fp32);
  }

  // Returns why there is none if it failed, except for damaged vectors.
  std::optional<std::string> add_graph(const GraphProgress& progress) {
    const StoreSnapshot now = documents->snapshot();
    remove_unused_segments(folder, now.state);
    if (!needs_graph(now.state, settings)) return std::nullopt;
    const Segments opened = SegmentCache(folder, model).open(now.state.segments);
    for (const auto& segment : opened) {
      segment->vectors();
      segment->release_vectors();
    }
    try {
      SegmentChange change;
      change.graph = make_graph(folder, model, now, opened, now.state.next_segment, *documents,
                                settings, progress);
      change.reserved = 1;
      if (change.graph) documents->change({}, {}, [&](const auto&, const auto&) { return change; });
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::kInterrupted) throw;
      remove_unused_segments(folder, documents->snapshot().state);
      return error.what();
    }
    return std::nullopt;
  }
};

IndexBuilder::IndexBuilder(const std::string& path, const IndexedModel& model, bool replaces,
                           const SearchSettings& settings, UnfinishedBuild unfinished) {
  check_replaceable(folder_place(path), kManifest);
  check_no_other_files(folder_place(path));
  parts_ = std::make_unique<Parts>(path, model, settings, unfinished);
  Parts& parts = *parts_;
  const bool resumes = unfinished == UnfinishedBuild::kResume && has_kept(parts.folder);
  SIMILE_CHECK(replaces || !is_index(path) || parts.folder == parts.path, ErrorKind::kUsage,
               "'{}' is an index already; put documents into it with `simile index add`, or "
               "replace it with --overwrite",
               path);
  SIMILE_CHECK(replaces || resumes || !has_kept(parts.folder), ErrorKind::kUsage,
               "a build of '{}' was interrupted ('{}'); go on with it by --resume, or begin anew "
               "with --overwrite",
               path, parts.folder);
  resumes ? parts.resume() : parts.begin();
}

IndexBuilder::~IndexBuilder() = default;

bool IndexBuilder::skip(const std::vector<Document>& documents) {
  Parts& parts = *parts_;
  if (documents.empty() || parts.next_key == parts.end_key) return false;
  for (const Document& document : documents) {
    for (const VectorKey& vector : vector_keys(parts.next_key, document)) {
      const FoundVector found = find_vector(parts.kept, vector.key);
      // A complete index has no documents that were replaced while it was built.
      parts.check_next(found.row >= 0 ? found.segment->vector(found.row).content == vector.content
                                      : parts.is_complete && vector.key < parts.end_key,
                       documents);
    }
    parts.next_key += parts.documents->key_step();
  }
  if (!parts.model.metadata) parts.columns.see(documents);
  return true;
}

void IndexBuilder::add(const std::vector<Document>& documents, const Matrix<float>& vectors) {
  Parts& parts = *parts_;
  check_documents(documents, vectors, parts.model);
  if (documents.empty()) return;
  parts.check_next(parts.next_key == parts.end_key && !parts.is_complete, documents);
  if (!parts.model.metadata) parts.columns.see(documents);
  SegmentChange segments;
  parts.documents->change({}, documents, [&](const auto& change, const auto& removed_within) {
    const StoreState& before = change.before;
    return segments = rewrite_segments(
               {parts.building, in_floats(parts.model), before.next_segment},
               parts.floats.open(before.segments), tail_begin(before, vectors.rows), removed_within,
               [&](auto& sink) { sink.add(documents, vectors, change.added); });
  });
  parts.is_kept = parts.keeps;
  remove_segments(parts.building, segments.dropped);
}

std::optional<std::string> IndexBuilder::commit(const GraphProgress& progress) {
  Parts& parts = *parts_;
  SIMILE_CHECK(parts.next_key == parts.end_key, ErrorKind::kInput,
               "there are fewer documents than when the build began that was interrupted; build "
               "with --overwrite instead of --resume");
  if (!parts.is_complete) parts.write_segments();
  const std::optional<std::string> no_graph = parts.add_graph(progress);
  write_search_settings(parts.folder, parts.settings);
  remove_all(parts.keeps ? segments_path(parts.building) : parts.building);
  parts.documents.reset();  // closes the file before the folder is renamed
  if (parts.folder == parts.path) {
    remove_all(parts.beside);  // the index that was replaced
  } else {
    replace_folder(parts.folder, parts.path, kManifest);
  }
  parts.is_kept = true;
  remove_all(join_path(parts.path, kBuilding));
  return no_graph;
}

}  // namespace simile
