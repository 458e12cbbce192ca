// SPDX-License-Identifier: Apache-2.0
// Texts in, embeddings out: prompt, tokens, encoder, pooling, modules, normalisation.
//
//   const SentenceEncoder encoder = SentenceEncoder::load("models/mini", silent_events());
//   const Matrix<float> embeddings = encoder.encode(texts, {}, silent_events());  // [texts, D]
//
// A text's vector is the same, bit for bit, whatever texts come with it, in whatever order and with
// however many threads. Const methods may run in several threads at once.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "simile/core/error.h"
#include "simile/core/matrix.h"
#include "simile/core/memory.h"
#include "simile/core/options.h"
#include "simile/encode/head.h"
#include "simile/kernel/encoder.h"
#include "simile/kernel/matrix_product.h"
#include "simile/model/model_card.h"
#include "simile/model/model_folder.h"
#include "simile/text/tokenizer.h"

namespace simile {

// The role of a text in a search; it decides the prompt if none is given.
enum class TextRole { kAny, kQuery, kDocument };

struct EncodeOptions {
  int64_t batch_tokens = 16384;  // tokens encoded at a time; a longer text makes its own batch
  // Name of a prompt of the model; "document" means the first of document, passage and corpus that
  // the model has. Empty: the prompt of the role, "query" or "document", else the default, if any.
  std::string prompt_name;
  TextRole role = TextRole::kAny;
  std::optional<std::string> prompt;  // the prompt itself, before any name
  int64_t dimensions = 0;             // leading dimensions kept; 0: as the model says
  std::optional<bool> normalize;      // empty: as the model says

  void visit(OptionVisitor& v);
  void visit_texts(OptionVisitor& v);  // without what vectors alone have
};

// Statistics of one or more calls (added up).
struct EncodeCounts {
  int64_t texts = 0;
  int64_t tokens = 0;
  int64_t truncated = 0;  // texts cut at the length limit
  int64_t replaced = 0;   // broken UTF-8 sequences read as U+FFFD
};

class SentenceEncoder {
 public:
  // From a model folder, also of a cross-encoder, which encodes pairs alone; `products` as in
  // encoder_forward.h. Errors: see model_folder.h and tokenizer.h.
  static SentenceEncoder load(const std::string& folder, EventSink& events,
                              ProductType products = ProductType::kFloat);

  // settings.encoder must describe `encoder`. Errors (kInput): another hidden size, a tokenizer
  // with more tokens than the encoder's vocabulary, a length limit above its longest sequence.
  SentenceEncoder(std::shared_ptr<const Encoder> encoder, const ModelSettings& settings,
                  const Tokenizer& tokenizer);

  // Vectors [texts, D], row i for texts[i]. Memory beside the result: the tokens of 8,192 texts
  // (those of the next 4,096 are made while the others are encoded) and the activations of one
  // batch. The statistics are added to `counts`. Progress: task "embed". Errors (kRecipe): a prompt
  // name the model does not have, dimensions beyond the embedding size; (kInput) a cross-encoder.
  Matrix<float> encode(const std::vector<std::string>& texts, const EncodeOptions& options,
                       EventSink& events, EncodeCounts* counts = nullptr) const;

  // Receives the vectors [n, D] of texts first .. first + n.
  using TakeVectors = std::function<void(size_t first, const Matrix<float>& vectors)>;

  // The same, handed to `take` in blocks of at most 4,096 texts and in order, each while the next
  // is encoded: one call at a time, on another thread. Rethrows exceptions of `take`.
  void encode_blocks(const std::vector<std::string>& texts, const EncodeOptions& options,
                     const TakeVectors& take, EventSink& events,
                     EncodeCounts* counts = nullptr) const;

  // The same as encode() for pairs read as one sequence each, [CLS] left [SEP] right [SEP] with
  // token types where the encoder has two; row i for left[i] and right[i]. If a pair is too long,
  // its longer text is cut first. Pairs get no prompts; counts.texts counts pairs. Errors (kInput):
  // sides of different lengths; (kRecipe) as encode(), and a static encoder, which reads single
  // texts.
  Matrix<float> encode_pairs(const std::vector<std::string>& left,
                             const std::vector<std::string>& right, const EncodeOptions& options,
                             EventSink& events, EncodeCounts* counts = nullptr) const;

