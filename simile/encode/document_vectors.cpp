// SPDX-License-Identifier: Apache-2.0
#include "simile/encode/document_vectors.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <unordered_map>

#include "simile/core/detail/json.h"
#include "simile/core/error.h"
#include "simile/core/hash.h"
#include "simile/core/parallel.h"
#include "simile/data/line_reader.h"
#include "simile/model/embedding_store.h"
#include "simile/text/utf8.h"
#include "simile/text/words.h"

namespace simile {
namespace {

int64_t tokens_around(const SentenceEncoder& encoder, const std::string& prompt) {
  Tokenizer tokenizer = encoder.tokenizer();
  tokenizer.set_max_length(0);
  const std::string read = encoder.settings().lower_case ? lower_text(prompt) : prompt;
  return static_cast<int64_t>(tokenizer.encode(read).ids.size());
}

}  // namespace

PassageSplitter::PassageSplitter(const SentenceEncoder& encoder, const PassageOptions& passages,
                                 const EncodeOptions& encode)
    : tokenizer_(encoder.tokenizer()),
      passages_(passages),
      lower_case_(encoder.settings().lower_case) {
  if (!passages.splits()) return;
  check_passages(passages);
  const int64_t limit = encoder.tokenizer().max_length();
  const int64_t around = tokens_around(encoder, encoder.prompt(encode));
  SIMILE_CHECK(limit == 0 || passages.passage_tokens + around <= limit, ErrorKind::kUsage,
               fmt::format("passage_tokens: {}, but the model reads {} tokens, of which {} are "
                           "special ones and its prompt; expected at most {}",
                           passages.passage_tokens, limit, around, limit - around));
}

void PassageSplitter::split(std::vector<Document>& documents) const {
  if (!passages_.splits()) return;
  run_parallel(static_cast<int64_t>(documents.size()), 1, [&](int64_t i) {
    Document& document = documents[static_cast<size_t>(i)];
    document.passages = split_passages(document.text, tokenizer_, passages_, lower_case_);
  });
}

std::vector<std::string> texts_of_vectors(const std::vector<Document>& documents) {
  std::vector<std::string> texts;
  for (const Document& document : documents) {
    for (int64_t i = 0; i < document.vectors(); ++i) texts.emplace_back(document.text_of(i));
  }
  return texts;
}

namespace {

using detail::Json;
using detail::JsonObject;

// The names of its members are checked where they are read.
const Json& object_in(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found == json.end() || found->is_null() ? json : *found;
}

// In the order in which its members stand.
std::string metadata_of(const std::string& line) {
  const auto json = nlohmann::ordered_json::parse(line);
  const auto payload = json.find("payload");
  return (payload == json.end() || payload->is_null() ? json : *payload)["metadata"].dump();
}

std::string stem_of(const std::string& npy) { return npy.substr(0, npy.size() - 4); }

}  // namespace

struct VectorRows::Parts {
  Parts(const std::string& file, const std::string& fingerprint)
      : path(file), lines(ends_with(file, ".npy") ? stem_of(file) + ".jsonl" : file) {
    if (ends_with(file, ".npy")) matrix.emplace(file);
    content.add(fingerprint);
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorKind::kInput, fmt::format("{}: {}", lines.where(), what));
  }
  void check(bool good, const char* what) const {
    if (!good) fail(what);
  }

  bool next_line(Json& json);
  void read_vector(const Json& json, std::vector<float>& vectors);
  void check_size(int64_t size);
  void read_document(const Json& fields, Document& document);
  // One of a document's lines; returns how many there are.
  int64_t read_passage(const Json& fields, int64_t number, Document& document);

  std::string path;
  LineReader lines;
  std::string line;
  std::optional<EmbeddingStore> matrix;
  Hash128 content;
  int64_t row = 0;
  int64_t dimension = 0;
  std::vector<size_t> begins;  // of the characters of the document that is read
  std::unordered_map<std::string, int64_t> lines_of;  // of each id
};

bool VectorRows::Parts::next_line(Json& json) {
  do {
    if (!lines.next(line)) return false;
    if (matrix) content.add(line + "\n");
  } while (is_blank(line));
  json = detail::parse_json(line, lines.where());
  check(json.is_object(), "expected a JSON object");
  return true;
}

