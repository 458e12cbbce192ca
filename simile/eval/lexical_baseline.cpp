// SPDX-License-Identifier: Apache-2.0
#include "simile/eval/lexical_baseline.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "simile/index/score_fusion.h"
#include "simile/text/words.h"

namespace simile {
namespace {

// --- Texts as counted words, and for each word the texts it stands in ---

struct WordCount {
  int32_t word = 0;  // position in the vocabulary, which is in the order of the words' bytes
  int32_t count = 0;
};
using CountedText = std::vector<WordCount>;  // sorted by word

// The words of a collection of texts.
class WordCollection {
 public:
  explicit WordCollection(const std::vector<std::string>& texts) {
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
      texts_.push_back(count(words));
      for (const WordCount& entry : texts_.back()) {
        ++text_frequency_[static_cast<size_t>(entry.word)];
      }
    }
    if (texts.empty()) return;
    mean_length_ = static_cast<double>(length) / static_cast<double>(texts.size());
  }

  // Words that the collection lacks are left out.
  CountedText count(const std::vector<std::string>& words) const {
    std::vector<int32_t> numbers;
    for (const std::string& word : words) {
      const auto known = vocabulary_.find(word);
      if (known != vocabulary_.end()) numbers.push_back(known->second);
    }
    std::sort(numbers.begin(), numbers.end());
    CountedText counted;
    for (const int32_t number : numbers) {
      if (counted.empty() || counted.back().word != number) counted.push_back({number, 0});
      ++counted.back().count;
    }
    return counted;
  }

  const std::vector<CountedText>& texts() const { return texts_; }
  int64_t words() const { return static_cast<int64_t>(text_frequency_.size()); }
  int64_t text_frequency(int32_t word) const { return text_frequency_[static_cast<size_t>(word)]; }
  double mean_length() const { return mean_length_; }  // in words, with repetition

 private:
  std::unordered_map<std::string, int32_t> vocabulary_;
  std::vector<CountedText> texts_;
  std::vector<int64_t> text_frequency_;  // per word, df
  double mean_length_ = 0;
};

struct WordWeight {
  int32_t word = 0;
  float weight = 0;
};
using WeightedText = std::vector<WordWeight>;  // sorted by word

// The sum over shared words of the product of weights.
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

// Scores texts by multiply(query, text), adding up in the order of the query's words; those that
// share no word with the query score 0 and are not found.
class WeightedScores : public CorpusScores {
 public:
  WeightedScores(std::vector<WeightedText> queries, std::vector<WeightedText> texts, int64_t words)
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

  int64_t documents() const override { return static_cast<int64_t>(texts_.size()); }
  double not_found() const override { return 0; }

  void score(int64_t first, int64_t count, double* scores) const override {
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

  void score_some(int64_t query, const std::vector<int64_t>& chosen,
                  double* scores) const override {
    std::transform(chosen.begin(), chosen.end(), scores, [&](int64_t text) {
      return multiply(queries_[static_cast<size_t>(query)], texts_[static_cast<size_t>(text)]);
    });
  }

 private:
  struct Posting {
    int64_t text;
    float weight;
  };

  std::vector<WeightedText> queries_, texts_;
  // The postings of all words in one array: those of word w lie in [begin_[w], begin_[w + 1]).
  std::vector<int64_t> begin_;
  std::vector<Posting> postings_;
};

// --- How BM25 and tf-idf weigh words ---

// As a document: the part of the score that depends on the document.
WeightedText weigh_bm25_document(const WordCollection& collection, const CountedText& text) {
  const auto N = static_cast<int64_t>(collection.texts().size());
  int64_t length = 0;  // in words, with repetition
  for (const WordCount& entry : text) length += entry.count;
  WeightedText weighted;
  for (const auto& [word, count] : text) {
    weighted.push_back({word, Bm25().weight(N, collection.text_frequency(word), count, length,
                                            collection.mean_length())});
  }
  return weighted;
}

WeightedText weigh_bm25_query(const WordCollection&, const CountedText& text) {
  WeightedText weighted;
  for (const auto& [word, count] : text) weighted.push_back({word, static_cast<float>(count)});
  return weighted;
}

// Unit vectors, so that their product is the cosine.
WeightedText weigh_tfidf(const WordCollection& collection, const CountedText& text) {
  const double N = static_cast<double>(collection.texts().size());
  std::vector<double> weights;
  double squares = 0;
  for (const auto& [word, count] : text) {
    const double df = static_cast<double>(collection.text_frequency(word));
    weights.push_back(count * (std::log((1 + N) / (1 + df)) + 1));
    squares += weights.back() * weights.back();
  }
  WeightedText weighted;
  for (size_t i = 0; i < text.size(); ++i) {
    weighted.push_back({text[i].word, static_cast<float>(weights[i] / std::sqrt(squares))});
  }
  return weighted;
}

using Weigh = WeightedText (*)(const WordCollection&, const CountedText&);

Weigh query_weights(bool is_bm25) { return is_bm25 ? weigh_bm25_query : weigh_tfidf; }
Weigh document_weights(bool is_bm25) { return is_bm25 ? weigh_bm25_document : weigh_tfidf; }

}  // namespace

std::vector<double> LexicalScorer::score_pairs(const std::vector<std::string>& left,
                                               const std::vector<std::string>& right) {
  std::unordered_set<std::string> seen;
  std::vector<std::string> texts;
  for (const auto* side : {&left, &right}) {
    std::copy_if(side->begin(), side->end(), std::back_inserter(texts),
                 [&](const std::string& text) { return seen.insert(text).second; });
  }
  const WordCollection collection(texts);
  const Weigh as_query = query_weights(is_bm25_), as_document = document_weights(is_bm25_);
  std::vector<double> scores;
  for (size_t i = 0; i < left.size(); ++i) {
    const CountedText a = collection.count(split_words(left[i]));
    const CountedText b = collection.count(split_words(right[i]));
    scores.push_back((multiply(as_query(collection, a), as_document(collection, b)) +
                      multiply(as_query(collection, b), as_document(collection, a))) /
                     2);
  }
  return scores;
}

std::unique_ptr<CorpusScores> LexicalScorer::score_corpus(const std::vector<std::string>& queries,
                                                          const std::vector<std::string>& corpus) {
  const WordCollection collection(corpus);
  std::vector<WeightedText> of_queries, documents;
  for (const std::string& query : queries) {
    of_queries.push_back(query_weights(is_bm25_)(collection, collection.count(split_words(query))));
  }
  for (const CountedText& text : collection.texts()) {
    documents.push_back(document_weights(is_bm25_)(collection, text));
  }
  return std::make_unique<WeightedScores>(std::move(of_queries), std::move(documents),
                                          collection.words());
}

std::unique_ptr<Scorer> make_lexical_scorer(const std::string& name) {
  if (name == "bm25") return std::make_unique<Bm25Scorer>();
  if (name == "tfidf") return std::make_unique<TfidfScorer>();
  return nullptr;
}

}  // namespace simile
