// SPDX-License-Identifier: Apache-2.0
#include "simile/index/index_export.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "simile/core/check.h"
#include "simile/core/detail/json.h"
#include "simile/core/file.h"
#include "simile/core/hash.h"
#include "simile/index/detail/manifest.h"
#include "simile/model/embedding_store.h"
#include "simile/text/utf8.h"

namespace simile {
namespace {

using Json = nlohmann::ordered_json;

std::string quote(const std::string& text) { return detail::dump_json(text, -1); }

// The lines of a form: a file that is there when it is complete, or what the target gives for "-".
class Lines {
 public:
  explicit Lines(const std::string& path) : file_(path) {}
  explicit Lines(const ExportTarget& target) : write_(target.write) {
    if (target.output != "-") file_.emplace(target.output);
  }
  void write(const std::string& lines) {
    if (file_) {
      file_->write(lines);
    } else {
      write_(lines);
    }
  }
  void finish() {
    if (file_) file_->commit();
  }

 private:
  std::optional<AtomicFile> file_;
  std::function<void(std::string_view)> write_;
};

void check_document(bool good, const Document& document, const char* what) {
  SIMILE_CHECK(good, ErrorKind::kInput, "document {} cannot be exported: {}", quote(document.id),
               what);
}

// Whether an id ends with "#" and digits, and then no or more "#".
bool is_like_passage(const std::string& id) {
  const size_t end = id.find_last_not_of('#') + 1;
  if (end == 0) return false;
  const size_t digits = id.find_last_not_of("0123456789", end - 1) + 1;
  return digits < end && digits > 0 && id[digits - 1] == '#';
}

// One file, or two, of a form. finish() makes them count.
class Form {
 public:
  explicit Form(const IndexInfo& info)
      : D_(info.model.dimension), with_passages_(info.model.passages.splits()) {}
  virtual ~Form() = default;
  virtual void add(const Document& document, int64_t passage, const float* vector) = 0;
  virtual void finish() = 0;

 protected:
  // The id of a row in formats where each row needs its own (index_export.h).
  std::string row_id(const Document& document, int64_t passage) const {
    if (!document.passages.empty()) return fmt::format("{}#{}", document.id, passage);
    return with_passages_ && is_like_passage(document.id) ? document.id + "#" : document.id;
  }
  std::string numbers(const float* vector) const {
    return fmt::format("[{}]", fmt::join(vector, vector + D_, ","));
  }

  int64_t D_;
  bool with_passages_;
};

// {"id", "text"} and, where there are any, "title" and "metadata"; of a passage its text and its
// place, and with the first one the document's "whole" text.
Json as_object(const Document& document, int64_t passage) {
  Json object = {{"id", document.id}, {"text", document.text_of(passage)}};
  if (!document.title.empty()) object["title"] = document.title;
  if (!document.passages.empty()) {
    const Passage characters = document.characters_of(passage);
    object["passage"] = {{"number", passage},
                         {"of", document.vectors()},
                         {"begin", characters.begin},
                         {"end", characters.end}};
    if (passage == 0) object["whole"] = document.text;
  }
  if (!document.metadata.empty()) object["metadata"] = Json::parse(document.metadata);
  return object;
}

class NpyForm : public Form {
 public:
  NpyForm(const IndexInfo& info, const std::string& output)
      : Form(info),
        vectors_(output, info.vectors, D_),
        documents_(output.substr(0, output.size() - 4) + ".jsonl"),
        row_(1, D_) {
    content_.add(info.model.fingerprint);
  }

  void add(const Document& document, int64_t passage, const float* vector) override {
    const std::string line = as_object(document, passage).dump() + "\n";
    documents_.write(line);
    content_.add(line);
    std::copy_n(vector, row_.cols, row_.values.begin());
    vectors_.append(row_);
  }

  void finish() override {
    documents_.finish();
    vectors_.finish(content_.digits());
  }

