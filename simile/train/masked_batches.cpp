// SPDX-License-Identifier: Apache-2.0
#include "simile/train/masked_batches.h"

#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "simile/core/check.h"

namespace simile {
namespace {

constexpr size_t kReady = 16;            // batches made ahead
constexpr int64_t kReportEvery = 20000;  // texts between two reports of progress
constexpr const char* kNoTokens = "the corpus holds no text that the tokenizer gives a token for";
constexpr std::chrono::milliseconds kPatience(200);

// Batches of one epoch, not yet masked.
class EpochBatches {
 public:
  EpochBatches(const std::vector<CorpusFile>& corpus, const PretrainOptions& options,
               const Tokenizer& tokenizer, int64_t epoch)
      : stream_(corpus, options.shuffle_buffer, static_cast<uint64_t>(options.seed),
                static_cast<uint64_t>(epoch)),
        options_(options),
        tokenizer_(tokenizer) {}

  bool next(PackedBatch& batch) {
    batch = {};
    while (batch.tokens() < options_.batch_tokens && (has_rest() || next_text())) {
      if (rest_.tokens() <= options_.batch_tokens && next_window_ == 0) {
        append_windows(rest_.size(), batch);
      } else {
        append_windows(1, batch);  // a very long text is spread over batches
      }
    }
    return batch.size() > 0;
  }
  int64_t texts() const { return texts_; }

 private:
  bool has_rest() const { return next_window_ < rest_.size(); }

  // The next text that has a token, as windows in rest_.
  bool next_text() {
    next_window_ = 0;
    do {
      rest_ = {};
      if (!stream_.next(text_)) return false;
      pack_windows(tokenizer_, text_, options_.max_length, rest_);
      ++texts_;
    } while (rest_.size() == 0);
    return true;
  }

  void append_windows(int64_t count, PackedBatch& batch) {
    if (batch.offsets.empty()) batch.offsets.push_back(0);
    for (const int64_t end = next_window_ + count; next_window_ < end; ++next_window_) {
      const auto window = static_cast<size_t>(next_window_);
      batch.ids.insert(batch.ids.end(), rest_.ids.begin() + rest_.offsets[window],
                       rest_.ids.begin() + rest_.offsets[window + 1]);
      batch.offsets.push_back(static_cast<int32_t>(batch.ids.size()));
    }
  }

