// SPDX-License-Identifier: Apache-2.0
// An index and the model its vectors came from.
#pragma once

#include <memory>
#include <string>

#include "cli/model.h"
#include "simile/encode/predictor.h"
#include "simile/index/index_folder.h"
#include "simile/index/search_index.h"

namespace simile::cli {

// model_fingerprint() of a model folder or a built-in model.
std::string fingerprint_of(const std::string& model);

// What the index in folder `index` remembers of a model: the name of a built-in one, or its folder.
// Errors: ErrorKind::kInput when the model compares vectors in a way that an index cannot.
IndexedModel indexed_model(const std::string& model, const std::string& index,
                           const SentenceEncoder& encoder, const ModelOptions& options);

// Sets the name and folder of a model as an index in folder `index` remembers them.
void name_model(const std::string& model, const std::string& index, IndexedModel& indexed);

// How an index compares the vectors of a model. Errors: as indexed_model().
VectorMetric metric_of(const std::string& model);

// Errors (ErrorKind::kInput): more numbers than the model's embeddings have.
void check_size_of(const std::string& model, int64_t dimension);

// The model to use with an index: `given`, or where that is empty the one it was made with, looked
// for where it lies as seen from the index, then where it lay. Errors: ErrorKind::kInput when
// neither is there.
std::string model_of_index(const std::string& index, const IndexInfo& info,
                           const std::string& given);

inline constexpr const char* kIndexHelp = "Index folder";
inline constexpr const char* kIndexModelHelp =
    "Model folder or name of a built-in model; the one the index names by default";

// A model that re-ranks what a search found, on the device of the options. Errors (kInput): it has
// no head for that.
std::shared_ptr<const Reranker> load_reranker(const std::string& model, const ModelOptions& options,
                                              Terminal& terminal);

// Errors: ErrorKind::kInput when the index holds vectors of another model.
SearchIndex open_index(const std::string& index, const std::string& model,
                       SearchIndex::Access access = SearchIndex::Access::kRead);

// Where no number of dimensions, or no precision, was asked for, takes that of the index.
void keep_settings(const IndexInfo& index, ModelOptions& options);

}  // namespace simile::cli