 private:
  EmbeddingStoreWriter vectors_;
  Lines documents_;
  Matrix<float> row_;
  Hash128 content_;
};

class PgvectorForm : public Form {
 public:
  PgvectorForm(const IndexInfo& info, const ExportTarget& target) : Form(info), out_(target) {
    constexpr int64_t kMost = 16000;
    SIMILE_CHECK(D_ <= kMost, ErrorKind::kUsage,
                 "--to pgvector: vectors of {} numbers; it holds {}", D_, kMost);
    check_name(target.table);
    // In the order of VectorMetric; the last needs pgvector 0.7.
    constexpr const char* kOperators[] = {"<#>", "<->", "<+>"};
    out_.write(fmt::format(
        "-- Documents of an index of the model {}, for psql. The nearest first:\n"
        "--   SELECT id, text FROM \"{}\" ORDER BY embedding {} '[...]' LIMIT 10;\n"
        "\\set ON_ERROR_STOP on\n"
        "SET client_encoding = 'UTF8';\n"
        "BEGIN;\n"
        "CREATE EXTENSION IF NOT EXISTS vector;\n"
        "CREATE TABLE \"{}\" (id text PRIMARY KEY, {}text text NOT NULL, metadata jsonb, embedding "
        "vector({}) NOT NULL);\n"
        "COPY \"{}\" (id, {}text, metadata, embedding) FROM stdin;\n",
        quote(info.model.name), target.table, kOperators[static_cast<size_t>(info.model.metric)],
        target.table, with_passages_ ? "document text NOT NULL, " : "", D_, target.table,
        with_passages_ ? "document, " : ""));
  }

  void add(const Document& document, int64_t passage, const float* vector) override {
    check_document(!has_zero(document), document,
                   "it has a byte 0, which PostgreSQL's text cannot hold");
    const std::string of_document = with_passages_ ? escaped(document.id) + "\t" : "";
    const std::string metadata = document.metadata.empty() ? "\\N" : escaped(document.metadata);
    out_.write(fmt::format("{}\t{}{}\t{}\t{}\n", escaped(row_id(document, passage)), of_document,
                           escaped(std::string(document.text_of(passage))), metadata,
                           numbers(vector)));
  }

  void finish() override {
    out_.write("\\.\nCOMMIT;\n");
    out_.finish();
  }

 private:
  static void check_name(const std::string& name) {
    const bool good =
        !name.empty() && name.size() <= 63 && std::all_of(name.begin(), name.end(), [](char c) {
          return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
        });
    SIMILE_CHECK(good, ErrorKind::kUsage, "--table {}: expected up to 63 of a to z, 0 to 9 and _",
                 quote(name));
  }

  static bool has_zero(const Document& document) {
    std::string all = document.id + document.text;
    if (!document.metadata.empty()) {
      const Json metadata = Json::parse(document.metadata).flatten();  // lists, too
      for (const auto& [name, value] : metadata.items()) {
        all += name;
        if (value.is_string()) all += value.get<std::string>();
      }
    }
    return all.find('\0') != std::string::npos;
  }

  // As COPY reads it.
  static std::string escaped(const std::string& text) {
    constexpr std::string_view kSpecial = "\\\n\r\t", kWritten = "\\nrt";
    std::string out;
    for (const char c : text) {
      const size_t place = kSpecial.find(c);
      if (place != std::string_view::npos) out += '\\';
      out += place == std::string_view::npos ? c : kWritten[place];
    }
    return out;
  }

  Lines out_;
};

// Lines, and beside a file what the collection or index is made with.
class LinesForm : public Form {
 public:
  LinesForm(const IndexInfo& info, const ExportTarget& target, const Json& settings)
      : Form(info), out_(target) {
    if (target.output == "-") return;
    settings_.emplace(target.output + ".settings.json");
    settings_->write(settings.dump(1) + "\n");
  }

  void finish() override {
    if (settings_) settings_->finish();
    out_.finish();
  }

 protected:
  Lines out_;

 private:
  std::optional<Lines> settings_;
};

class QdrantForm : public LinesForm {
 public:
  QdrantForm(const IndexInfo& info, const ExportTarget& target)
      : LinesForm(info, target, settings(info.model)) {}

  void add(const Document& document, int64_t passage, const float* vector) override {
    out_.write(fmt::format("{{\"id\":\"{}\",\"vector\":{},\"payload\":{}}}\n",
                           uuid_of(row_id(document, passage)), numbers(vector),
                           as_object(document, passage).dump()));
  }

