// SPDX-License-Identifier: Apache-2.0
// Makes an index of documents and vectors that an export (index_export.h), or another program,
// wrote: FILE.npy with the documents of its rows in FILE.jsonl beside it, or one .jsonl whose
// objects have "id", "text" and a list of numbers under "vector" or "embedding"; the first two may
// be inside an object "payload" (qdrant-jsonl). Where "metadata" is there it is an object of texts,
// numbers, true and false; "passage" and "whole" are as an export writes them.
//
// FILE.index.json beside the file has model and search settings; without it, name a model.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "simile/core/error.h"
#include "simile/core/options.h"
#include "simile/index/search_settings.h"
#include "simile/neighbours/exact_search.h"

namespace simile {

struct ImportOptions {
  std::string model;  // of the vectors; empty: the one that FILE.index.json names
  // The vectors are the model's first so many numbers; none: all of them. Only with `model`.
  std::optional<int64_t> dimensions;
  bool overwrite = false;               // replace an index at the path
  std::optional<StoredNumber> vectors;  // none: as they were kept, or in fp32
  // Put over the settings of the index that was exported.
  GivenOptions<SearchSettings> search;
  GivenOptions<ApproximateOptions> approximate;
};

// Returns the number of documents. Errors: kUsage for a file of another name, and if no model is
// named; kInput, with file and line, for missing values or values of another type, vectors of
// different sizes, numbers that are not finite as floats, duplicate ids, passages that are not
// those of one document in their order, different numbers of lines and vectors, vectors of another
// model or of another size than its own, and documents that differ from those exported with an .npy.
int64_t import_index(const std::string& file, const std::string& path, const ImportOptions& options,
                     EventSink& events);

}  // namespace simile
