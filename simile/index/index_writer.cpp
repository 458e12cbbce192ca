// SPDX-License-Identifier: Apache-2.0
#include "simile/index/index_writer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "simile/core/block_progress.h"
#include "simile/core/check.h"
#include "simile/core/detail/json.h"
#include "simile/data/line_reader.h"
#include "simile/data/reader.h"
#include "simile/index/index_folder.h"
#include "simile/model/model_folder.h"
#include "simile/text/utf8.h"

namespace simile {
namespace {

constexpr size_t kBlock = 4096;           // documents embedded and stored at a time
constexpr size_t kBlockBytes = 16 << 20;  // of their texts

void drop_empty_names(std::vector<std::string>& names) {
  names.erase(std::remove(names.begin(), names.end(), ""), names.end());
}

// The names that a table's header lacks, or that no object of a .jsonl has.
std::set<std::string> missing_columns(const std::string& corpus,
                                      const std::vector<std::string>& names,
                                      const TableOptions& table, EventSink& events) {
  std::error_code ignored;
  const bool is_pipe = std::filesystem::is_other(std::filesystem::status(corpus, ignored));
  std::set<std::string> missing(names.begin(), names.end());
  if (table_format(corpus) != TableFormat::kJsonl) {
    if (is_pipe) return {};  // its reader tells what the header lacks
    for (const std::string& name : read_table_header(corpus, table)) missing.erase(name);
    return missing;
  }
  SIMILE_CHECK(!is_pipe, ErrorKind::kInput,
               "{}: no regular file, and would have to be read twice to see whether it "
               "has the columns that the index keeps with its documents; name them "
               "with --metadata {}, or write the corpus into a file first",
               corpus, fmt::join(names, ","));
  ReadOptions options;
  options.others = {"*"};
  options.table = table;
  TableReader reader(corpus, {}, options);
  for (Row row; !missing.empty() && reader.next(row);) {
    events.progress({"index", 0, 0, "documents", {}});
    for (const NamedField& field : row.others) missing.erase(field.name);
  }
  return missing;
}

// Checks that the corpus has all columns that the index keeps: its documents would replace others
// that have such values.
void check_columns(const std::string& corpus, const CorpusColumns& columns, EventSink& events) {
  std::vector<std::string> names = columns.metadata;
  names.erase(std::remove(names.begin(), names.end(), "*"), names.end());
  if (names.empty()) return;
  const std::set<std::string> missing = missing_columns(corpus, names, columns.table, events);
  for (const std::string& name : names) {
    SIMILE_CHECK(missing.count(name) == 0, ErrorKind::kInput,
                 "{}: no column '{}', which the index keeps with its documents; name "
                 "the columns to keep with --metadata, or none with --metadata ''",
                 corpus, name);
  }
}

// Checks that no document which these replace has metadata outside the columns that are kept, as
// documents do that came over HTTP or into an index that does not say what it was built with.
void check_metadata_lives_on(const SearchIndex& index, const std::vector<Document>& documents,
                             const std::vector<std::string>& kept) {
  if (kept.size() == 1 && kept[0] == "*") return;  // beside others "*" is a name
  for (const Document& document : documents) {
    const std::optional<Document> old = index.find(document.id);
    if (!old || old->metadata.empty()) continue;
    const auto metadata = nlohmann::ordered_json::parse(old->metadata);
    for (const auto& member : metadata.items()) {
      SIMILE_CHECK(std::count(kept.begin(), kept.end(), member.key()) > 0, ErrorKind::kInput,
                   "document \"{}\" of the index has '{}' in its metadata, which the one that "
                   "replaces it would lose; name the columns to keep with --metadata COLUMNS, or "
                   "none with --metadata ''",
                   document.id, member.key());
    }
  }
}

GraphProgress graph_progress(EventSink& events) {
  return [&events](int64_t done, int64_t all) {
    events.progress({"graph", done, all, "vectors", {}});
  };
}

}  // namespace

struct IndexWriter::Parts {
  const std::string path;
  IndexModelOptions options;
  EventSink& events;
  IndexedModel model;
  std::optional<IndexBuilder> builder;  // of a new index
  std::optional<SearchIndex> index;     // of one that is there
  std::shared_ptr<const SentenceEncoder> encoder;
  std::optional<PassageSplitter> splitter;
  int64_t known = 0;  // documents that the interrupted build had

  Parts(std::string folder, IndexModelOptions model_options, EventSink& sink)
      : path(std::move(folder)), options(std::move(model_options)), events(sink) {}

