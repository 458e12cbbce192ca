// SPDX-License-Identifier: Apache-2.0
// Batches for masked-language-model training, made in a thread of their own beside the training,
// and how well an encoder and its head guess words of texts that training never sees.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "simile/batch/packing.h"
#include "simile/data/text_list.h"
#include "simile/eval/report.h"
#include "simile/nn/masked_lm_module.h"
#include "simile/nn/trainable_encoder.h"
#include "simile/text/tokenizer.h"
#include "simile/train/pretrainer.h"

namespace simile {

struct MaskedBatch {
  PackedBatch tokens;   // with masks in it
  MaskedTokens masked;  // may be none
};

// The facts about `tokenizer` that masking needs; tokens that start with "##" continue the word
// before them. Errors (ErrorKind::kRecipe): a tokenizer without mask token, with special tokens
// only, or that does not put one cls token before and one sep token behind a text.
MaskVocabulary mask_vocabulary(const Tokenizer& tokenizer);

// Appends a text as sequences [CLS] ... [SEP] of at most `max_length` tokens: a longer text is cut
// into several. A text without tokens gives none.
void pack_windows(const Tokenizer& tokenizer, const std::string& text, int64_t max_length,
                  PackedBatch& batch);

// The batches of all epochs, one after the other: a pure function of (corpus, options). A text of
// at most batch_tokens is never parted between batches, so a batch holds less than twice
// batch_tokens (and max_length); an epoch's last batch holds the rest.
class MaskedBatches {
 public:
  // Batches 0 .. first - 1 are left out; their texts are read and tokenised all the same.
  MaskedBatches(const std::vector<CorpusFile>& corpus, const PretrainOptions& options,
                const Tokenizer& tokenizer, const MaskVocabulary& vocabulary, int64_t first);
  ~MaskedBatches();

  // Waits for the next batch; events.progress() is called meanwhile and may throw kInterrupted.
  // Rethrows errors from reading the corpus.
  MaskedBatch next(EventSink& events);

 private:
  void produce();

  std::vector<CorpusFile> corpus_;
  PretrainOptions options_;
  Tokenizer tokenizer_;
  MaskVocabulary vocabulary_;
  int64_t first_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<MaskedBatch> ready_;
  std::exception_ptr error_;
  std::atomic<bool> stops_{false};
  std::atomic<int64_t> skipped_{0};
  std::thread thread_;
};

// Batches of one epoch, at most `limit` (0: all); reads as much of the corpus. May be interrupted.
int64_t count_batches(const std::vector<CorpusFile>& corpus, const PretrainOptions& options,
                      const Tokenizer& tokenizer, int64_t limit, EventSink& events);

class HeldOut {
 public:
  // Reads and masks the texts. Without a path there is nothing to evaluate. Errors: as TextStream;
  // ErrorKind::kInput when no word was masked.
  HeldOut(const PretrainOptions& options, const Tokenizer& tokenizer,
          const MaskVocabulary& vocabulary, EventSink& events);

  bool empty() const { return batches_.empty(); }

  // Report `held_out` with masked_accuracy and perplexity, of weights as they are.
  Report evaluate(TrainableEncoder& encoder, MaskedLmModule& head, const std::string& model) const;

 private:
  std::vector<MaskedBatch> batches_;
};

}  // namespace simile