 private:
  static Json settings(const IndexedModel& model) {
    constexpr const char* kDistances[] = {"Dot", "Euclid", "Manhattan"};  // as VectorMetric
    return {
        {"vectors",
         {{"size", model.dimension}, {"distance", kDistances[static_cast<size_t>(model.metric)]}}}};
  }

  // Version 8 of RFC 9562, for hashes of one's own.
  static std::string uuid_of(const std::string& id) {
    std::string digits = hash_bytes(id);
    digits[12] = '8';
    digits[16] = "89ab"[hash64(id) % 4];
    for (const size_t at : {20, 16, 12, 8}) digits.insert(at, "-");
    return digits;
  }
};

class OpensearchForm : public LinesForm {
 public:
  OpensearchForm(const IndexInfo& info, const ExportTarget& target)
      : LinesForm(info, target, settings(info.model)) {}

  void add(const Document& document, int64_t passage, const float* vector) override {
    constexpr size_t kLongestId = 512;  // of OpenSearch, in bytes
    const std::string id = row_id(document, passage);
    check_document(!id.empty() && id.size() <= kLongestId, document,
                   "OpenSearch takes ids of 1 to 512 bytes");
    std::string of_document =
        document.metadata.empty() ? "" : fmt::format("\"metadata\":{},", document.metadata);
    if (!document.passages.empty()) {
      of_document +=
          fmt::format("\"document\":{},\"passage\":{},", Json(document.id).dump(), passage);
    }
    out_.write(fmt::format("{}\n{{\"text\":{},{}\"embedding\":{}}}\n",
                           Json{{"index", {{"_id", id}}}}.dump(),
                           Json(document.text_of(passage)).dump(), of_document, numbers(vector)));
  }

 private:
  static Json settings(const IndexedModel& model) {
    SIMILE_CHECK(model.metric != VectorMetric::kAbsoluteDistance, ErrorKind::kUsage,
                 "--to opensearch: the vectors are compared by manhattan, which its engines faiss "
                 "and lucene do not have");
    const bool product = model.metric == VectorMetric::kInnerProduct;
    const Json method = {
        {"name", "hnsw"}, {"engine", "faiss"}, {"space_type", product ? "innerproduct" : "l2"}};
    const Json fields = {
        {"text", {{"type", "text"}}},
        {"embedding",
         {{"type", "knn_vector"}, {"dimension", model.dimension}, {"method", method}}}};
    return {{"settings", {{"index", {{"knn", true}}}}}, {"mappings", {{"properties", fields}}}};
  }
};

std::unique_ptr<Form> make_form(const IndexInfo& info, const ExportTarget& target) {
  if (target.form == "npy") {
    SIMILE_CHECK(ends_with(target.output, ".npy"), ErrorKind::kUsage,
                 "--output '{}': expected a name that ends in .npy", target.output);
    return std::make_unique<NpyForm>(info, target.output);
  }
  if (target.form == "pgvector") return std::make_unique<PgvectorForm>(info, target);
  if (target.form == "opensearch") return std::make_unique<OpensearchForm>(info, target);
  return std::make_unique<QdrantForm>(info, target);
}

}  // namespace

const std::vector<std::string>& export_forms() {
  static const std::vector<std::string> forms = {"npy", "pgvector", "qdrant-jsonl", "opensearch"};
  return forms;
}

int64_t export_index(const std::string& path, const ExportTarget& target, EventSink& events) {
  const SearchIndex index = SearchIndex::open_without_model(path, SearchIndex::Access::kRead);
  const IndexInfo info = index.info();
  const std::unique_ptr<Form> form = make_form(info, target);
  int64_t count = 0;
  int64_t documents = 0;
  const auto tell = [&] { events.progress({"export", count, info.vectors, "vectors", {}}); };
  index.for_each([&](const Document& document, int64_t passage, const float* vector) {
    if (++count % 1024 == 0) tell();
    documents += passage == 0 ? 1 : 0;
    check_document(is_valid_utf8(document.id) && is_valid_utf8(document.text), document,
                   "it is not UTF-8");
    form->add(document, passage, vector);
  });
  tell();
  form->finish();
  if ((target.form == "npy" || target.form == "qdrant-jsonl") && target.output != "-") {
    detail::write_index_description(detail::description_path(target.output),
                                    {info.model, read_search_settings(path)});
  }
  return documents;
}

}  // namespace simile
