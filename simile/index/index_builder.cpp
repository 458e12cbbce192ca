// SPDX-License-Identifier: Apache-2.0
#include "simile/index/index_builder.h"

#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "simile/core/check.h"
#include "simile/core/file.h"
#include "simile/index/detail/index_folder.h"
#include "simile/index/detail/manifest.h"
#include "simile/index/detail/metadata_columns.h"
#include "simile/index/detail/segment_changes.h"
#include "simile/index/detail/segment_graph.h"
#include "simile/index/detail/segment_set.h"

namespace simile {
namespace {

namespace fs = std::filesystem;

constexpr const char* kBuilding = "building";  // the folder of the unfinished index

std::string without_slash(const std::string& path) {
  std::string clean = fs::path(path).lexically_normal().string();
  while (clean.size() > 1 && clean.back() == '/') clean.pop_back();
  return clean;
}

bool has_kept(const std::string& folder) {
  return file_exists(join_path(join_path(folder, kBuilding), detail::kManifest));
}

void remove_all(const std::string& path) {
  std::error_code ignored;
  fs::remove_all(path, ignored);
}

// Removes what an unfinished build, or an index that was replaced, left in the folder.
void clear(const std::string& folder) {
  const auto has = [&](const char* name) { return fs::exists(join_path(folder, name)); };
  SIMILE_CHECK(
      fs::is_empty(folder) || has(detail::kDocuments) || has(detail::kSegments) || has(kBuilding),
      ErrorKind::kUsage,
      "'{}' is not of an index build that was interrupted; remove it, or choose another folder for "
      "the index",
      folder);
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    remove_all(entry.path().string());
  }
}

// What the vectors depend on.
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
      const detail::Json metadata = detail::read_metadata(document.metadata);
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

}  // namespace

struct IndexBuilder::Parts {
  const std::string path;
  const std::string beside;  // PATH.building
  const detail::FolderClaim claim;
  const bool keeps;
  // `beside`, or `path` if a killed build had moved its complete index there.
  const std::string folder;
  const std::string building;  // in `folder`
  IndexedModel model;
  const SearchSettings settings;
  SeenColumns columns;
  bool is_begun = false, is_kept = false;  // `folder`, where the builder ends before commit()
  std::optional<DocumentStore> documents;
  detail::SegmentCache floats;
  // Of a build that resumes: what it finds, and the keys of the next document and behind the last.
  bool is_complete = false;  // all but the graph
  detail::Segments kept;
  int64_t next_key = 0, end_key = 0;

  Parts(const std::string& index, const IndexedModel& indexed, const SearchSettings& searches,
        UnfinishedBuild unfinished)
      : path(without_slash(index)),
        beside(path + ".building"),
        claim(beside, path),
        keeps(unfinished != UnfinishedBuild::kForget),
        folder(unfinished == UnfinishedBuild::kResume && has_kept(path) ? path : beside),
        building(join_path(folder, kBuilding)),
        model(indexed),
        settings(searches),
        floats(building, in_floats(indexed)) {}
  ~Parts();

  void begin();
  void resume();
  void check_next(bool good, const std::vector<Document>& documents) const;
  template <typename MakeChange>
  void change(const std::vector<Document>& added, const MakeChange& make_change) {
    documents->change({}, added, make_change);
  }
  void write_segments();
  void measure_recall(const StoreSnapshot& added, const std::vector<SegmentRow>& written);
  std::optional<std::string> add_graph(const GraphProgress& progress);
};

IndexBuilder::Parts::~Parts() {
  documents.reset();
  if (is_begun && !is_kept) remove_all(folder);
}

void IndexBuilder::Parts::begin() {
  clear(folder);
  is_begun = true;
  documents.emplace(detail::documents_path(folder), DocumentStore::Access::kCreate,
                    model.passages.splits());
  make_folders(building);
  if (keeps) detail::write_manifest(building, identity_of(model));
}

void IndexBuilder::Parts::resume() {
  SIMILE_CHECK(detail::manifest_json(detail::read_manifest(building)) ==
                   detail::manifest_json(identity_of(model)),
               ErrorKind::kInput,
               "'{}': the build that was interrupted had another model or other options; go on "
               "with those, or build with --overwrite instead of --resume",
               folder);
  is_kept = true;
  documents.emplace(detail::documents_path(folder), DocumentStore::Access::kWrite,
                    model.passages.splits());
  const StoreState state = documents->state();
  next_key = documents->key_step();
  end_key = state.next_key;
  if (file_exists(join_path(folder, detail::kManifest))) {
    // Its state lists the final segments, unless the build was killed before it did.
    try {
      kept = detail::SegmentCache(folder, model).open(state.segments);
      model = detail::read_manifest(folder);
      is_complete = true;
      return;
    } catch (const Error&) {
    }
  }
  kept = floats.open(state.segments);
}

void IndexBuilder::Parts::check_next(bool good, const std::vector<Document>& documents) const {
  SIMILE_CHECK(good, ErrorKind::kInput,
               "document \"{}\", or one of the {} from it on, is another than when the build began "
               "that was interrupted; build with --overwrite instead of --resume",
               documents[0].id, documents.size());
}

