// SPDX-License-Identifier: Apache-2.0
#include "simile/text/detail/vocabulary_learning.h"

#include <omp.h>

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "simile/core/detail/check.h"
#include "simile/core/parallel.h"
#include "simile/text/detail/components.h"

namespace simile::detail {
namespace {

constexpr size_t kBatchBytes = size_t{8} << 20;
constexpr size_t kMaxTextBytes = size_t{500} << 20;

void cut_text(const std::string& text, const Normalizer* normalizer,
              const PreTokenizer& pre_tokenizer, const WordSink& sink, WordCounter& counter) {
  thread_local NormalizedText raw;
  thread_local NormalizedText normalized;
  thread_local std::vector<Span> words;
  SIMILE_CHECK(text.size() < kMaxTextBytes, ErrorKind::kInput,
               "a text of {} bytes is too long to learn a vocabulary from; cut it into "
               "lines",
               text.size());
  raw.assign(text, 0, false);
  if (normalizer != nullptr) normalizer->normalize(raw, normalized);
  NormalizedText& whole = normalizer != nullptr ? normalized : raw;
  check_text_size(whole.text.size());
  if (whole.text.empty()) return;
  words.assign(1, {0, static_cast<uint32_t>(whole.text.size())});
  pre_tokenizer.split(whole, words, true);
  for (const Span word : words) {
    if (word.begin < word.end) {
      sink(std::string_view(whole.text).substr(word.begin, word.end - word.begin), counter);
    }
  }
}

}  // namespace

void WordCounter::grow() {
  slots_.assign(std::max<size_t>(1024, slots_.size() * 2), 0);
  const size_t mask = slots_.size() - 1;
  for (size_t i = 0; i < words_.size(); ++i) {
    size_t slot = words_[i].tag & mask;
    while (slots_[slot] != 0) slot = (slot + 1) & mask;
    slots_[slot] = static_cast<uint32_t>(i + 1);
  }
}

void WordCounter::add(std::string_view word, int64_t count) {
  if (words_.size() * 2 >= slots_.size()) grow();
  const size_t mask = slots_.size() - 1;
  const size_t hash = std::hash<std::string_view>()(word);
  const auto tag = static_cast<uint32_t>(hash ^ (hash >> 32));
  size_t slot = tag & mask;
  for (; slots_[slot] != 0; slot = (slot + 1) & mask) {
    Word& known = words_[slots_[slot] - 1];
    if (known.tag == tag && text(known) == word) {
      known.count += count;
      return;
    }
  }
  words_.push_back({arena_.size(), static_cast<uint32_t>(word.size()), tag, count});
  arena_ += word;
  slots_[slot] = static_cast<uint32_t>(words_.size());
}

void WordCounter::add_all(const WordCounter& other) {
  for (const Word& word : other.words_) add(other.text(word), word.count);
}

std::vector<std::pair<std::string_view, int64_t>> WordCounter::sorted() const {
  std::vector<std::pair<std::string_view, int64_t>> result;
  result.reserve(words_.size());
  for (const Word& word : words_) result.emplace_back(text(word), word.count);
  std::sort(result.begin(), result.end());
  return result;
}

WordCounter count_words(const TextSource& next_text, const Json& normalizer,
                        const Json& pre_tokenizer, const WordSink& sink, EventSink& events) {
  const auto normalizes = make_normalizer(normalizer, "training");
  const auto cuts = make_pre_tokenizer(pre_tokenizer, "training");
  std::vector<WordCounter> counters(static_cast<size_t>(omp_get_max_threads()));
  std::vector<std::string> batch;
  int64_t done = 0;
  for (bool more = true; more;) {
    batch.clear();
    std::string text;
    for (size_t bytes = 0; bytes < kBatchBytes && (more = next_text(text));) {
      bytes += text.size() + 1;
      batch.push_back(std::exchange(text, {}));
    }
    run_parallel(batch.size(), 16, [&](size_t i) {
      cut_text(batch[i], normalizes.get(), *cuts, sink,
               counters[static_cast<size_t>(omp_get_thread_num())]);
    });
    done += static_cast<int64_t>(batch.size());
    events.progress({"count words", done, more ? 0 : done, "texts", {}});
  }
  for (size_t i = 1; i < counters.size(); ++i) {
    counters[0].add_all(counters[i]);
    counters[i] = {};
  }
  SIMILE_CHECK(counters[0].size() > 0, ErrorKind::kInput,
               "no words to learn a vocabulary from: the texts are empty");
  return std::move(counters[0]);
}

std::vector<char32_t> choose_alphabet(const CountedWords& words, int64_t limit) {
  std::map<char32_t, int64_t> counts;
  for (const auto& [word, count] : words) {
    const int64_t times = count;
    visit_characters(word, [&](size_t, char32_t c) { counts[c] += times; });
  }
  std::vector<std::pair<int64_t, char32_t>> ranked;
  for (const auto& [c, count] : counts) ranked.emplace_back(-count, c);
  std::sort(ranked.begin(), ranked.end());
  ranked.resize(std::min(ranked.size(), static_cast<size_t>(limit)));
  std::vector<char32_t> alphabet;
  for (const auto& [count, c] : ranked) alphabet.push_back(c);
  std::sort(alphabet.begin(), alphabet.end());
  return alphabet;
}

}  // namespace simile::detail