  void begin(const NewIndexOptions& build) {
    check_passages(build.passages);
    split_words("", build.language);  // refuses a language that has no stemmer
    if (options.precision.empty()) options.precision = model.precision;
    LoadedModel loaded = load_model(options, events);
    encoder = std::move(loaded.encoder);
    model.fingerprint = loaded.fingerprint;
    name_model(options.model, path, model);
    const ModelSettings& settings = encoder->settings();
    if (!settings.encoder.is_static()) model.precision = options.precision;
    model.prompt_name = options.encode.prompt_name;
    model.dimension = encoder->dimension(options.encode);
    model.metric = ranking_metric(parse_similarity(settings.similarity));
    model.spread = measure_spread(*encoder, options.encode);
    model.metadata = build.metadata;
    if (model.metadata) drop_empty_names(*model.metadata);
    model.vectors = build.vectors;
    model.language = build.language;
    splitter.emplace(*encoder, build.passages, encode_options());
    model.passages = splitter->passages();
    builder.emplace(
        path, model, build.overwrite,
        build.search ? *build.search : read_model_search_settings(resolve_model(options.model)),
        build.unfinished);
  }

  // Vectors of one index are computed alike, of texts behind one prompt.
  void check_alike() {
    SIMILE_CHECK(options.precision.empty() || options.precision == model.precision,
                 ErrorKind::kUsage,
                 "--precision {}: the vectors of {} were computed in {}; leave the option "
                 "out, or build the index anew",
                 options.precision, path, model.precision);
    if (!model.prompt_name) return;
    std::string& name = options.encode.prompt_name;
    const std::string& built = *model.prompt_name;
    SIMILE_CHECK(name.empty() || name == built, ErrorKind::kUsage,
                 "--prompt {}: the documents of {} have {}; leave the option out, or "
                 "build the index anew",
                 name, path,
                 built.empty() ? "the model's prompt for documents, if any"
                               : fmt::format("the prompt '{}'", built));
    name = built;
  }

  // Reads the model of an index that is there.
  void prepare() {
    if (encoder != nullptr) return;
    encoder = load_model_of(path, model, options, events);
    splitter.emplace(*encoder, model.passages, encode_options());
  }

  EncodeOptions encode_options() const {
    return index_options(options.encode, *encoder, TextRole::kDocument);
  }

