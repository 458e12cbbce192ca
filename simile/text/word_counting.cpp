// SPDX-License-Identifier: Apache-2.0
#include "simile/text/detail/word_counting.h"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <map>

#include "simile/core/error.h"
#include "simile/core/parallel.h"

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
               fmt::format("a text of {} bytes is too long to learn a vocabulary from; cut it into "
                           "lines",
                           text.size()));
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

// Reads texts until they are enough for a while; false after the last one.
bool read_batch(const TextSource& next_text, std::vector<std::string>& batch) {
  batch.clear();
  for (size_t bytes = 0; bytes < kBatchBytes;) {
    std::string text;
    if (!next_text(text)) return false;
    bytes += text.size() + 1;
    batch.push_back(std::move(text));
  }
  return true;
}

}  // namespace

WordCounter count_words(const TextSource& next_text, const Normalizer* normalizer,
                        const PreTokenizer& pre_tokenizer, const WordSink& sink,
                        EventSink& events) {
  std::vector<WordCounter> counters(static_cast<size_t>(omp_get_max_threads()));
  std::vector<std::string> batch;
  int64_t done = 0;
  for (bool more = true; more;) {
    more = read_batch(next_text, batch);
    run_parallel(batch.size(), 16, [&](size_t i) {
      cut_text(batch[i], normalizer, pre_tokenizer, sink,
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

// The most frequent characters, at most `limit`, in the order of their code points.
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
