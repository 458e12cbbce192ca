// SPDX-License-Identifier: Apache-2.0
#include "simile/data/data_review.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <tuple>

#include "simile/data/line_reader.h"
#include "simile/text/utf8.h"

namespace simile {
namespace {

constexpr size_t kShownExamples = 2;
constexpr size_t kShownBytes = 80;

double share(int64_t part, int64_t all) {
  return all == 0 ? 0 : static_cast<double>(part) / static_cast<double>(all);
}

double share_common(const KeySet& a, const KeySet& b) {
  return share(count_common(a, b), static_cast<int64_t>(a.size()));
}

int64_t median_words(const std::vector<TextForm>& forms) {
  if (forms.empty()) return 0;
  std::vector<int32_t> words;
  words.reserve(forms.size());
  for (const TextForm& form : forms) words.push_back(form.words);
  const auto middle = words.begin() + static_cast<std::ptrdiff_t>(words.size() / 2);
  std::nth_element(words.begin(), middle, words.end());
  return *middle;
}

bool is_seen(const DataReview& training, const TextForm& text) {
  return text.is_telling() &&
         (contains(training.left, text.key) || contains(training.right, text.key));
}

// Distinct texts of `forms`, and those of them that are seen.
std::pair<int64_t, int64_t> count_seen(const DataReview& training,
                                       const std::vector<TextForm>& forms) {
  std::vector<uint64_t> seen;
  for (const TextForm& form : forms) {
    if (is_seen(training, form)) seen.push_back(form.key);
  }
  return {static_cast<int64_t>(key_set(forms).size()),
          static_cast<int64_t>(key_set(std::move(seen)).size())};
}

}  // namespace

DataReview review_pairs(const PairDataset& data, const std::string& file) {
  DataReview review;
  review.file = file;
  review.has_right = !data.right.empty();
  review.examples = data.size();
  const std::vector<TextForm> left = text_forms(data.left);
  std::vector<TextForm> right = text_forms(data.right);
  review.left_words = median_words(left);
  review.right_words = median_words(right);
  for (size_t i = 0; i < right.size(); ++i) review.equal_sides += left[i].key == right[i].key;
  std::vector<uint64_t> keys;
  keys.reserve(left.size());
  for (size_t i = 0; i < left.size(); ++i) {
    keys.push_back(right.empty() ? left[i].key : pair_key(left[i], right[i]));
  }
  review.keys = key_set(std::move(keys));
  review.duplicate_examples = review.examples - static_cast<int64_t>(review.keys.size());
  for (const auto& column : data.negatives) {
    const std::vector<TextForm> forms = text_forms(column);
    right.insert(right.end(), forms.begin(), forms.end());
  }
  review.texts = static_cast<int64_t>(left.size() + right.size());
  const auto is_empty = [](const TextForm& form) { return form.words == 0; };
  review.empty_texts = std::count_if(left.begin(), left.end(), is_empty) +
                       std::count_if(right.begin(), right.end(), is_empty);
  review.left = key_set(left);
  review.right = key_set(right);
  review.distinct_texts = static_cast<int64_t>(review.left.size() + review.right.size()) -
                          count_common(review.left, review.right);
  if (!data.score.empty()) {
    const auto [low, high] = std::minmax_element(data.score.begin(), data.score.end());
    review.score_minimum = *low;
    review.score_maximum = *high;
    review.score_mean = std::accumulate(data.score.begin(), data.score.end(), 0.0) /
                        static_cast<double>(data.score.size());
  }
  for (const std::string& name : data.class_names) review.classes.emplace_back(name, 0);
  for (const int32_t c : data.classes) ++review.classes[static_cast<size_t>(c)].second;
  return review;
}

TestTexts pair_texts(const PairDataset& data) {
  TestTexts texts;
  texts.left = &data.left;
  if (!data.right.empty()) texts.right = &data.right;
  for (int64_t i = 0; i < data.size(); ++i) texts.examples.emplace_back(i, i);
  return texts;
}

std::string TestTexts::text(size_t example) const {
  const auto [l, r] = examples[example];
  const std::string text =
      fmt::format("'{}'", shorten_text((*left)[static_cast<size_t>(l)], kShownBytes));
  if (right == nullptr) return text;
  return fmt::format("{} | '{}'", text,
                     shorten_text((*right)[static_cast<size_t>(r)], kShownBytes));
}

TestReview::TestReview(const TestTexts& texts) : is_ranking(texts.is_ranking) {
  const std::vector<TextForm> lefts = text_forms(*texts.left);
  const std::vector<TextForm> rights =
      texts.right == nullptr ? std::vector<TextForm>() : text_forms(*texts.right);
  left_words = median_words(lefts);
  right_words = median_words(rights);
  left = key_set(lefts);
  right = key_set(rights);
  std::vector<uint64_t> long_texts;
  for (const auto* side : {&lefts, &rights}) {
    if (is_ranking && side == &rights) continue;
    for (const TextForm& form : *side) {
      if (form.is_telling()) long_texts.push_back(form.key);
    }
  }
  telling = key_set(std::move(long_texts));
  size = static_cast<int64_t>(texts.examples.size());
  for (int64_t i = 0; i < size; ++i) {
    const auto [l, r] = texts.examples[static_cast<size_t>(i)];
    const TextForm& a = lefts[static_cast<size_t>(l)];
    const TextForm* b = texts.right == nullptr ? nullptr : &rights[static_cast<size_t>(r)];
    if (is_ranking) {
      queries.push_back(a);
      documents.push_back(*b);
    }
    if (!a.is_telling() && (b == nullptr || !b->is_telling())) continue;
    examples.emplace_back(b == nullptr ? a.key : pair_key(a, *b), i);
  }
}

double Leak::found_share() const { return share(found, examples); }

double Leak::texts_share() const { return share(texts_found, texts); }

Leak find_leak(const DataReview& training, const TestReview& test) {
  Leak leak;
  leak.examples = test.size;
  // Single texts leak as such, whether they were trained on alone or in pairs; a pair only as one.
  const bool single_test = test.right.empty();
  for (const auto& [key, number] : test.examples) {
    const bool is_found = single_test
                              ? contains(training.left, key) || contains(training.right, key)
                              : training.has_right && contains(training.keys, key);
    if (!is_found) continue;
    ++leak.found;
    if (leak.first.size() < kShownExamples) leak.first.push_back(number);
  }
  std::tie(leak.queries, leak.queries_found) = count_seen(training, test.queries);
  std::tie(leak.documents, leak.documents_found) = count_seen(training, test.documents);
  leak.examples_of_seen =
      std::count_if(test.documents.begin(), test.documents.end(),
                    [&](const TextForm& document) { return is_seen(training, document); });
  leak.texts = static_cast<int64_t>(test.telling.size());
  for (const uint64_t key : test.telling) {
    leak.texts_found += contains(training.left, key) || contains(training.right, key) ? 1 : 0;
  }
  return leak;
}

SideMatch match_sides(const DataReview& training, const TestReview& test) {
  SideMatch match;
  if (!training.has_right || test.right.empty()) return match;
  match.straight =
      std::max(share_common(training.left, test.left), share_common(training.right, test.right));
  match.exchanged =
      std::max(share_common(training.left, test.right), share_common(training.right, test.left));
  match.exchanged_texts =
      std::max(count_common(training.left, test.right), count_common(training.right, test.left));
  const auto twice = [](int64_t a, int64_t b) { return a >= 2 * b && b > 0; };
  match.lengths_oppose = (twice(training.left_words, training.right_words) &&
                          twice(test.right_words, test.left_words)) ||
                         (twice(training.right_words, training.left_words) &&
                          twice(test.left_words, test.right_words));
  return match;
}

}  // namespace simile
