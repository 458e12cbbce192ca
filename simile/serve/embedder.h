// SPDX-License-Identifier: Apache-2.0
// The texts of one request to vectors: tokens on the thread of the connection, vectors by the
// worker. A text's vector has the bits that SentenceEncoder::encode() gives it alone, in any batch.
// Methods may be called by any number of threads.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "simile/encode/sentence_encoder.h"
#include "simile/serve/batching_worker.h"

namespace simile {

// A text, or token ids with their special tokens, which get no prompt.
struct TextInput {
  std::string text;
  std::vector<int32_t> ids;
  bool is_ids = false;
};

// Texts with the same settings for reading.
struct TextGroup {
  std::vector<TextInput> inputs;
  TextRole role = TextRole::kAny;
  std::string prompt_name;     // as EncodeOptions has it
  bool truncate = true;        // texts longer than the model reads are cut, else refused
  bool truncate_left = false;  // they lose their beginning, not their end
};

struct VectorOptions {
  bool normalize = true;
  int64_t dimensions = 0;  // leading ones that are kept; 0: as the model says
};

// The size and cost of a request, for headers, metrics and the log.
struct RequestCost {
  int64_t texts = 0, characters = 0, tokens = 0;  // embedded or ranked
  int64_t searches = 0;                           // queries that an index was asked
  int64_t truncated = 0;                          // texts that were cut at the model's limit
  double tokenization_seconds = 0;
  WorkTimes times;
  std::string other_model;  // that was asked for, and is not the one served
  bool ranks = false;       // counted as te_predict_*, not te_embed_*
};

constexpr int64_t kMostTokenVectors = 8192;  // of one request

class Embedder {
 public:
  // A request with more than `together` texts is queued and computed in parts of that size, so that
  // other requests come between.
  Embedder(std::shared_ptr<const SentenceEncoder> encoder, BatchingWorker& worker,
           int64_t together);

  // Vectors [texts, D] of the groups one behind the other. Adds to `cost`. Errors (RequestError):
  // kInvalid for a prompt, dimensions or ids that the model does not have, and a text or ids that
  // are too long and not to be cut; kBackend for vectors that are not finite; and those of the
  // worker.
  Matrix<float> embed(const std::vector<TextGroup>& groups, const VectorOptions& options,
                      const Patience& patience, RequestCost& cost) const;

  // The encoder's last states of each text's tokens [tokens, H], special ones included, before
  // pooling. Adds to `cost`. Errors (RequestError): as embed(); kInvalid for more than
  // kMostTokenVectors tokens together; kModelCannot for a model that has no such states.
  std::vector<Matrix<float>> token_vectors(const TextGroup& group, const Patience& patience,
                                           RequestCost& cost) const;

  // The prompt that is put before texts. Errors (RequestError): kInvalid for an unknown prompt.
  std::string prompt(const std::string& name, TextRole role = TextRole::kAny) const;

  const SentenceEncoder& encoder() const { return *encoder_; }
  BatchingWorker& worker() const { return worker_; }

  // Lets SentenceEncoder compute a batch of the worker: whole vectors, not normalised.
  static BatchingWorker::Encode encode_with(std::shared_ptr<const SentenceEncoder> encoder,
                                            int64_t batch_tokens);

 private:
  Matrix<float> embed_part(const std::vector<TextGroup>& groups, const VectorOptions& options,
                           const Patience& patience, RequestCost& cost) const;
  void tokenise(const TextGroup& group, const std::string& prompt,
                BatchingWorker::Sequences& sequences, RequestCost& cost) const;
  std::vector<int32_t> tokens_of(const TextInput& input, const TextGroup& group,
                                 const std::string& prompt, RequestCost& cost) const;
  Matrix<float> encode_texts(const std::vector<TextGroup>& groups, int64_t tokens,
                             const Patience& patience, RequestCost& cost) const;
  Matrix<float> finish(Matrix<float> vectors, const VectorOptions& options) const;

  std::shared_ptr<const SentenceEncoder> encoder_;
  BatchingWorker& worker_;
  const size_t together_;
};

}  // namespace simile
