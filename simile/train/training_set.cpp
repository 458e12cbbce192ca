// SPDX-License-Identifier: Apache-2.0
#include "simile/train/training_set.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

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

LossData describe_data(const PairDataset& pairs, const TrainingSetSource& source) {
  LossData data;
  const bool is_joint = source.head != nullptr && source.head->input == "joint";
  data.has_right = !pairs.right.empty() && !is_joint;
  data.negatives = static_cast<int64_t>(pairs.negatives.size());
  data.has_target = source.data.has_scores();
  const auto [low, high] = std::minmax_element(pairs.score.begin(), pairs.score.end());
  data.target_minimum = *low;
  data.target_maximum = *high;
  data.classes = static_cast<int64_t>(pairs.class_names.size());
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

// What kind of examples a head reads.
void check_head_data(const PairDataset& pairs, const TrainingSetSource& source) {
  if (source.head == nullptr) return;
  const std::string& input = source.head->input;
  const bool is_single = pairs.right.empty();
  SIMILE_CHECK(
      (input == "single") == is_single, ErrorKind::kRecipe,
      fmt::format("{}: the head '{}' has `input: {}`, the data has {}; map other columns or "
                  "take another head",
                  source.data.file(), source.head->name, input,
                  is_single ? "single texts" : "pairs"));
  if (input != "joint") return;
  SIMILE_CHECK(
      pairs.negatives.empty(), ErrorKind::kRecipe,
      fmt::format("{}: the head '{}' reads both texts as one sequence, so negative columns "
                  "have no use; remove them",
                  source.data.file(), source.head->name));
}

// The data's classes as the head numbers them; as they are without a head of classes.
std::vector<int32_t> head_classes(const PairDataset& pairs, const TrainingSetSource& source) {
  if (source.head == nullptr || source.head->class_names.empty()) return pairs.classes;
  const std::vector<std::string>& known = source.head->class_names;
  std::vector<int32_t> number;
  for (const std::string& name : pairs.class_names) {
    const auto found = std::find(known.begin(), known.end(), name);
    SIMILE_CHECK(
        found != known.end(), ErrorKind::kRecipe,
        fmt::format("{}: the class '{}' is none of the head '{}', which knows {}; name all "
                    "of them in the head's class_names",
                    source.data.file(), name, source.head->name, fmt::join(known, ", ")));
    number.push_back(static_cast<int32_t>(found - known.begin()));
  }
  std::vector<int32_t> classes;
  for (const int32_t c : pairs.classes) classes.push_back(number[static_cast<size_t>(c)]);
  return classes;
}

void tokenise_texts(const PairDataset& pairs, const Tokenizer& tokenizer, const std::string& prompt,
                    bool keep_originals, TrainingSet& set) {
  TextNumbers numbers;
  set.left = numbers.number(pairs.left);
  set.right = numbers.number(pairs.right);
  for (const auto& column : pairs.negatives) set.negatives.push_back(numbers.number(column));
  set.texts = tokenizer.encode_ids_batch(put_before(prompt, numbers.texts()));
  if (keep_originals) set.originals = numbers.texts();
}

void tokenise_joint(const PairDataset& pairs, const Tokenizer& tokenizer, int64_t token_types,
                    TrainingSet& set) {
  for (Encoding& encoding : tokenizer.encode_pair_batch(pairs.left, pairs.right)) {
    const auto first = token_types > 1
                           ? std::find(encoding.type_ids.begin(), encoding.type_ids.end(), 1)
                           : encoding.type_ids.end();
    set.second.push_back(static_cast<int32_t>(first - encoding.type_ids.begin()));
    set.left.push_back(static_cast<int32_t>(set.texts.size()));
    set.texts.push_back(std::move(encoding.ids));
  }
}

void tell_sizes(const TrainingSet& set, int64_t limit, EventSink& events) {
  size_t tokens = 0, at_limit = 0;
  for (const auto& ids : set.texts) {
    tokens += ids.size();
    at_limit += static_cast<int64_t>(ids.size()) == limit ? 1 : 0;
  }
  events.info(fmt::format(
      "{}: {} {}, {} distinct {} of {:.1f} tokens, {} of them at the limit of {}", set.file,
      set.size(), set.right.empty() && set.second.empty() ? "texts" : "pairs", set.texts.size(),
      set.second.empty() ? "texts" : "joint sequences",
      static_cast<double>(tokens) / static_cast<double>(set.texts.size()), at_limit, limit));
}

Tokenizer with_limit(const TrainingSetSource& source) {
  Tokenizer tokenizer = source.tokenizer;
  SIMILE_CHECK(
      source.max_length <= tokenizer.max_length(), ErrorKind::kRecipe,
      fmt::format("{}: the objective's max_length is {}, that of the run {}: evaluations and "
                  "the saved model would cut its texts; raise the run's max_length",
                  source.data.file(), source.max_length, tokenizer.max_length()));
  if (source.max_length > 0) tokenizer.set_max_length(source.max_length);
  return tokenizer;
}

}  // namespace

std::vector<int32_t> TrainingSet::texts_of(const std::vector<int32_t>& examples) const {
  std::vector<int32_t> picked;
  const auto pick = [&](const std::vector<int32_t>& column) {
    if (column.empty()) return;
    for (const int32_t i : examples) picked.push_back(column[static_cast<size_t>(i)]);
  };
  pick(left);
  pick(right);
  for (const auto& column : negatives) pick(column);
  return picked;
}

TrainingSet read_training_set(const TrainingSetSource& source, EventSink& events) {
  const Tokenizer tokenizer = with_limit(source);
  const PairDataset pairs = read_pairs(source.data);
  check_head_data(pairs, source);
  if (!pairs.report.warning().empty()) events.warning(pairs.report.warning());
  for (const std::string& note : pairs.notes) events.info(note);
  check_negatives(pairs, source.data);

  TrainingSet set;
  set.file = source.data.file();
  set.offer = describe_data(pairs, source);
  set.target.assign(pairs.score.begin(), pairs.score.end());
  set.classes = head_classes(pairs, source);
  if (source.head != nullptr && source.head->input == "joint") {
    tokenise_joint(pairs, tokenizer, source.token_types, set);
  } else {
    tokenise_texts(pairs, tokenizer, source.prompt, source.keep_originals, set);
  }
  tell_sizes(set, tokenizer.max_length(), events);
  return set;
}

}  // namespace simile
