// SPDX-License-Identifier: Apache-2.0
#include "simile/index/index_import.h"

#include <fmt/format.h>

#include <cmath>
#include <unordered_map>
#include <utility>
#include <vector>

#include "simile/core/check.h"
#include "simile/core/detail/json.h"
#include "simile/core/file.h"
#include "simile/core/hash.h"
#include "simile/data/line_reader.h"
#include "simile/index/detail/manifest.h"
#include "simile/index/index_builder.h"
#include "simile/index/index_model.h"
#include "simile/index/index_writer.h"
#include "simile/model/embedding_store.h"
#include "simile/text/utf8.h"

namespace simile {
namespace {

using detail::Json;
using detail::JsonObject;

constexpr size_t kNumbersTogether = size_t{1} << 22;  // of the vectors stored at a time

// The names of its members are checked where they are read.
const Json& object_in(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found == json.end() || found->is_null() ? json : *found;
}

// In the order of its members; empty if it has none.
std::string metadata_of(const std::string& line) {
  const auto json = nlohmann::ordered_json::parse(line);
  const auto payload = json.find("payload");
  return (payload == json.end() || payload->is_null() ? json : *payload)["metadata"].dump();
}

std::string stem_of(const std::string& npy) { return npy.substr(0, npy.size() - 4); }

// The documents of the file with their vectors, one after the other.
class VectorFile {
 public:
  // `fingerprint`: of the model that the vectors should be of.
  VectorFile(const std::string& file, const std::string& fingerprint)
      : path_(file), lines_(ends_with(file, ".npy") ? stem_of(file) + ".jsonl" : file) {
    if (ends_with(file, ".npy")) matrix_.emplace(file);
    content_.add(fingerprint);
  }

  // The next document, and appends its vectors to `vectors`. False at the end.
  bool next(Document& document, std::vector<float>& vectors) {
    Json json;
    if (!next_line(json)) {
      SIMILE_CHECK(!matrix_ || row_ == matrix_->rows(), ErrorKind::kInput,
                   "{} has {} documents, but {} has {} vectors", lines_.name(), row_, path_,
                   matrix_->rows());
      return false;
    }
    read_document(object_in(json, "payload"), document);
    int64_t count = 1;
    for (int64_t number = 0; number < count; ++number) {
      if (number > 0) check(next_line(json), "passages are missing behind this line");
      const int64_t told = read_passage(object_in(json, "payload"), number, document);
      if (number == 0) count = told;
      read_vector(json, vectors);
    }
    return true;
  }

  int64_t dimension() const { return dimension_; }  // known from the first document on
  // At the end: that an .npy which an export wrote is of this model and these documents.
  void check_origin() const {
    if (!matrix_ || !file_exists(path_ + ".json")) return;
    SIMILE_CHECK(EmbeddingStore::open_current(path_, content_.digits()), ErrorKind::kInput,
                 "{0} was not written for this model and the documents of {1}, as {0}.json says; "
                 "export it anew, or remove that file if they are right",
                 path_, lines_.name());
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw_error(ErrorKind::kInput, "{}: {}", lines_.where(), what);
  }
  void check(bool good, const char* what) const {
    if (!good) fail(what);
  }

  bool next_line(Json& json) {
    do {
      if (!lines_.next(line_)) return false;
      if (matrix_) content_.add(line_ + "\n");
    } while (is_blank(line_));
    json = detail::parse_json(line_, lines_.where());
    check(json.is_object(), "expected a JSON object");
    return true;
  }

