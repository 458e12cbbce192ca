// SPDX-License-Identifier: Apache-2.0
// Documents with vectors that an export, or another program, wrote: the npy form of
// cli/index_export.h, FILE.npy with the documents of its rows in FILE.jsonl beside it, or one
// .jsonl whose objects have "id", "text" and a list of numbers under "vector" or "embedding"; the
// first two may stand in an object "payload" (qdrant-jsonl). Where "metadata" is there it is an
// object of texts, numbers, true and false; "passage" and "whole" as an export writes them.
//
// Errors (ErrorKind::kInput) name file and line: what is missing or of another kind, vectors of
// different sizes, a number that is not finite as a float, an id that stands twice, passages that
// are not those of one document in their order, and as many lines as vectors.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "simile/index/document_store.h"

namespace simile {

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