  // The same as encode() for texts that are ids already (special tokens included, no prompt).
  // Errors (kInput): an id outside the vocabulary, a sequence too long, or empty but for averages.
  Matrix<float> encode_ids(const std::vector<std::vector<int32_t>>& sequences,
                           const EncodeOptions& options, EventSink& events) const;

  // Hidden states [states, H] of one batch, before pooling (Encoder::states()).
  std::vector<float> hidden_states(const PackedBatch& batch) const;

  int64_t dimension(const EncodeOptions& options = {}) const;  // D
  // The prompt that is put before texts. Errors: as encode().
  std::string prompt(const EncodeOptions& options) const;
  const ModelSettings& settings() const { return settings_; }
  const Tokenizer& tokenizer() const { return tokenizer_; }  // with the model's length limit

 private:
  struct Sequences;
  // Texts, or pairs, begin .. end as tokens.
  using Tokenise = std::function<Sequences(size_t begin, size_t end, EncodeCounts& counts)>;
  using TakeBlock = std::function<void(size_t first, Matrix<float> vectors)>;
  void check_makes_vectors() const;
  int64_t count_left_out(const std::string& prompt) const;
  Tokenise tokenise_texts(const std::vector<std::string>& texts, const std::string& prompt) const;
  // `left_out`: tokens of each sequence that pooling leaves out.
  void run_blocks(size_t count, const Tokenise& tokenise, int64_t left_out,
                  const EncodeOptions& options, const TakeBlock& take, EventSink& events,
                  EncodeCounts* counts) const;
  Matrix<float> encode_all(size_t count, const Tokenise& tokenise, int64_t left_out,
                           const EncodeOptions& options, EventSink& events,
                           EncodeCounts* counts) const;
  // `hidden`: memory for the states of a batch. Calls finished() with the size of each batch.
  Matrix<float> encode_sequences(const std::vector<std::vector<int32_t>>& sequences,
                                 const std::vector<std::vector<int32_t>>& type_ids,
                                 const EncodeOptions& options, int64_t left_out,
                                 FloatBuffer& hidden,
                                 const std::function<void(int64_t)>& finished) const;
  Matrix<float> pooled(const PackedBatch& batch, int64_t left_out, FloatBuffer& hidden) const;

  std::shared_ptr<const Encoder> encoder_;
  ModelSettings settings_;
  std::shared_ptr<const ModuleChain> modules_;
  Tokenizer tokenizer_;
};

// Checks self_test.json of a model folder against `encoder`. Returns the largest difference, or
// nothing when the folder has no self_test.json. Errors: see model_card.h.
std::optional<double> check_self_test(const std::string& folder, const SentenceEncoder& encoder);

// Vectors for the self-test sentences, as they are saved with a model.
SelfTest make_self_test(const SentenceEncoder& encoder);

// Texts in, logits of a task head out: of single texts, pairs embedded apart, or joint pairs.
//
//   const Predictor predictor(encoder, head);
//   const Matrix<float> logits = predictor.predict(texts, {}, {}, silent_events());
//   const Matrix<float> probabilities = head_probabilities(head.settings(), logits);
//
// Bits and threads: as SentenceEncoder.
class Predictor {
 public:
  // Both must outlive the predictor. Errors (kInput): a head for another size of embedding.
  Predictor(const SentenceEncoder& encoder, const Head& head);

  // Logits [texts, k]. `pairs` holds the second text of each if the head takes pairs (input pair or
  // joint), else nothing. Only batch_tokens and the prompts of `options` have an effect; a joint
  // input has no prompt. Heads see whole embeddings before Normalize. Progress: task "embed".
  // `similarities` gets each text's similarity to the head's classes (ClassScope), or stays empty.
  // Errors (kInput): pairs missing, not wanted or of another number; else as encode().
  Matrix<float> predict(const std::vector<std::string>& texts,
                        const std::vector<std::string>& pairs, const EncodeOptions& options,
                        EventSink& events, EncodeCounts* counts = nullptr,
                        std::vector<double>* similarities = nullptr) const;

 private:
  const SentenceEncoder& encoder_;
  const Head& head_;
};

// The supported models (docs/models.md): model_reference.md, completed from the readers' tables.
std::string model_reference();

}  // namespace simile