  void read_vector(const Json& json, std::vector<float>& vectors) {
    if (matrix_) {
      if (row_ >= matrix_->rows()) {
        fail(fmt::format("more documents than the {} vectors of {}", matrix_->rows(), path_));
      }
      check_size(matrix_->dimension());
      vectors.resize(vectors.size() + static_cast<size_t>(dimension_));
      matrix_->row(row_++, vectors.data() + vectors.size() - static_cast<size_t>(dimension_));
      return;
    }
    const Json& vector = json.contains("vector") ? json["vector"] : object_in(json, "embedding");
    check(vector.is_array(), "\"vector\", or \"embedding\", is no list of numbers");
    check_size(static_cast<int64_t>(vector.size()));
    for (const Json& number : vector) {
      check(number.is_number(), "\"vector\" has something other than numbers");
      const auto value = static_cast<float>(number.get<double>());
      check(std::isfinite(value), "\"vector\" has a number that is no finite float");
      vectors.push_back(value);
    }
  }

  void check_size(int64_t size) {
    if (dimension_ == 0) dimension_ = size;
    if (size != dimension_ || size == 0) {
      fail(fmt::format("a vector of {} numbers; those before have {}", size, dimension_));
    }
  }

  void read_document(const Json& fields, Document& document) {
    const std::string source = lines_.where();
    const JsonObject object(fields, source);
    document = {};
    document.id = object.text("id");
    document.text = object.text("text");
    check(!document.id.empty(), "\"id\" is empty");
    if (object.has("metadata")) document.metadata = metadata_of(line_);
    document.title = object.text_or("title", "");
    const auto [place, is_new] = lines_of_.emplace(document.id, lines_.line_number());
    if (!is_new) {
      fail(fmt::format("the id \"{}\" stands in line {} already", document.id, place->second));
    }
    if (!object.has("passage")) return;
    document.text = object.text("whole");
    begins_ = character_begins(document.text);
  }

  // One of a document's lines; returns how many there are.
  int64_t read_passage(const Json& fields, int64_t number, Document& document) {
    const std::string source = lines_.where();
    const JsonObject object(fields, source);
    if (!object.has("passage")) {
      check(number == 0, "expected another passage of the document before");
      return 1;
    }
    const JsonObject place(object.at("passage"), source);
    const auto characters = static_cast<int64_t>(begins_.size()) - 1;
    const int64_t begin = place.integer("begin", 0, characters);
    const int64_t end = place.integer("end", begin, characters);
    if (object.text("id") != document.id || place.integer("number", 0, kMostPassages) != number) {
      fail(fmt::format("expected passage {} of document \"{}\"", number, document.id));
    }
    document.passages.push_back({static_cast<int64_t>(begins_[static_cast<size_t>(begin)]),
                                 static_cast<int64_t>(begins_[static_cast<size_t>(end)])});
    check(object.text("text") == document.text_of(number),
          "\"text\" is not what stands at \"passage\" of the \"whole\" text");
    return place.integer("of", 1, kMostPassages);
  }

