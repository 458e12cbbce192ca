// SPDX-License-Identifier: Apache-2.0
// The model whose vectors an index holds: how the index names it, how it is found and loaded, and
// how it turns texts into vectors like those of the index.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "simile/encode/sentence_encoder.h"
#include "simile/index/document_store.h"
#include "simile/index/indexed_model.h"
#include "simile/text/passages.h"

namespace simile {

// Loads a model from its folder or by its name; `precision` as kernel/matrix_product.h has it.
using LoadEncoder = std::function<SentenceEncoder(const std::string& model,
                                                  const std::string& precision, EventSink& events)>;

// The model that an index is used with, and its settings. Empty or 0: as the index says.
struct IndexModelOptions {
  std::string model;      // a folder or the name of a built-in model
  std::string precision;  // of the encoder's matrix products
  EncodeOptions encode;
  LoadEncoder load = nullptr;  // null: for the CPU
};

// model_fingerprint() of a model folder or a built-in model.
std::string fingerprint_of(const std::string& model);

// Sets name and folder of a model as an index in the folder `index` remembers them.
void name_model(const std::string& model, const std::string& index, IndexedModel& indexed);

// The model to use with an index: `given`, or where that is empty the one it was made with, looked
// for where it lies as seen from the index, then where it lay. Errors (kInput): neither is there.
std::string model_of_index(const std::string& index, const IndexedModel& model,
                           const std::string& given);

// `load`: null for the CPU.
SentenceEncoder load_encoder(const std::string& model, const std::string& precision,
                             const LoadEncoder& load, EventSink& events);

// The model of the options, whose fingerprint is computed meanwhile.
struct LoadedModel {
  std::shared_ptr<const SentenceEncoder> encoder;
  std::string fingerprint;
};
LoadedModel load_model(const IndexModelOptions& options, EventSink& events);

// The model of an index. Options that are not set are taken from the index. Errors (kInput): a
// model with another fingerprint than the index's.
std::shared_ptr<const SentenceEncoder> load_model_of(const std::string& index,
                                                     const IndexedModel& model,
                                                     IndexModelOptions& options, EventSink& events);

// The options for texts of a role, with vectors of length 1 where the model compares them by
// cosine, so that the inner products of an index are cosines.
EncodeOptions index_options(const EncodeOptions& options, const SentenceEncoder& encoder,
                            TextRole role);

// The same for documents of an index.
EncodeOptions document_options(const IndexedModel& model, const SentenceEncoder& encoder);

// similarity_spread() of the model, whose documents are embedded by these options.
double measure_spread(const SentenceEncoder& encoder, const EncodeOptions& documents);

// Warns if texts were longer than the model reads.
void warn_of_cut_texts(const EncodeCounts& counts, const SentenceEncoder& encoder,
                       EventSink& events);

// Cuts documents into passages (simile/text/passages.h) that a model reads whole.
class PassageSplitter {
 public:
  // `encode` names the prompt that is put before texts. Errors (kUsage): passages that are longer
  // than the model reads, with the prompt and special tokens; those of check_passages().
  PassageSplitter(const SentenceEncoder& encoder, const PassageOptions& passages,
                  const EncodeOptions& encode);

  // With the default of `passage_whole` in place.
  const PassageOptions& passages() const { return passages_; }

  // Sets the passages of documents, in parallel.
  void split(std::vector<Document>& documents) const;

 private:
  Tokenizer tokenizer_;
  PassageOptions passages_;
};

// The texts of the documents' vectors, one after the other.
std::vector<std::string> texts_of_vectors(const std::vector<Document>& documents);

}  // namespace simile