void VectorRows::Parts::check_size(int64_t size) {
  if (dimension == 0) dimension = size;
  if (size != dimension || size == 0) {
    fail(fmt::format("a vector of {} numbers; those before have {}", size, dimension));
  }
}

void VectorRows::Parts::read_vector(const Json& json, std::vector<float>& vectors) {
  if (matrix) {
    if (row >= matrix->rows()) {
      fail(fmt::format("more documents than the {} vectors of {}", matrix->rows(), path));
    }
    check_size(matrix->dimension());
    vectors.resize(vectors.size() + static_cast<size_t>(dimension));
    matrix->row(row++, vectors.data() + vectors.size() - static_cast<size_t>(dimension));
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

void VectorRows::Parts::read_document(const Json& fields, Document& document) {
  const std::string source = lines.where();
  const JsonObject object(fields, source);
  document = {};
  document.id = object.text("id");
  document.text = object.text("text");
  check(!document.id.empty(), "\"id\" is empty");
  if (object.has("metadata")) document.metadata = metadata_of(line);
  document.title = object.text_or("title", "");
  const auto [place, is_new] = lines_of.emplace(document.id, lines.line_number());
  if (!is_new) {
    fail(fmt::format("the id \"{}\" stands in line {} already", document.id, place->second));
  }
  if (!object.has("passage")) return;
  document.text = object.text("whole");
  begins = character_begins(document.text);
}

int64_t VectorRows::Parts::read_passage(const Json& fields, int64_t number, Document& document) {
  const std::string source = lines.where();
  const JsonObject object(fields, source);
  if (!object.has("passage")) {
    check(number == 0, "expected another passage of the document before");
    return 1;
  }
  const JsonObject place(object.at("passage"), source);
  const auto characters = static_cast<int64_t>(begins.size()) - 1;
  const int64_t begin = place.integer("begin", 0, characters);
  const int64_t end = place.integer("end", begin, characters);
  if (object.text("id") != document.id || place.integer("number", 0, kMostPassages) != number) {
    fail(fmt::format("expected passage {} of document \"{}\"", number, document.id));
  }
  document.passages.push_back({static_cast<int64_t>(begins[static_cast<size_t>(begin)]),
                               static_cast<int64_t>(begins[static_cast<size_t>(end)])});
  check(object.text("text") == document.text_of(number),
        "\"text\" is not what stands at \"passage\" of the \"whole\" text");
  return place.integer("of", 1, kMostPassages);
}

VectorRows::VectorRows(const std::string& path, const std::string& fingerprint)
    : parts_(std::make_unique<Parts>(path, fingerprint)) {}

VectorRows::~VectorRows() = default;

bool VectorRows::next(Document& document, std::vector<float>& vectors) {
  Parts& parts = *parts_;
  Json json;
  if (!parts.next_line(json)) {
    SIMILE_CHECK(!parts.matrix || parts.row == parts.matrix->rows(), ErrorKind::kInput,
                 fmt::format("{} has {} documents, but {} has {} vectors", parts.lines.name(),
                             parts.row, parts.path, parts.matrix->rows()));
    return false;
  }
  parts.read_document(object_in(json, "payload"), document);
  int64_t count = 1;
  for (int64_t number = 0; number < count; ++number) {
    if (number > 0) parts.check(parts.next_line(json), "passages are missing behind this line");
    const int64_t told = parts.read_passage(object_in(json, "payload"), number, document);
    if (number == 0) count = told;
    parts.read_vector(json, vectors);
  }
  return true;
}

int64_t VectorRows::dimension() const { return parts_->dimension; }

void VectorRows::check_origin() const {
  const Parts& parts = *parts_;
  if (!parts.matrix || !file_exists(parts.path + ".json")) return;
  SIMILE_CHECK(EmbeddingStore::open_current(parts.path, parts.content.digits()), ErrorKind::kInput,
               fmt::format("{0} was not written for this model and the documents of {1}, as "
                           "{0}.json says; export it anew, or remove that file if they are right",
                           parts.path, parts.lines.name()));
}

std::string description_path(const std::string& output) { return output + ".index.json"; }

}  // namespace simile