// In place of the segments in floats; the manifest is there before they count.
void IndexBuilder::Parts::write_segments() {
  change({},
         [&](const DocumentStore::Change& now, const DocumentStore::RemovedWithin& removed_within) {
           const detail::Segments added = floats.open(now.before.segments);
           StoreSnapshot snapshot{now.before, {}};
           for (const SegmentRow& row : now.before.segments) {
             const std::vector<int64_t> removed = removed_within(row);
             snapshot.removed.insert(snapshot.removed.end(), removed.begin(), removed.end());
           }
           detail::SegmentSink sink(folder, model, 1);
           SegmentChange segments;
           segments.dropped = detail::rewrite_segments(added, 0, removed_within, sink);
           segments.written = sink.finish();
           measure_recall(snapshot, segments.written);
           if (!model.metadata) model.metadata = columns.names();
           detail::write_manifest(folder, model);
           return segments;
         });
}

void IndexBuilder::Parts::measure_recall(const StoreSnapshot& added,
                                         const std::vector<SegmentRow>& written) {
  if (model.vectors == StoredNumber::kFp32 || model.vectors_recall || written.empty()) return;
  const detail::SegmentSet in_fp32(floats.open(added.state.segments), added, nullptr, nullptr);
  const detail::SegmentSet stored(detail::SegmentCache(folder, model).open(written), {}, nullptr,
                                  nullptr);
  model.vectors_recall = detail::measure_stored_recall(stored, in_fp32, model);
}

// Returns why there is none if it failed, except for damaged vectors.
std::optional<std::string> IndexBuilder::Parts::add_graph(const GraphProgress& progress) {
  const StoreSnapshot now = documents->snapshot();
  detail::remove_unused_segments(folder, now.state);
  if (!detail::needs_graph(now.state, settings.approximate)) return std::nullopt;
  const detail::Segments opened = detail::SegmentCache(folder, model).open(now.state.segments);
  for (const auto& segment : opened) {
    segment->vectors();
    segment->release_vectors();
  }
  try {
    const std::optional<GraphRow> graph = detail::make_graph(
        folder, model, now, opened, now.state.next_segment, settings.approximate, progress);
    if (!graph) return std::nullopt;
    change({}, [&](const auto&, const auto&) {
      SegmentChange segments;
      segments.graph = graph;
      segments.reserved = 1;
      return segments;
    });
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kInterrupted) throw;
    detail::remove_unused_segments(folder, documents->snapshot().state);
    return error.what();
  }
  return std::nullopt;
}

IndexBuilder::IndexBuilder(const std::string& path, const IndexedModel& model, bool replaces,
                           const SearchSettings& settings, UnfinishedBuild unfinished) {
  check_replaceable(without_slash(path), detail::kManifest);
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
  if (resumes) {
    parts.resume();
  } else {
    parts.begin();
  }
}

IndexBuilder::~IndexBuilder() = default;

bool IndexBuilder::skip(const std::vector<Document>& documents) {
  Parts& parts = *parts_;
  if (documents.empty() || parts.next_key == parts.end_key) return false;
  for (const Document& document : documents) {
    for (const VectorKey& vector : vector_keys(parts.next_key, document)) {
      const detail::FoundVector found = detail::find_vector(parts.kept, vector.key);
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
  detail::check_documents(documents, vectors, parts.model);
  if (documents.empty()) return;
  parts.check_next(parts.next_key == parts.end_key && !parts.is_complete, documents);
  if (!parts.model.metadata) parts.columns.see(documents);
  SegmentChange segments;
  parts.change(documents, [&](const DocumentStore::Change& change,
                              const DocumentStore::RemovedWithin& removed_within) {
    const StoreState& before = change.before;
    detail::SegmentSink sink(parts.building, in_floats(parts.model), before.next_segment);
    segments.dropped =
        detail::rewrite_segments(parts.floats.open(before.segments),
                                 detail::tail_begin(before, vectors.rows), removed_within, sink);
    sink.add(documents, vectors, change.added);
    segments.written = sink.finish();
    return segments;
  });
  parts.is_kept = parts.keeps;
  detail::remove_segments(parts.building, segments.dropped);
}

std::optional<std::string> IndexBuilder::commit(const GraphProgress& progress) {
  Parts& parts = *parts_;
  SIMILE_CHECK(parts.next_key == parts.end_key, ErrorKind::kInput,
               "there are fewer documents than when the build began that was interrupted; build "
               "with --overwrite instead of --resume");
  if (!parts.is_complete) parts.write_segments();
  const std::optional<std::string> no_graph = parts.add_graph(progress);
  write_search_settings(parts.folder, parts.settings);
  remove_all(parts.keeps ? detail::segments_path(parts.building) : parts.building);
  parts.documents.reset();  // closes the file before the folder is renamed
  if (parts.folder == parts.path) {
    remove_all(parts.beside);  // the index that was replaced
  } else {
    replace_folder(parts.folder, parts.path, detail::kManifest);
  }
  parts.is_kept = true;
  remove_all(join_path(parts.path, kBuilding));
  return no_graph;
}

}  // namespace simile
