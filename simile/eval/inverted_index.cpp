// SPDX-License-Identifier: Apache-2.0
#include "simile/eval/detail/inverted_index.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "simile/text/words.h"

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

}  // namespace

WordCollection::WordCollection(const std::vector<std::string>& texts) {
  std::vector<std::vector<std::string>> split;
  std::set<std::string> different;
  int64_t length = 0;
  for (const std::string& text : texts) {
    split.push_back(split_words(text));
    different.insert(split.back().begin(), split.back().end());
    length += static_cast<int64_t>(split.back().size());
  }
  for (const std::string& word : different) {
    vocabulary_.emplace(word, static_cast<int32_t>(vocabulary_.size()));
  }
  text_frequency_.assign(vocabulary_.size(), 0);
  for (const std::vector<std::string>& words : split) {
    texts_.push_back(count_sorted(numbers_of(words)));
    for (const WordCount& entry : texts_.back()) ++text_frequency_[static_cast<size_t>(entry.word)];
  }
  if (!texts.empty())
    mean_length_ = static_cast<double>(length) / static_cast<double>(texts.size());
}

std::vector<int32_t> WordCollection::numbers_of(const std::vector<std::string>& words) const {
  std::vector<int32_t> numbers;
  for (const std::string& word : words) {
    const auto known = vocabulary_.find(word);
    if (known != vocabulary_.end()) numbers.push_back(known->second);
  }
  return numbers;
}

CountedText WordCollection::count_words(const std::string& text) const {
  return count_sorted(numbers_of(split_words(text)));
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

WeightedScores::WeightedScores(std::vector<WeightedText> queries, std::vector<WeightedText> texts,
                               int64_t words)
    : queries_(std::move(queries)),
      texts_(std::move(texts)),
      begin_(static_cast<size_t>(words) + 1, 0) {
  for (const WeightedText& text : texts_) {
    for (const WordWeight& entry : text) ++begin_[static_cast<size_t>(entry.word) + 1];
  }
  std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
  postings_.resize(static_cast<size_t>(begin_.back()));
  std::vector<int64_t> next = begin_;
  for (size_t t = 0; t < texts_.size(); ++t) {
    for (const WordWeight& entry : texts_[t]) {
      const int64_t at = next[static_cast<size_t>(entry.word)]++;
      postings_[static_cast<size_t>(at)] = {static_cast<int64_t>(t), entry.weight};
    }
  }
}

void WeightedScores::score(int64_t first, int64_t count, double* scores) const {
  std::fill_n(scores, count * documents(), 0.0);
  for (int64_t q = first; q < first + count; ++q, scores += documents()) {
    for (const WordWeight& entry : queries_[static_cast<size_t>(q)]) {
      const size_t word = static_cast<size_t>(entry.word);
      for (int64_t p = begin_[word]; p < begin_[word + 1]; ++p) {
        const Posting& posting = postings_[static_cast<size_t>(p)];
        scores[posting.text] += static_cast<double>(entry.weight) * posting.weight;
      }
    }
  }
}

void WeightedScores::score_some(int64_t query, const std::vector<int64_t>& chosen,
                                double* scores) const {
  for (size_t i = 0; i < chosen.size(); ++i) {
    scores[i] =
        multiply(queries_[static_cast<size_t>(query)], texts_[static_cast<size_t>(chosen[i])]);
  }
}

}  // namespace simile