  // Adds one block. Returns how many were replaced.
  int64_t add(std::vector<Document>& documents, EventSink& progress, EncodeCounts& counts) {
    splitter->split(documents);
    if (builder && builder->skip(documents)) {
      known += static_cast<int64_t>(documents.size());
      return 0;
    }
    const Matrix<float> vectors =
        encoder->encode(texts_of_vectors(documents), encode_options(), progress, &counts);
    if (index) return index->add(documents, vectors);
    builder->add(documents, vectors);
    return 0;
  }
};

void commit_index(IndexBuilder& builder, const std::string& path, EventSink& events) {
  const std::optional<std::string> failure = builder.commit(graph_progress(events));
  if (!failure) return;
  events.warning(
      fmt::format("{}; the index is kept without it and searches are exact: `simile index merge "
                  "--index {} --approximate always` tries again",
                  *failure, path));
}

IndexWriter::IndexWriter(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
IndexWriter::IndexWriter(IndexWriter&&) noexcept = default;
IndexWriter::~IndexWriter() = default;

IndexWriter IndexWriter::create(const std::string& path, const NewIndexOptions& options,
                                EventSink& events) {
  check_not_read(path, resolve_model(options.model));
  auto parts = std::make_unique<Parts>(path, options, events);
  parts->begin(options);
  return IndexWriter(std::move(parts));
}

IndexWriter IndexWriter::open(const std::string& path, const IndexModelOptions& options,
                              EventSink& events) {
  constexpr auto kWrite = SearchIndex::Access::kWrite;
  auto parts = std::make_unique<Parts>(path, options, events);
  parts->index.emplace(
      options.model.empty()
          ? SearchIndex::open_without_model(path, kWrite)
          : SearchIndex::open(path, fingerprint_of(options.model), options.model, kWrite));
  parts->model = parts->index->model();
  parts->check_alike();
  return IndexWriter(std::move(parts));
}

IndexWriter::Added IndexWriter::add(std::vector<Document> documents) {
  Parts& parts = *parts_;
  parts.prepare();
  EncodeCounts counts;
  Added added{static_cast<int64_t>(documents.size()), 0};
  added.replaced = parts.add(documents, parts.events, counts);
  warn_of_cut_texts(counts, *parts.encoder, parts.events);
  return added;
}

IndexWriter::Added IndexWriter::add_corpus(const std::string& path, CorpusColumns columns) {
  Parts& parts = *parts_;
  if (parts.builder) check_not_read(parts.path, path);
  const bool keeps_columns = parts.index && columns.metadata.empty();
  drop_empty_names(columns.metadata);
  if (keeps_columns) {
    columns.metadata = parts.model.metadata.value_or(std::vector<std::string>());
    check_columns(path, columns, parts.events);
  }
  parts.prepare();
  CorpusReader reader(path, CorpusReader::Titles::kPrepend, columns);
  const int64_t header = is_json_lines(path) ? 0 : 1;
  BlockProgress progress(parts.events, "index", std::max<int64_t>(0, count_rows(path) - header),
                         "documents");
  EncodeCounts counts;
  Added added;
  int64_t empty = 0;
  std::string first_empty;
  bool more = true;
  try {
    while (more) {
      std::vector<Document> block;
      size_t bytes = 0;
      CorpusText text;
      while (block.size() < kBlock && bytes < kBlockBytes && (more = reader.next(text))) {
        progress.progress({"", 0, 1, "", {}});
        if (trim(text.text).empty() && empty++ == 0) first_empty = text.id;
        bytes += text.text.size();
        block.push_back({std::move(text.id),
                         std::move(text.text),
                         std::move(text.metadata),
                         {},
                         std::move(text.title)});
      }
      if (block.empty()) break;
      if (keeps_columns) check_metadata_lives_on(*parts.index, block, columns.metadata);
      const auto documents = static_cast<int64_t>(block.size());
      progress.begin_block(documents);
      const int64_t known = parts.known;
      added.replaced += parts.add(block, progress, counts);
      if (parts.known > known) progress.progress({"", 1, 1, "", {}});
      added.documents += documents;
    }
  } catch (const Error& error) {
    if (!parts.index || added.documents == 0) throw;
    throw_error(error.kind(),
                "{}; {} documents before it were added to {}: give the whole file again, which "
                "replaces them",
                error.what(), added.documents, parts.path);
  }
  if (!reader.report().warning().empty()) parts.events.warning(reader.report().warning());
  warn_of_cut_texts(counts, *parts.encoder, parts.events);
  if (empty > 0) {
    parts.events.warning(
        fmt::format("{} of {} documents have no text (the first: \"{}\") and were "
                    "indexed so; leave them out of the corpus",
                    empty, added.documents, first_empty));
  }
  return added;
}

SearchIndex& IndexWriter::index() {
  SIMILE_CHECK(parts_->index.has_value(), ErrorKind::kUsage,
               "the index '{}' is being built; only documents can be added", parts_->path);
  return *parts_->index;
}

int64_t IndexWriter::change_metadata(const std::string& path, CorpusColumns columns) {
  drop_empty_names(columns.metadata);
  if (columns.metadata.empty()) columns.metadata = {"*"};
  CorpusReader reader(path, CorpusReader::Titles::kNoTexts, columns);
  std::vector<SearchIndex::MetadataPatch> patches;
  for (CorpusText row; reader.next(row);) {
    parts_->events.progress({"index", 0, 0, "documents", {}});
    auto patch = nlohmann::ordered_json::parse(row.metadata.empty() ? "{}" : row.metadata);
    for (const std::string& name : columns.metadata) {
      if (name != "*" && !patch.contains(name)) patch[name] = nullptr;
    }
    patches.push_back({std::move(row.id), patch.dump()});
  }
  if (!reader.report().warning().empty()) parts_->events.warning(reader.report().warning());
  return index().change_metadata(patches);
}

void IndexWriter::merge(const std::optional<ApproximateOptions>& approximate) {
  SearchIndex& there = index();
  if (approximate) {
    SearchSettings settings = read_search_settings(parts_->path);
    settings.approximate = *approximate;
    write_search_settings(parts_->path, settings);
  }
  there.merge(graph_progress(parts_->events), approximate.has_value());
}

void IndexWriter::commit() {
  Parts& parts = *parts_;
  if (parts.known > 0) {
    parts.events.info(fmt::format("{} documents had been embedded before", parts.known));
  }
  commit_index(*parts.builder, parts.path, parts.events);
}

}  // namespace simile
