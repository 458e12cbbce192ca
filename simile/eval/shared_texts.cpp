// SPDX-License-Identifier: Apache-2.0
#include "simile/eval/shared_texts.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "simile/eval/task.h"

namespace simile {
namespace {

class KeptVectors {
 public:
  KeptVectors(EmbedTexts embed, std::shared_ptr<const SharedTexts> shared)
      : embed_(std::move(embed)),
        shared_(std::move(shared)),
        is_kept_(static_cast<size_t>(shared_->size())) {}

  Matrix<float> embed(const std::vector<std::string>& texts) {
    std::vector<const float*> kept;  // of each text; null: it is among `others`
    std::vector<std::string> others;
    for (const std::string& text : texts) {
      kept.push_back(find(text));
      if (kept.back() == nullptr) others.push_back(text);
    }
    if (others.size() == texts.size()) return embed_new(texts);
    const Matrix<float> fresh = others.empty() ? Matrix<float>() : embed_new(others);
    Matrix<float> all(static_cast<int64_t>(texts.size()), D_);
    int64_t next_fresh = 0;
    for (size_t i = 0; i < texts.size(); ++i) {
      const float* from = kept[i] != nullptr ? kept[i] : fresh.row(next_fresh++);
      std::copy_n(from, D_, all.row(static_cast<int64_t>(i)));
    }
    return all;
  }

 private:
  // Null where it is not kept.
  const float* find(const std::string& text) const {
    const int64_t place = shared_->place(text);
    if (place < 0 || !is_kept_[static_cast<size_t>(place)]) return nullptr;
    return vectors_.data() + place * D_;
  }

  Matrix<float> embed_new(const std::vector<std::string>& texts) {
    Matrix<float> vectors = embed_(texts);
    D_ = vectors.cols;
    for (size_t i = 0; i < texts.size(); ++i) {
      const int64_t place = shared_->place(texts[i]);
      if (place < 0) continue;
      if (vectors_.empty()) vectors_.resize(is_kept_.size() * static_cast<size_t>(D_));
      std::copy_n(vectors.row(static_cast<int64_t>(i)), D_, vectors_.data() + place * D_);
      is_kept_[static_cast<size_t>(place)] = true;
    }
    return vectors;
  }

  EmbedTexts embed_;
  std::shared_ptr<const SharedTexts> shared_;
  std::vector<bool> is_kept_;   // [places]
  std::vector<float> vectors_;  // [places, D], made when the first is kept
  int64_t D_ = 0;
};

}  // namespace

SharedTexts::SharedTexts(const std::vector<const Task*>& tasks) {
  if (tasks.size() < 2) return;
  std::unordered_set<std::string_view> of_earlier, of_this;
  for (const Task* task : tasks) {
    const TestTexts texts = task->texts();
    of_this.clear();
    for (const std::vector<std::string>* side : {texts.left, texts.right}) {
      if (side != nullptr) of_this.insert(side->begin(), side->end());
    }
    for (const std::string_view text : of_this) {
      if (!of_earlier.insert(text).second) places_.emplace(text, size());
    }
  }
}

int64_t SharedTexts::place(const std::string& text) const {
  const auto found = places_.find(text);
  return found == places_.end() ? -1 : found->second;
}

EmbedTexts embed_shared_once(EmbedTexts embed, std::shared_ptr<const SharedTexts> shared) {
  const auto kept = std::make_shared<KeptVectors>(std::move(embed), std::move(shared));
  return [kept](const std::vector<std::string>& texts) { return kept->embed(texts); };
}

}  // namespace simile
