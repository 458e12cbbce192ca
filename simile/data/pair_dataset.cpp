// SPDX-License-Identifier: Apache-2.0
#include "simile/data/pair_dataset.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string_view>
#include <unordered_map>

#include "simile/core/check.h"
#include "simile/core/random.h"
#include "simile/text/words.h"

namespace simile {
namespace {

template <typename T>
void keep(const std::vector<char>& is_kept, std::vector<T>& items) {
  if (items.empty()) return;
  size_t next = 0;
  for (size_t i = 0; i < is_kept.size(); ++i) {
    if (is_kept[i] == 0) continue;
    if (next != i) items[next] = std::move(items[i]);
    ++next;
  }
  items.resize(next);
}

struct Group {
  std::string_view key;
  int64_t size;
  uint64_t hash;
  int64_t fold = 0;
};

void check_options(const FoldOptions& options, const std::string& file) {
  SIMILE_CHECK(options.folds >= 2, ErrorKind::kRecipe,
               "{}: fold and part need folds, of at least 2; found {}", file, options.folds);
  SIMILE_CHECK(options.fold >= 0 && options.fold < options.folds, ErrorKind::kRecipe,
               "{}: fold: expected 0 to {}, as there are {} folds, found {}", file,
               options.folds - 1, options.folds, options.fold);
  const bool keeps_dev = options.part == "dev" || options.part == "fit";
  SIMILE_CHECK(
      options.part == "train" || options.part == "test" || keeps_dev, ErrorKind::kRecipe,
      "{}: with folds, part says what is read: expected train, test, dev or fit, found '{}'", file,
      options.part);
  SIMILE_CHECK(!keeps_dev || options.folds >= 3, ErrorKind::kRecipe,
               "{}: part {} needs at least 3 folds, as test and dev take one each; found {}", file,
               options.part, options.folds);
}

// Whether a group of this fold is in the part.
bool is_in_part(const FoldOptions& options, int64_t fold) {
  const bool is_test = fold == options.fold;
  const bool is_dev = fold == (options.fold + 1) % options.folds;
  if (options.part == "test") return is_test;
  if (options.part == "dev") return is_dev;
  return !is_test && (options.part == "train" || !is_dev);
}

// Largest first.
void deal(std::vector<Group>& groups, int64_t folds) {
  std::sort(groups.begin(), groups.end(), [](const Group& a, const Group& b) {
    if (a.size != b.size) return a.size > b.size;
    return a.hash != b.hash ? a.hash < b.hash : a.key < b.key;
  });
  std::vector<int64_t> load(static_cast<size_t>(folds));
  for (Group& group : groups) {
    const auto least = std::min_element(load.begin(), load.end());
    group.fold = least - load.begin();
    *least += group.size;
  }
}

std::string describe(const FoldOptions& options, const std::vector<Group>& groups, int64_t items,
                     int64_t kept, const std::string& file, const std::string& unit) {
  const auto kept_groups = std::count_if(groups.begin(), groups.end(), [&](const Group& group) {
    return is_in_part(options, group.fold);
  });
  const int64_t largest = groups.front().size;
  const bool uneven = largest * options.folds > items * 2;
  return fmt::format(
      "{}: {} part of fold {} of {}: {} of {} {}, {} of {} groups{}", file, options.part,
      options.fold, options.folds, kept, items, unit, kept_groups, groups.size(),
      uneven ? fmt::format("; the largest group holds {}, so the folds cannot be of equal size",
                           largest)
             : "");
}

// Sets that grow together (union by the smaller root, with path halving).
class Components {
 public:
  explicit Components(size_t size) : parent_(size) {
    std::iota(parent_.begin(), parent_.end(), size_t{0});
  }
  size_t find(size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void join(size_t a, size_t b) {
    a = find(a);
    b = find(b);
    parent_[std::max(a, b)] = std::min(a, b);
  }

 private:
  std::vector<size_t> parent_;
};

std::vector<std::string> component_keys(const PairDataset& data) {
  const size_t size = data.left.size();
  Components components(size);
  std::unordered_map<std::string, size_t> first;  // the first pair with each text
  const auto join = [&](const std::vector<std::string>& texts) {
    for (size_t i = 0; i < texts.size(); ++i) {
      if (texts[i].empty()) continue;
      components.join(i, first.emplace(comparison_key(texts[i]), i).first->second);
    }
  };
  join(data.left);
  join(data.right);
  for (const auto& column : data.negatives) join(column);
  std::vector<const std::string*> smallest(size, nullptr);
  for (const auto& [form, pair] : first) {
    const std::string*& key = smallest[components.find(pair)];
    if (key == nullptr || form < *key) key = &form;
  }
  std::vector<std::string> keys(size);
  for (size_t i = 0; i < size; ++i) {
    const std::string* key = smallest[components.find(i)];
    if (key != nullptr) keys[i] = *key;
  }
  return keys;
}

}  // namespace

void keep_pairs(const std::vector<char>& is_kept, PairDataset& data) {
  keep(is_kept, data.left);
  keep(is_kept, data.right);
  keep(is_kept, data.score);
  keep(is_kept, data.group);
  keep(is_kept, data.classes);
  for (auto& column : data.negatives) keep(is_kept, column);
}

std::vector<std::string> fold_groups(const PairDataset& data) {
  if (data.group.empty()) return component_keys(data);
  std::vector<std::string> keys = data.group;
  for (size_t i = 0; i < keys.size(); ++i) {
    if (!keys[i].empty()) continue;
    keys[i] = "\t" + comparison_key(data.left[i]);
    if (!data.right.empty()) keys[i] += "\t" + comparison_key(data.right[i]);
  }
  return keys;
}

FoldPart choose_part(const FoldOptions& options, const std::vector<std::string>& groups,
                     const std::string& file, const std::string& unit) {
  FoldPart part;
  part.is_kept.assign(groups.size(), 1);
  if (!options.is_set()) return part;
  check_options(options, file);
  std::map<std::string_view, int64_t> sizes;
  for (const std::string& group : groups) ++sizes[group];
  std::vector<Group> dealt;
  for (const auto& [key, size] : sizes) {
    dealt.push_back({key, size, stream_key(static_cast<uint64_t>(options.fold_seed), key)});
  }
  SIMILE_CHECK(static_cast<int64_t>(dealt.size()) >= options.folds, ErrorKind::kInput,
               "{}: {} folds need as many groups of equal texts, and there are {}; take fewer "
               "folds, another "
               "group column, or files of their own for dev and test",
               file, options.folds, dealt.size());
  deal(dealt, options.folds);
  std::unordered_map<std::string_view, int64_t> fold;
  for (const Group& group : dealt) fold.emplace(group.key, group.fold);
  for (size_t i = 0; i < groups.size(); ++i) {
    part.is_kept[i] = is_in_part(options, fold.at(groups[i])) ? 1 : 0;
  }
  const auto kept = std::count(part.is_kept.begin(), part.is_kept.end(), 1);
  part.note = describe(options, dealt, static_cast<int64_t>(groups.size()), kept, file, unit);
  return part;
}

}  // namespace simile
