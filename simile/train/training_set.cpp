// SPDX-License-Identifier: Apache-2.0
#include "simile/train/training_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "simile/core/error.h"
#include "simile/loss/loss.h"

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

LossData describe_data(const PairDataset& pairs, const PairDataOptions& options) {
  LossData data;
  data.negatives = static_cast<int64_t>(pairs.negatives.size());
  data.has_target = options.has_scores();
  const auto [low, high] = std::minmax_element(pairs.score.begin(), pairs.score.end());
  data.target_minimum = *low;
  data.target_maximum = *high;
  return data;
}

// Only a table can lack texts: pairs that are made have all theirs.
void check_negatives(const PairDataset& pairs, const PairDataOptions& options) {
  for (size_t column = 0; column < options.negatives.size(); ++column) {
    const auto& texts = pairs.negatives[column];
    const auto empty = std::find(texts.begin(), texts.end(), "");
    SIMILE_CHECK(
        empty == texts.end(), ErrorKind::kInput,
        fmt::format("{}: pair {} (numbered from 0) has no text in the negative column '{}'; "
                    "give every pair one, or leave the column out",
                    options.path, empty - texts.begin(), options.negatives[column]));
  }
}

std::vector<std::string> put_before(const std::string& prompt, std::vector<std::string> texts) {
  if (!prompt.empty()) {
    for (std::string& text : texts) text.insert(0, prompt);
  }
  return texts;
}

}  // namespace

TrainingSet read_training_set(const ObjectiveOptions& objective, const Tokenizer& tokenizer,
                              const std::string& prompt, EventSink& events) {
  const PairDataset pairs = read_pairs(objective.data);
  for (const std::string& warning : loss_option_warnings(objective.loss)) events.warning(warning);
  for (const std::string& warning :
       check_loss_data(objective.loss, describe_data(pairs, objective.data))) {
    events.warning(warning);
  }
  if (!pairs.report.warning().empty()) events.warning(pairs.report.warning());
  for (const std::string& note : pairs.notes) events.info(note);
  check_negatives(pairs, objective.data);

  TrainingSet set;
  TextNumbers numbers;
  set.left = numbers.number(pairs.left);
  set.right = numbers.number(pairs.right);
  for (const auto& column : pairs.negatives) set.negatives.push_back(numbers.number(column));
  set.target.assign(pairs.score.begin(), pairs.score.end());
  set.texts = tokenizer.encode_ids_batch(put_before(prompt, numbers.texts()));

  size_t tokens = 0, at_limit = 0;
  for (const auto& ids : set.texts) {
    tokens += ids.size();
    at_limit += static_cast<int64_t>(ids.size()) == tokenizer.max_length() ? 1 : 0;
  }
  events.info(
      fmt::format("{}: {} pairs, {} distinct texts of {:.1f} tokens, {} of them at the limit of {}",
                  objective.data.file(), set.size(), set.texts.size(),
                  static_cast<double>(tokens) / static_cast<double>(set.texts.size()), at_limit,
                  tokenizer.max_length()));
  return set;
}

}  // namespace simile
