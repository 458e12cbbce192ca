// SPDX-License-Identifier: Apache-2.0
#include "simile/train/training_set.h"

#include <fmt/format.h>

#include <string_view>
#include <unordered_map>

#include "simile/core/error.h"

namespace simile {
namespace {

// Numbers distinct texts in order of appearance.
class TextNumbers {
 public:
  std::vector<int32_t> number(const std::vector<std::string>& column) {
    std::vector<int32_t> out;
    out.reserve(column.size());
    for (const std::string& text : column) {
      const auto [found, is_new] = numbers_.emplace(text, static_cast<int32_t>(texts_.size()));
      if (is_new) texts_.push_back(text);
      out.push_back(found->second);
    }
    return out;
  }
  const std::vector<std::string>& texts() const { return texts_; }

 private:
  std::unordered_map<std::string_view, int32_t> numbers_;  // views into the columns numbered
  std::vector<std::string> texts_;
};

}  // namespace

TrainingSet make_training_set(const PairDataset& pairs, const Tokenizer& tokenizer,
                              EventSink& events) {
  SIMILE_CHECK(pairs.size() > 0, ErrorKind::kInput, "the training data has no pairs");
  TrainingSet set;
  TextNumbers numbers;
  set.left = numbers.number(pairs.left);
  set.right = numbers.number(pairs.right);
  for (const auto& column : pairs.negatives) set.negatives.push_back(numbers.number(column));
  set.target.assign(pairs.score.begin(), pairs.score.end());

  set.texts = tokenizer.encode_ids_batch(numbers.texts());
  size_t tokens = 0, at_limit = 0;
  for (const auto& ids : set.texts) {
    tokens += ids.size();
    at_limit += static_cast<int64_t>(ids.size()) == tokenizer.max_length() ? 1 : 0;
  }
  events.info(fmt::format("{} pairs, {} distinct texts of {:.1f} tokens, {} of them at the limit of {}",
                          set.size(), set.texts.size(),
                          static_cast<double>(tokens) / static_cast<double>(set.texts.size()),
                          at_limit, tokenizer.max_length()));
  return set;
}

}  // namespace simile
