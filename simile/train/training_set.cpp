// SPDX-License-Identifier: Apache-2.0
#include "simile/train/training_set.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <unordered_map>

#include "simile/core/check.h"
#include "simile/core/hash.h"
#include "simile/loss/loss.h"

namespace simile {
namespace {

constexpr int64_t kTextsHashed = 4096;       // at a time
constexpr size_t kTextsTokenised = 1 << 16;  // at a time

// Numbers distinct texts in order of appearance. Texts are known by their hashes, so that each is
// held once: taken out of the columns, which are emptied.
class TextNumbers {
 public:
  struct Column {
    std::vector<int32_t> numbers;
    std::vector<std::string> added;  // texts that are new, in the order of their numbers
  };
  Column number(std::vector<std::string>& texts, const std::string& prompt) {
    Column column;
    column.numbers.reserve(texts.size());
    for (std::string& text : texts) {
      const auto [found, is_new] =
          numbers_.emplace(prompt.empty() ? hash_key(text) : hash_key(prompt + '\0' + text),
                           static_cast<int32_t>(numbers_.size()));
      if (is_new) column.added.push_back(std::move(text));
      column.numbers.push_back(found->second);
    }
    texts = {};
    return column;
  }

 private:
  struct LowHalf {
    size_t operator()(const HashKey& key) const { return key.low; }
  };

