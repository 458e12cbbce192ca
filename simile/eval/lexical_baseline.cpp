// SPDX-License-Identifier: Apache-2.0
#include "simile/eval/lexical_baseline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include "simile/index/detail/word_file.h"
#include "simile/index/score_fusion.h"

namespace simile {
namespace {

using detail::WordCount;

// Both in the order of the words' bytes.
using CountedText = std::vector<WordCount>;
struct WordWeight {
  int32_t word = 0;
  float weight = 0;
};
using WeightedText = std::vector<WordWeight>;

// The words of a collection of texts.
class WordCollection {
 public:
  WordCollection(const std::vector<std::string>& texts, bool is_bm25, const std::string& language)
      : is_bm25_(is_bm25), language_(language) {
    double length = 0;
    for (const std::string& text : texts) {
      CountedText& counted = texts_.emplace_back();
      for (const auto& [word, count] : detail::count_words(text, language_)) {
        const auto place = numbers_.emplace(word, static_cast<int32_t>(numbers_.size())).first;
        counted.push_back({place->second, count});
        texts_with_.resize(numbers_.size());
        ++texts_with_[static_cast<size_t>(place->second)];
        length += count;
      }
    }
    if (!texts.empty()) mean_length_ = length / static_cast<double>(texts.size());
  }

  // Words that the collection lacks are left out.
  CountedText count(const std::string& text) const {
    CountedText counted;
    for (const auto& [word, count] : detail::count_words(text, language_)) {
      const auto known = numbers_.find(word);
      if (known != numbers_.end()) counted.push_back({known->second, count});
    }
    return counted;
  }

  // The score of a query and a document is the sum of the products of their words' weights.
  WeightedText weigh(const CountedText& text, bool is_query) const {
    const auto N = static_cast<int64_t>(texts_.size());
    int64_t length = 0;  // in words, with repetition
    for (const WordCount& entry : text) length += entry.count;
    std::vector<double> weights;
    double squares = 0;
    for (const auto& [word, count] : text) {
      const int64_t df = texts_with_[static_cast<size_t>(word)];
      const double tf_idf = count * (std::log(static_cast<double>(1 + N) / (1.0 + df)) + 1);
      weights.push_back(!is_bm25_  ? tf_idf
                        : is_query ? count
                                   : Bm25().weight(Bm25::idf(N, df), count, length, mean_length_));
      squares += tf_idf * tf_idf;
    }
    // For tf-idf unit vectors, so that their product is the cosine.
    const double norm = is_bm25_ ? 1 : std::sqrt(squares);
    WeightedText weighted;
    for (size_t i = 0; i < text.size(); ++i) {
      weighted.push_back({text[i].word, static_cast<float>(weights[i] / norm)});
    }
    return weighted;
  }

  const std::vector<CountedText>& texts() const { return texts_; }
  size_t words() const { return texts_with_.size(); }

 private:
  const bool is_bm25_;
  const std::string& language_;
  std::unordered_map<std::string, int32_t> numbers_;
  std::vector<CountedText> texts_;
  std::vector<int64_t> texts_with_;  // each word, df
  double mean_length_ = 0;           // in words, with repetition
};

// Scores texts by the sum of the products of weights, in the order of the query's words; those that
// share no word with the query score 0 and are not found.
class WeightedScores : public CorpusScores {
 public:
  WeightedScores(const WordCollection& collection, const std::vector<std::string>& queries)
      : documents_(static_cast<int64_t>(collection.texts().size())), postings_(collection.words()) {
    for (const std::string& query : queries) {
      queries_.push_back(collection.weigh(collection.count(query), true));
    }
    for (int64_t text = 0; text < documents_; ++text) {
      const CountedText& counted = collection.texts()[static_cast<size_t>(text)];
      for (const WordWeight& entry : collection.weigh(counted, false)) {
        postings_[static_cast<size_t>(entry.word)].push_back({text, entry.weight});
      }
    }
  }

  int64_t documents() const override { return documents_; }
  double not_found() const override { return 0; }

  void score(int64_t first, int64_t count, double* scores) const override {
    std::fill_n(scores, count * documents_, 0.0);
    for (int64_t q = first; q < first + count; ++q, scores += documents_) {
      for (const WordWeight& entry : queries_[static_cast<size_t>(q)]) {
        for (const Posting& posting : postings_[static_cast<size_t>(entry.word)]) {
          scores[posting.text] += static_cast<double>(entry.weight) * posting.weight;
        }
      }
    }
  }

  void score_some(int64_t query, const std::vector<int64_t>& chosen,
                  double* scores) const override {
    std::fill_n(scores, chosen.size(), 0.0);
    for (const WordWeight& entry : queries_[static_cast<size_t>(query)]) {
      const std::vector<Posting>& postings = postings_[static_cast<size_t>(entry.word)];
      for (size_t i = 0; i < chosen.size(); ++i) {
        const auto found =
            std::lower_bound(postings.begin(), postings.end(), chosen[i],
                             [](const Posting& each, int64_t text) { return each.text < text; });
        if (found == postings.end() || found->text != chosen[i]) continue;
        scores[i] += static_cast<double>(entry.weight) * found->weight;
      }
    }
  }

 private:
  struct Posting {
    int64_t text;
    float weight;
  };

  int64_t documents_;
  std::vector<WeightedText> queries_;
  std::vector<std::vector<Posting>> postings_;  // of each word, by their texts
};

}  // namespace

std::vector<double> LexicalScorer::score_pairs(const std::vector<std::string>& left,
                                               const std::vector<std::string>& right) {
  std::unordered_set<std::string> seen;
  std::vector<std::string> texts;
  for (const auto* side : {&left, &right}) {
    std::copy_if(side->begin(), side->end(), std::back_inserter(texts),
                 [&](const std::string& text) { return seen.insert(text).second; });
  }
  const WordCollection collection(texts, is_bm25_, language_);
  const auto score = [&](const std::string& query, const std::string& document) {
    std::unordered_map<int32_t, float> weights;
    for (const WordWeight& entry : collection.weigh(collection.count(document), false)) {
      weights.emplace(entry.word, entry.weight);
    }
    double sum = 0;
    for (const WordWeight& asked : collection.weigh(collection.count(query), true)) {
      const auto shared = weights.find(asked.word);
      if (shared != weights.end()) sum += static_cast<double>(asked.weight) * shared->second;
    }
    return sum;
  };
  std::vector<double> scores;
  for (size_t i = 0; i < left.size(); ++i) {
    scores.push_back((score(left[i], right[i]) + score(right[i], left[i])) / 2);
  }
  return scores;
}

std::unique_ptr<CorpusScores> LexicalScorer::score_corpus(const std::vector<std::string>& queries,
                                                          const std::vector<std::string>& corpus) {
  const WordCollection collection(corpus, is_bm25_, language_);
  return std::make_unique<WeightedScores>(collection, queries);
}

std::vector<std::string> LexicalScorer::notes() const {
  if (language_ == "none") return {};
  return {fmt::format("{}: words are cut to stems of {}", name(), language_)};
}

std::unique_ptr<Scorer> make_lexical_scorer(const std::string& name, const std::string& language) {
  if (name == "bm25") return std::make_unique<Bm25Scorer>(language);
  if (name == "tfidf") return std::make_unique<TfidfScorer>(language);
  return nullptr;
}

}  // namespace simile
