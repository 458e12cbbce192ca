// SPDX-License-Identifier: Apache-2.0
#include "simile/eval/shared_texts.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "simile/eval/task.h"

namespace simile {

std::vector<std::string> distinct_texts(const std::vector<std::string>& left,
                                        const std::vector<std::string>& right) {
  std::unordered_set<std::string_view> seen;
  std::vector<std::string> texts;
  for (const auto* side : {&left, &right}) {
    std::copy_if(side->begin(), side->end(), std::back_inserter(texts),
                 [&](const std::string& text) { return seen.insert(text).second; });
  }
  return texts;
}

SharedTexts::SharedTexts(const std::vector<const Task*>& tasks, int64_t scorers) {
  if (tasks.size() < 2 && scorers < 2) return;
  std::unordered_set<std::string_view> of_earlier, of_this;
  for (const Task* task : tasks) {
    const TestTexts texts = task->texts();
    of_this.clear();
    for (const std::vector<std::string>* side : {texts.left, texts.right}) {
      if (side != nullptr) of_this.insert(side->begin(), side->end());
    }
    for (const std::string_view text : of_this) {
      if (scorers > 1 || !of_earlier.insert(text).second) places_.emplace(text, size());
    }
  }
}

int64_t SharedTexts::place(const std::string& text) const {
  const auto found = places_.find(text);
  return found == places_.end() ? -1 : found->second;
}

EmbedTexts embed_shared_once(EmbedTexts embed, std::shared_ptr<const SharedTexts> shared) {
  struct Kept {
    std::vector<bool> has;       // [places]
    std::vector<float> vectors;  // [places, D], made when the first is kept
    int64_t D = 0;
  };
  const auto kept = std::make_shared<Kept>();
  kept->has.resize(static_cast<size_t>(shared->size()));
  return [embed = std::move(embed), shared = std::move(shared),
          kept](const std::vector<std::string>& texts) {
    auto& [has, vectors, D] = *kept;
    std::vector<int64_t> places;  // of each text
    std::vector<std::string> others;
    for (const std::string& text : texts) {
      places.push_back(shared->place(text));
      if (places.back() < 0 || !has[static_cast<size_t>(places.back())]) others.push_back(text);
    }
    const bool are_all_new = others.size() == texts.size();
    Matrix<float> fresh = are_all_new || !others.empty() ? embed(others) : Matrix<float>();
    if (!others.empty()) D = fresh.cols;
    Matrix<float> all(are_all_new ? 0 : static_cast<int64_t>(texts.size()), D);
    int64_t next = 0;
    for (size_t i = 0; i < texts.size(); ++i) {
      const bool is_shared = places[i] >= 0;
      const bool is_kept = is_shared && has[static_cast<size_t>(places[i])];
      if (is_shared && vectors.empty()) vectors.resize(has.size() * static_cast<size_t>(D));
      float* const own = is_shared ? vectors.data() + places[i] * D : nullptr;
      const float* const from = is_kept ? own : fresh.row(next++);
      if (!are_all_new) std::copy_n(from, D, all.row(static_cast<int64_t>(i)));
      if (!is_shared || is_kept) continue;
      std::copy_n(from, D, own);
      has[static_cast<size_t>(places[i])] = true;
    }
    return are_all_new ? std::move(fresh) : std::move(all);
  };
}

}  // namespace simile
