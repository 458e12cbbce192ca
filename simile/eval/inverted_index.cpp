// SPDX-License-Identifier: Apache-2.0
#include "simile/eval/detail/inverted_index.h"

#include <algorithm>
#include <numeric>

#include "simile/core/parallel.h"
#include "simile/text/split_words.h"

namespace simile {
namespace {

CountedText count_sorted(std::vector<int32_t> words) {
  std::sort(words.begin(), words.end());
  CountedText counted;
  for (const int32_t word : words) {
    if (counted.empty() || counted.back().word != word) counted.push_back({word, 0});
    ++counted.back().count;
  }
  return counted;
}

struct Posting {
  int64_t text;
  float weight;
};

// The postings of all words in one array: those of word w lie in [begin[w], begin[w + 1]).
struct InvertedIndex {
  std::vector<int64_t> begin;
  std::vector<Posting> postings;

  InvertedIndex(const std::vector<WeightedText>& texts, int64_t words)
      : begin(static_cast<size_t>(words) + 1, 0) {
    for (const WeightedText& text : texts) {
      for (const WordWeight& entry : text) ++begin[static_cast<size_t>(entry.word) + 1];
    }
    std::partial_sum(begin.begin(), begin.end(), begin.begin());
    postings.resize(static_cast<size_t>(begin.back()));
    std::vector<int64_t> next = begin;
    for (size_t t = 0; t < texts.size(); ++t) {
      for (const WordWeight& entry : texts[t]) {
        const int64_t at = next[static_cast<size_t>(entry.word)]++;
        postings[static_cast<size_t>(at)] = {static_cast<int64_t>(t), entry.weight};
      }
    }
  }
};

void add_up(const InvertedIndex& index, const WeightedText& query, std::vector<double>& scores) {
  std::fill(scores.begin(), scores.end(), 0.0);
  for (const WordWeight& entry : query) {
    const size_t word = static_cast<size_t>(entry.word);
    for (int64_t p = index.begin[word]; p < index.begin[word + 1]; ++p) {
      const Posting& posting = index.postings[static_cast<size_t>(p)];
      scores[static_cast<size_t>(posting.text)] +=
          static_cast<double>(entry.weight) * posting.weight;
    }
  }
}

}  // namespace

WordCollection::WordCollection(const std::vector<std::string>& texts) {
  int64_t length = 0;
  for (const std::string& text : texts) {
    std::vector<int32_t> words;
    for (const std::string& word : split_words(text)) {
      words.push_back(
          vocabulary_.emplace(word, static_cast<int32_t>(vocabulary_.size())).first->second);
    }
    length += static_cast<int64_t>(words.size());
    texts_.push_back(count_sorted(std::move(words)));
  }
  text_frequency_.assign(vocabulary_.size(), 0);
  for (const CountedText& text : texts_) {
    for (const WordCount& entry : text) ++text_frequency_[static_cast<size_t>(entry.word)];
  }
  if (!texts.empty())
    mean_length_ = static_cast<double>(length) / static_cast<double>(texts.size());
}

CountedText WordCollection::count_words(const std::string& text) const {
  std::vector<int32_t> words;
  for (const std::string& word : split_words(text)) {
    const auto known = vocabulary_.find(word);
    if (known != vocabulary_.end()) words.push_back(known->second);
  }
  return count_sorted(std::move(words));
}

int64_t count_length(const CountedText& text) {
  int64_t length = 0;
  for (const WordCount& entry : text) length += entry.count;
  return length;
}

double multiply(const WeightedText& a, const WeightedText& b) {
  double sum = 0;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (a[i].word == b[j].word) {
      sum += static_cast<double>(a[i++].weight) * b[j++].weight;
    } else {
      ++(a[i].word < b[j].word ? i : j);
    }
  }
  return sum;
}

std::vector<Ranking> rank_weighted(const std::vector<WeightedText>& queries,
                                   const std::vector<WeightedText>& texts, int64_t words,
                                   const std::vector<std::vector<int64_t>>& candidates,
                                   int64_t depth) {
  std::vector<Ranking> rankings(queries.size());
  const InvertedIndex index(texts, words);
  constexpr int64_t kQueryBlock = 32;
  run_parallel_blocks(
      static_cast<int64_t>(queries.size()), kQueryBlock, [&](int64_t begin, int64_t end) {
        std::vector<double> scores(candidates.empty() ? texts.size() : 0);
        for (size_t q = static_cast<size_t>(begin); q < static_cast<size_t>(end); ++q) {
          BestDocuments best(depth);
          if (candidates.empty()) {
            add_up(index, queries[q], scores);
            for (size_t t = 0; t < texts.size(); ++t) {
              if (scores[t] > 0) best.add(static_cast<int64_t>(t), scores[t]);
            }
          } else {
            for (const int64_t t : candidates[q]) {
              best.add(t, multiply(queries[q], texts[static_cast<size_t>(t)]));
            }
          }
          rankings[q] = best.take();
        }
      });
  return rankings;
}

}  // namespace simile
