// SPDX-License-Identifier: Apache-2.0
// What an index is given: documents cut into passages that a model reads whole, and documents with
// vectors that an export, or another program, wrote.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "simile/encode/sentence_encoder.h"
#include "simile/index/document_store.h"
#include "simile/text/passages.h"

namespace simile {

// Documents cut into passages (simile/text/passages.h) that a model reads whole.
class PassageSplitter {
 public:
  // `encode` names the prompt that will stand before texts. Errors (kUsage): passages that are
  // longer than the model reads, with the prompt and special tokens; those of check_passages().
  PassageSplitter(const SentenceEncoder& encoder, const PassageOptions& passages,
                  const EncodeOptions& encode);

  // Sets the passages of documents, in parallel.
  void split(std::vector<Document>& documents) const;

 private:
  Tokenizer tokenizer_;
  PassageOptions passages_;
  bool lower_case_;
};

// What the vectors of documents are made of, one after the other.
std::vector<std::string> texts_of_vectors(const std::vector<Document>& documents);

// Documents with vectors that an export, or another program, wrote: the npy form of
// cli/index_export.h, FILE.npy with the documents of its rows in FILE.jsonl beside it, or one
// .jsonl whose objects have "id", "text" and a list of numbers under "vector" or "embedding"; the
// first two may stand in an object "payload" (qdrant-jsonl). Where "metadata" is there it is an
// object of texts, numbers, true and false; "passage" and "whole" as an export writes them.
//
// Errors (ErrorKind::kInput) name file and line: what is missing or of another kind, vectors of
// different sizes, a number that is not finite as a float, an id that stands twice, passages that
// are not those of one document in their order, and as many lines as vectors.
class VectorRows {
 public:
  // `fingerprint`: of the model that the vectors should be of.
  VectorRows(const std::string& path, const std::string& fingerprint);
  ~VectorRows();

  // The next document, and appends its vectors to `vectors`. False at the end.
  bool next(Document& document, std::vector<float>& vectors);
  int64_t dimension() const;  // known from the first document on

  // At the end. Errors (kInput): an .npy that an export wrote, but of another model, or with other
  // documents.
  void check_origin() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

// Where an export of this name describes its index.
std::string description_path(const std::string& output);

}  // namespace simile
