// SPDX-License-Identifier: Apache-2.0
// Batches for masked-language-model training, made in a thread of their own beside the training.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "simile/batch/masking.h"
#include "simile/data/text_stream.h"
#include "simile/text/tokenizer.h"
#include "simile/train/pretrain_options.h"

namespace simile {

struct MaskedBatch {
  PackedBatch tokens;   // with masks in it
  MaskedTokens masked;  // may be none
};

// What masking needs of `tokenizer`; tokens that start with "##" go on with the word before them.
// Errors (ErrorKind::kRecipe): a tokenizer without mask, cls or sep token, or with special tokens
// only.
MaskVocabulary mask_vocabulary(const Tokenizer& tokenizer);

// Appends a text as sequences [CLS] ... [SEP] of at most `max_length` tokens: a longer text is cut
// into several. A text without tokens gives none.
void pack_windows(const Tokenizer& tokenizer, const std::string& text, int64_t max_length,
                  PackedBatch& batch);

// The batches of all epochs, one after the other: a pure function of (corpus, options). A text is
// never parted between batches, so a batch may exceed batch_tokens by one text; an epoch's last
// batch is as small as what is left.
class MaskedBatches {
 public:
  // Batches 0 .. first - 1 are left out (their texts are read and tokenised, which is fast).
  MaskedBatches(const std::vector<CorpusFile>& corpus, const PretrainOptions& options,
                const Tokenizer& tokenizer, int64_t first);
  ~MaskedBatches();

  // Waits for the next batch. What reading the corpus throws is thrown here.
  MaskedBatch next();

 private:
  void produce();
  bool push(MaskedBatch batch);

  std::vector<CorpusFile> corpus_;
  PretrainOptions options_;
  Tokenizer tokenizer_;
  MaskVocabulary vocabulary_;
  int64_t first_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<MaskedBatch> ready_;
  std::exception_ptr error_;
  bool stops_ = false;
  std::thread thread_;
};

// Batches of one epoch; reads and tokenises the whole corpus. May throw kInterrupted from
// events.progress().
int64_t count_batches(const std::vector<CorpusFile>& corpus, const PretrainOptions& options,
                      const Tokenizer& tokenizer, EventSink& events);

}  // namespace simile