  std::unordered_map<HashKey, int32_t, LowHalf> numbers_;
};

LossData describe_data(const PairDataset& pairs, const TrainingSetSource& source) {
  LossData data;
  const bool is_joint = source.head != nullptr && source.head->input == "joint";
  data.has_right = !pairs.right.empty() && !is_joint;
  data.negatives = static_cast<int64_t>(pairs.negatives.size());
  data.file = source.data.file();
  data.has_target = pairs.has_scores;
  data.score_offset = source.data.score_offset;
  data.score_scale = source.data.score_scale;
  const auto [low, high] = std::minmax_element(pairs.score.begin(), pairs.score.end());
  data.target_minimum = *low;
  data.target_maximum = *high;
  data.classes = static_cast<int64_t>(pairs.class_names.size());
  return data;
}

std::vector<std::string> put_before(const std::string& prompt, std::vector<std::string> texts) {
  if (!prompt.empty()) {
    for (std::string& text : texts) text.insert(0, prompt);
  }
  return texts;
}

// Checks that the examples have the form that the head reads.
void check_head_data(const PairDataset& pairs, const TrainingSetSource& source) {
  if (source.head == nullptr) return;
  const std::string& input = source.head->input;
  const bool is_single = pairs.right.empty();
  SIMILE_CHECK((input == "single") == is_single, ErrorKind::kRecipe,
               "{}: the head '{}' has `input: {}`, the data has {}; map other columns or "
               "take another head",
               source.data.file(), source.head->name, input, is_single ? "single texts" : "pairs");
  if (input != "joint") return;
  SIMILE_CHECK(pairs.negatives.empty(), ErrorKind::kRecipe,
               "{}: the head '{}' reads both texts as one sequence, so negative columns "
               "have no use; remove them",
               source.data.file(), source.head->name);
}

// The data's classes as the head numbers them; as they are without a head of classes.
std::vector<int32_t> head_classes(const PairDataset& pairs, const TrainingSetSource& source) {
  if (source.head == nullptr || source.head->class_names.empty()) return pairs.classes;
  const std::vector<int32_t> number =
      match_classes(pairs.class_names, source.head->class_names, source.data.file());
  std::vector<int32_t> classes;
  for (const int32_t c : pairs.classes) classes.push_back(number[static_cast<size_t>(c)]);
  return classes;
}

// Number of `texts`, with token ids `ids`, that are longer than the tokenizer's limit.
int64_t count_cut(const Tokenizer& tokenizer, const std::vector<std::string>& texts,
                  const std::vector<std::vector<int32_t>>& ids) {
  const auto limit = static_cast<size_t>(tokenizer.max_length());
  std::vector<std::string> full;
  for (size_t i = 0; limit > 0 && i < texts.size(); ++i) {
    if (ids[i].size() == limit) full.push_back(texts[i]);
  }
  Tokenizer longer = tokenizer;
  longer.set_max_length(tokenizer.max_length() + 1);
  const auto reread = longer.encode_ids_batch(full);
  return std::count_if(reread.begin(), reread.end(),
                       [&](const auto& sequence) { return sequence.size() > limit; });
}

// Block by block, so that a text makes room for its ids.
void tokenise_texts(std::vector<std::string> texts, const Tokenizer& tokenizer,
                    const std::string& prompt, bool keep_originals, TrainingSet& set) {
  set.texts.reserve(set.texts.size() + texts.size());
  for (size_t begin = 0; begin < texts.size(); begin += kTextsTokenised) {
    const auto first = texts.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto last =
        first + static_cast<std::ptrdiff_t>(std::min(kTextsTokenised, texts.size() - begin));
    if (keep_originals) set.originals.insert(set.originals.end(), first, last);
    const std::vector<std::string> block =
        put_before(prompt, {std::make_move_iterator(first), std::make_move_iterator(last)});
    std::vector<std::vector<int32_t>> ids = tokenizer.encode_ids_batch(block);
    set.cut_texts += count_cut(tokenizer, block, ids);
    for (std::vector<int32_t>& sequence : ids) {
      sequence.shrink_to_fit();
      set.texts.push_back(std::move(sequence));
    }
  }
}

// The texts of all columns, which are emptied, each once and in order of appearance.
void tokenise_columns(PairDataset& pairs, const Tokenizer& tokenizer,
                      const TrainingSetSource& source, TrainingSet& set) {
  TextNumbers numbers;
  const auto add = [&](std::vector<std::string>& texts, const std::string& prompt) {
    TextNumbers::Column column = numbers.number(texts, prompt);
    tokenise_texts(std::move(column.added), tokenizer, prompt, source.keep_originals, set);
    return std::move(column.numbers);
  };
  set.left = add(pairs.left, source.prompts.left);
  set.right = add(pairs.right, source.prompts.right);
  for (auto& texts : pairs.negatives) set.negatives.push_back(add(texts, source.prompts.right));
}

void tokenise_joint(const PairDataset& pairs, const Tokenizer& tokenizer, int64_t token_types,
                    TrainingSet& set) {
  for (Encoding& encoding : tokenizer.encode_pair_batch(pairs.left, pairs.right)) {
    const auto first = token_types > 1
                           ? std::find(encoding.type_ids.begin(), encoding.type_ids.end(), 1)
                           : encoding.type_ids.end();
    set.cut_texts += encoding.dropped > 0 ? 1 : 0;
    set.second.push_back(static_cast<int32_t>(first - encoding.type_ids.begin()));
    set.left.push_back(static_cast<int32_t>(set.texts.size()));
    set.texts.push_back(std::move(encoding.ids));
  }
}

Tokenizer with_limit(const TrainingSetSource& source) {
  Tokenizer tokenizer = source.tokenizer;
  SIMILE_CHECK(source.max_length <= tokenizer.max_length(), ErrorKind::kRecipe,
               "{}: the objective's max_length is {}, that of the run {}: evaluations and "
               "the saved model would cut its texts; raise the run's max_length",
               source.data.file(), source.max_length, tokenizer.max_length());
  if (source.max_length > 0) tokenizer.set_max_length(source.max_length);
  return tokenizer;
}

}  // namespace

// A hash of blocks of texts, so that memory holds but one.
std::string fingerprint_texts(const TrainingSet& set) {
  std::string hashes;
  const auto texts = static_cast<int64_t>(set.texts.size());
  for (int64_t begin = 0; begin < texts; begin += kTextsHashed) {
    std::string bytes;
    const auto add = [&bytes](std::string_view text) {
      bytes += fmt::format("{} ", text.size());
      bytes += text;
    };
    for (int64_t i = begin; i < std::min(texts, begin + kTextsHashed); ++i) {
      add(bytes_of(set.texts[static_cast<size_t>(i)]));
      if (!set.originals.empty()) add(set.originals[static_cast<size_t>(i)]);
    }
    hashes += hash_bytes(bytes);
  }
  return hash_bytes(hashes);
}

std::string fingerprint_examples(const TrainingSet& set) {
  std::string hashes = fingerprint_texts(set);
  for (const auto* column : {&set.second, &set.left, &set.right, &set.classes}) {
    hashes += hash_bytes(bytes_of(*column));
  }
  for (const auto& column : set.negatives) hashes += hash_bytes(bytes_of(column));
  return hash_bytes(hashes + hash_bytes(bytes_of(set.target)));
}

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

ColumnPrompts find_column_prompts(const ColumnPromptOptions& options, const ModelSettings& settings,
                                  const HeadSettings* head) {
  if (!options.is_set()) return {};
  SIMILE_CHECK(head == nullptr || head->input != "joint", ErrorKind::kRecipe,
               "`prompts` are put before single texts, and a joint head reads two texts as one "
               "sequence; remove them");
  SIMILE_CHECK(settings.pooling.include_prompt, ErrorKind::kRecipe,
               "the model leaves prompts out of pooling (\"include_prompt\" false), which training "
               "does not support; remove `prompts` or set \"include_prompt\" to true");
  const auto find = [&settings](const std::string& prompt) {
    const auto named = settings.prompts.find(prompt);
    if (named != settings.prompts.end()) return named->second;
    std::vector<std::string> names;
    for (const auto& [name, text] : settings.prompts) names.push_back(name);
    const bool is_word = std::all_of(prompt.begin(), prompt.end(), [](unsigned char c) {
      return std::isalnum(c) != 0 || c == '_' || c == '-';
    });
    SIMILE_CHECK(prompt.empty() || !is_word, ErrorKind::kRecipe,
                 "`prompts`: the model has no prompt '{}'{}; it has {}. A text to put before texts "
                 "ends in a space or a colon",
                 prompt, did_you_mean(prompt, names),
                 names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")));
    return prompt;
  };
  return {find(options.left), find(options.right)};
}

std::vector<std::vector<int32_t>> tokenise_as(const TrainingSetSource& source,
                                              const std::vector<std::string>& texts) {
  return with_limit(source).encode_ids_batch(put_before(source.prompts.right, texts));
}

TrainingSet read_training_set(const TrainingSetSource& source, EventSink& events) {
  const Tokenizer tokenizer = with_limit(source);
  PairDataset pairs = read_pairs(source.data);
  check_head_data(pairs, source);
  if (!pairs.report.warning().empty()) events.warning(pairs.report.warning());
  for (const std::string& note : pairs.notes) events.info(note);

  TrainingSet set;
  set.file = source.data.file();
  set.offer = describe_data(pairs, source);
  set.target.assign(pairs.score.begin(), pairs.score.end());
  set.classes = head_classes(pairs, source);
  set.review = review_pairs(pairs, set.file);
  set.max_length = tokenizer.max_length();
  if (source.head != nullptr && source.head->input == "joint") {
    tokenise_joint(pairs, tokenizer, source.token_types, set);
  } else {
    tokenise_columns(pairs, tokenizer, source, set);
  }
  return set;
}

}  // namespace simile