  std::string path_;
  LineReader lines_;
  std::string line_;
  std::optional<EmbeddingStore> matrix_;
  Hash128 content_;
  int64_t row_ = 0;
  int64_t dimension_ = 0;
  std::vector<size_t> begins_;  // of the characters of the document that is read
  std::unordered_map<std::string, int64_t> lines_of_;  // of each id
};

// The model that a file of vectors names, as seen from the new index.
IndexedModel described_model(const std::string& file, const std::string& path,
                             const std::string& given, IndexedModel described) {
  const std::string model = !given.empty()             ? given
                            : described.folder.empty() ? described.name
                                                       : described.folder;
  const std::string fingerprint = fingerprint_of(model);
  SIMILE_CHECK(fingerprint == described.fingerprint, ErrorKind::kInput,
               "the vectors of {} are of the model '{}' (fingerprint {}), but '{}' has the "
               "fingerprint {}; name their model with --model",
               file, described.name, described.fingerprint, model, fingerprint);
  name_model(model, path, described);
  return described;
}

// The model that the caller names for vectors whose file names none.
IndexedModel named_model(const std::string& file, const std::string& path,
                         const std::string& model) {
  SIMILE_CHECK(!model.empty(), ErrorKind::kUsage,
               "{} is not there, which would name the model of these vectors; give --model",
               detail::description_path(file));
  const ModelFolder folder = open_model_folder(model, silent_events());
  IndexedModel indexed;
  indexed.fingerprint = model_fingerprint(folder);
  indexed.metric = ranking_metric(parse_similarity(folder.settings.similarity));
  indexed.prompt_name = "";
  name_model(model, path, indexed);
  return indexed;
}

// The size of the first vector, which must be the model's or the one that `options` names.
int64_t first_dimension(const std::string& file, const VectorFile& rows,
                        const ImportOptions& options) {
  SIMILE_CHECK(rows.dimension() > 0, ErrorKind::kInput, "{}: there is no document", file);
  const int64_t size = open_model_folder(options.model, silent_events()).settings.embedding_size();
  SIMILE_CHECK(options.dimensions.value_or(1) <= size, ErrorKind::kUsage,
               "--dimensions {}: the vectors of the model '{}' have {} numbers",
               *options.dimensions, options.model, size);
  const int64_t expected = options.dimensions.value_or(size);
  SIMILE_CHECK(rows.dimension() == expected, ErrorKind::kInput,
               "{}: vectors of {} numbers, expected {} of the model '{}'{}", file, rows.dimension(),
               expected, options.model,
               rows.dimension() < size ? "; if they are its first numbers, name how many with "
                                         "--dimensions"
                                       : "");
  return expected;
}

}  // namespace

int64_t import_index(const std::string& file, const std::string& path, const ImportOptions& options,
                     EventSink& events) {
  SIMILE_CHECK(ends_with(file, ".npy") || ends_with(file, ".jsonl"), ErrorKind::kUsage,
               "--from '{}': expected a name that ends in .npy or .jsonl", file);
  SIMILE_CHECK(file_exists(file), ErrorKind::kInput, "cannot read '{}': there is no such file",
               file);
  check_not_read(path, file);
  std::optional<detail::IndexDescription> description;
  if (file_exists(detail::description_path(file))) {
    description = detail::read_index_description(detail::description_path(file));
  }
  SIMILE_CHECK(!description || !options.dimensions, ErrorKind::kUsage,
               "--dimensions is for vectors of another program; {} says the size of these",
               detail::description_path(file));
  IndexedModel model = description ? described_model(file, path, options.model, description->model)
                                   : named_model(file, path, options.model);
  VectorFile rows(file, model.fingerprint);
  std::vector<Document> documents;
  std::vector<float> numbers;
  int64_t count = 0;
  const auto fill = [&] {
    documents.clear();
    numbers.clear();
    Document document;
    while (numbers.size() < kNumbersTogether && rows.next(document, numbers)) {
      events.progress(
          {"import", count + static_cast<int64_t>(documents.size()), 0, "documents", {}});
      documents.push_back(std::move(document));
    }
    return !documents.empty();
  };
  bool more = fill();
  if (!description) {
    model.dimension = first_dimension(file, rows, options);
    EncodeOptions encode;
    encode.dimensions = model.dimension;
    model.spread = measure_spread(SentenceEncoder::load(options.model, silent_events()), encode);
  }
  if (options.vectors && *options.vectors != model.vectors) {
    model.vectors_recall.reset();
    model.vectors = *options.vectors;
  }
  SearchSettings settings =
      options.search.over(description ? description->settings
                                      : read_model_search_settings(resolve_model(options.model)));
  settings.approximate = options.approximate.over(settings.approximate);
  IndexBuilder builder(path, model, options.overwrite, settings);
  for (; more; more = fill()) {
    SIMILE_CHECK(rows.dimension() == model.dimension, ErrorKind::kInput,
                 "{}: vectors of {} numbers, expected {}", file, rows.dimension(), model.dimension);
    Matrix<float> vectors(0, model.dimension);
    vectors.rows = static_cast<int64_t>(numbers.size()) / model.dimension;
    vectors.values = std::exchange(numbers, {});
    builder.add(documents, vectors);
    count += static_cast<int64_t>(documents.size());
  }
  rows.check_origin();
  commit_index(builder, path, events);
  return count;
}

}  // namespace simile