  TextStream stream_;
  const PretrainOptions& options_;
  const Tokenizer& tokenizer_;
  std::string text_;
  int64_t texts_ = 0;
  PackedBatch rest_;  // windows of the current text
  int64_t next_window_ = 0;
};

}  // namespace

MaskVocabulary mask_vocabulary(const Tokenizer& tokenizer) {
  const SpecialTokens& special = tokenizer.special_tokens();
  std::vector<int32_t> around;
  tokenizer.encode_ids("", around);
  const bool is_framed = around.size() == 2 && around[0] == special.cls && around[1] == special.sep;
  SIMILE_CHECK(special.mask >= 0 && is_framed, ErrorKind::kRecipe,
               "masked-language-model training needs a tokenizer that has a mask token and puts a "
               "cls and a sep token around a text; `simile train-tokenizer` makes one");
  MaskVocabulary vocabulary;
  vocabulary.mask = special.mask;
  for (int32_t id = 0; id < tokenizer.vocabulary_size(); ++id) {
    const bool is_special = tokenizer.is_special(id);
    vocabulary.is_special.push_back(is_special ? 1 : 0);
    vocabulary.is_continuation.push_back(tokenizer.token(id).substr(0, 2) == "##" ? 1 : 0);
    if (!is_special) vocabulary.ordinary.push_back(id);
  }
  SIMILE_CHECK(!vocabulary.ordinary.empty(), ErrorKind::kRecipe,
               "the tokenizer has special tokens alone; train it with a larger --vocab-size");
  return vocabulary;
}

void pack_windows(const Tokenizer& tokenizer, const std::string& text, int64_t max_length,
                  PackedBatch& batch) {
  std::vector<int32_t> ids;
  tokenizer.encode_ids(text, ids);  // [CLS] words [SEP]
  const auto words = static_cast<int64_t>(ids.size()) - 2, room = max_length - 2;
  if (batch.offsets.empty()) batch.offsets.push_back(0);
  for (int64_t begin = 0; begin < words; begin += room) {
    const int64_t end = std::min(begin + room, words);
    batch.ids.push_back(ids.front());
    batch.ids.insert(batch.ids.end(), ids.begin() + 1 + begin, ids.begin() + 1 + end);
    batch.ids.push_back(ids.back());
    batch.offsets.push_back(static_cast<int32_t>(batch.ids.size()));
  }
}

MaskedBatches::MaskedBatches(const std::vector<CorpusFile>& corpus, const PretrainOptions& options,
                             const Tokenizer& tokenizer, const MaskVocabulary& vocabulary,
                             int64_t first)
    : corpus_(corpus),
      options_(options),
      tokenizer_(tokenizer),
      vocabulary_(vocabulary),
      first_(first),
      thread_([this] {
        try {
          produce();
        } catch (...) {
          const std::lock_guard<std::mutex> lock(mutex_);
          error_ = std::current_exception();
          changed_.notify_all();
        }
      }) {}

MaskedBatches::~MaskedBatches() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stops_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

MaskedBatch MaskedBatches::next(EventSink& events) {
  std::unique_lock<std::mutex> lock(mutex_);
  const auto has_news = [&] { return !ready_.empty() || error_; };
  while (!changed_.wait_for(lock, kPatience, has_news)) {
    if (skipped_ < first_) events.progress({"skip", skipped_, first_, "batches", {}});
  }
  if (ready_.empty()) std::rethrow_exception(error_);
  MaskedBatch batch = std::move(ready_.front());
  ready_.pop_front();
  changed_.notify_all();
  return batch;
}

void MaskedBatches::produce() {
  int64_t number = 0;
  for (int64_t epoch = 0;; ++epoch) {
    EpochBatches batches(corpus_, options_, tokenizer_, epoch);
    const int64_t before = number;
    for (MaskedBatch batch; batches.next(batch.tokens); ++number) {
      if (stops_) return;
      if (number < first_) {
        skipped_ = number + 1;
        continue;
      }
      batch.masked = mask_words(options_.mask, vocabulary_, static_cast<uint64_t>(options_.seed),
                                static_cast<uint64_t>(number), batch.tokens);
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait(lock, [&] { return ready_.size() < kReady || stops_; });
      if (stops_) return;
      ready_.push_back(std::move(batch));
      changed_.notify_all();
    }
    SIMILE_CHECK(number > before, ErrorKind::kInput, kNoTokens);
  }
}

int64_t count_batches(const std::vector<CorpusFile>& corpus, const PretrainOptions& options,
                      const Tokenizer& tokenizer, int64_t limit, EventSink& events) {
  EpochBatches batches(corpus, options, tokenizer, 0);
  int64_t texts = 0, count = 0, reported = 0;
  for (const CorpusFile& file : corpus) texts += file.texts;
  for (PackedBatch batch; (limit == 0 || count < limit) && batches.next(batch); ++count) {
    if (batches.texts() - reported < kReportEvery) continue;
    reported = batches.texts();
    events.progress({"tokenize", reported, texts, "texts", {}});
  }
  SIMILE_CHECK(count > 0, ErrorKind::kInput, kNoTokens);
  return count;
}

HeldOut::HeldOut(const PretrainOptions& options, const Tokenizer& tokenizer,
                 const MaskVocabulary& vocabulary, EventSink& events) {
  const HeldOutOptions& held_out = options.held_out;
  if (held_out.path.empty()) return;
  inspect_corpus({held_out.path}, events);
  const auto seed = stream_key(static_cast<uint64_t>(options.seed), "held out");
  int64_t masked = 0;
  PackedBatch packed;
  const auto finish_batch = [&] {
    MaskedBatch batch;
    batch.tokens = std::move(packed);
    batch.masked = mask_words(options.mask, vocabulary, seed, batches_.size(), batch.tokens);
    masked += batch.masked.size();
    batches_.push_back(std::move(batch));
    packed = {};
  };
  for (const std::string& text : read_texts(held_out.path, {true, held_out.limit})) {
    pack_windows(tokenizer, text, options.max_length, packed);
    if (packed.tokens() >= options.batch_tokens) finish_batch();
  }
  if (packed.size() > 0) finish_batch();
  SIMILE_CHECK(masked > 0, ErrorKind::kInput,
               "'{}' has too little text: no word of it was masked; give more texts or "
               "leave held_out.path empty",
               held_out.path);
}

Report HeldOut::evaluate(TrainableEncoder& encoder, MaskedLmModule& head,
                         const std::string& model) const {
  torch::NoGradGuard guard;
  VocabularyLoss total;
  int64_t masked = 0;
  for (const MaskedBatch& batch : batches_) {
    const torch::Tensor hidden = encoder.forward(batch.tokens, {});
    const VocabularyLoss loss = head.losses(encoder, hidden, batch.masked);
    total.sum += loss.sum;
    total.correct += loss.correct;
    masked += batch.masked.size();
  }
  Report report;
  report.task = "masked_lm";
  report.name = "held_out";
  report.model = model;
  report.examples = masked;
  report.metrics = {{"masked_accuracy", static_cast<double>(total.correct) / masked},
                    {"perplexity", std::exp(total.sum / static_cast<double>(masked))}};
  return report;
}

}  // namespace simile
