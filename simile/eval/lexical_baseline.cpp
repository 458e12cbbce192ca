// SPDX-License-Identifier: Apache-2.0
#include "simile/eval/lexical_baseline.h"

#include <cmath>
#include <functional>
#include <unordered_set>

#include "simile/eval/detail/inverted_index.h"

namespace simile {
namespace {

using Weigh = std::function<WeightedText(const CountedText&)>;

// As a document: the part of the score that depends on the document.
Weigh weigh_bm25_documents(const WordCollection& collection, const Bm25& bm25) {
  return [&collection, bm25](const CountedText& text) {
    const auto N = static_cast<int64_t>(collection.texts().size());
    const int64_t length = count_length(text);
    WeightedText weighted;
    for (const WordCount& entry : text) {
      weighted.push_back({entry.word, bm25.weight(N, collection.text_frequency(entry.word),
                                                  entry.count, length, collection.mean_length())});
    }
    return weighted;
  };
}

WeightedText weigh_bm25_query(const CountedText& text) {
  WeightedText weighted;
  for (const WordCount& entry : text) {
    weighted.push_back({entry.word, static_cast<float>(entry.count)});
  }
  return weighted;
}

// Unit vectors, so that their product is the cosine.
Weigh weigh_tfidf(const WordCollection& collection) {
  return [&collection](const CountedText& text) {
    const double N = static_cast<double>(collection.texts().size());
    std::vector<double> weights;
    double squares = 0;
    for (const WordCount& entry : text) {
      const double df = static_cast<double>(collection.text_frequency(entry.word));
      weights.push_back(entry.count * (std::log((1 + N) / (1 + df)) + 1));
      squares += weights.back() * weights.back();
    }
    WeightedText weighted;
    for (size_t i = 0; i < text.size(); ++i) {
      weighted.push_back({text[i].word, static_cast<float>(weights[i] / std::sqrt(squares))});
    }
    return weighted;
  };
}

std::vector<WeightedText> weigh_all(const std::vector<CountedText>& texts, const Weigh& weigh) {
  std::vector<WeightedText> weighted;
  for (const CountedText& text : texts) weighted.push_back(weigh(text));
  return weighted;
}

std::vector<WeightedText> weigh_queries(const WordCollection& collection,
                                        const std::vector<std::string>& queries,
                                        const Weigh& weigh) {
  std::vector<WeightedText> weighted;
  for (const std::string& query : queries) {
    weighted.push_back(weigh(collection.count_words(query)));
  }
  return weighted;
}

WordCollection collect_pairs(const std::vector<std::string>& left,
                             const std::vector<std::string>& right) {
  std::unordered_set<std::string> seen;
  std::vector<std::string> texts;
  for (const auto* side : {&left, &right}) {
    for (const std::string& text : *side) {
      if (seen.insert(text).second) texts.push_back(text);
    }
  }
  return WordCollection(texts);
}

}  // namespace

std::vector<double> Bm25Scorer::score_pairs(const std::vector<std::string>& left,
                                            const std::vector<std::string>& right) {
  const WordCollection collection = collect_pairs(left, right);
  const Weigh weigh_document = weigh_bm25_documents(collection, bm25_);
  std::vector<double> scores;
  for (size_t i = 0; i < left.size(); ++i) {
    const CountedText a = collection.count_words(left[i]), b = collection.count_words(right[i]);
    scores.push_back((multiply(weigh_bm25_query(a), weigh_document(b)) +
                      multiply(weigh_bm25_query(b), weigh_document(a))) /
                     2);
  }
  return scores;
}

std::unique_ptr<CorpusScores> Bm25Scorer::score_corpus(const std::vector<std::string>& queries,
                                                       const std::vector<std::string>& corpus) {
  const WordCollection collection(corpus);
  return std::make_unique<WeightedScores>(
      weigh_queries(collection, queries, weigh_bm25_query),
      weigh_all(collection.texts(), weigh_bm25_documents(collection, bm25_)), collection.words());
}

std::vector<double> TfidfScorer::score_pairs(const std::vector<std::string>& left,
                                             const std::vector<std::string>& right) {
  const WordCollection collection = collect_pairs(left, right);
  const Weigh weigh = weigh_tfidf(collection);
  std::vector<double> scores;
  for (size_t i = 0; i < left.size(); ++i) {
    scores.push_back(
        multiply(weigh(collection.count_words(left[i])), weigh(collection.count_words(right[i]))));
  }
  return scores;
}

std::unique_ptr<CorpusScores> TfidfScorer::score_corpus(const std::vector<std::string>& queries,
                                                        const std::vector<std::string>& corpus) {
  const WordCollection collection(corpus);
  const Weigh weigh = weigh_tfidf(collection);
  return std::make_unique<WeightedScores>(weigh_queries(collection, queries, weigh),
                                          weigh_all(collection.texts(), weigh), collection.words());
}

std::unique_ptr<Scorer> make_lexical_scorer(const std::string& name) {
  if (name == "bm25") return std::make_unique<Bm25Scorer>();
  if (name == "tfidf") return std::make_unique<TfidfScorer>();
  return nullptr;
}

}  // namespace simile
